//! Processes text for pages, feeds and files.

use std::borrow::Cow;

/// Removes the characters that are not allowed in HTML and XML.
///
/// Line endings are normalized to `\n`; all other text is unchanged.
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    let is_plain = |byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    if all_bytes(text.as_bytes(), is_plain) || text.chars().all(is_allowed) {
        return Cow::Borrowed(text);
    }
    let mut cleaned = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\r' if characters.peek() == Some(&'\n') => {}
            '\r' => cleaned.push('\n'),
            _ if is_allowed(character) => cleaned.push(character),
            _ => {}
        }
    }
    Cow::Owned(cleaned)
}

/// Returns `true` for the characters allowed by XML 1.0 §2.2, except control characters that HTML
/// forbids.
fn is_allowed(character: char) -> bool {
    match character {
        '\n' | '\t' => true,
        '\u{fdd0}'..='\u{fdef}' => false,
        _ => !character.is_control() && u32::from(character) & 0xfffe != 0xfffe,
    }
}

/// Returns text on a single line, with white space folded and trimmed.
pub(super) fn one_line(text: &str) -> String {
    if is_one_line(text.as_bytes()) {
        return text.to_owned();
    }
    let mut line = String::with_capacity(text.len());
    for word in clean(text).split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// Returns `true` if a text is printable ASCII in which words are separated by single spaces.
fn is_one_line(text: &[u8]) -> bool {
    let is_double = |(one, next): (&u8, &u8)| *one == b' ' && *next == b' ';
    let has_double = |text: &[u8]| {
        let pairs = text.iter().zip(text.get(1..).unwrap_or_default());
        pairs.fold(false, |any, pair| any | is_double(pair))
    };
    all_bytes(text, |byte| matches!(byte, b' '..=b'~'))
        && !text.starts_with(b" ")
        && !text.ends_with(b" ")
        && !has_double(text)
}

/// Returns `true` if all bytes satisfy a predicate; many bytes are compared at once.
fn all_bytes(text: &[u8], is_such: impl Fn(u8) -> bool) -> bool {
    // `all` is not used because its early exit would prevent the compiler from vectorizing the
    // comparison.
    let are_such = |piece: &[u8]| piece.iter().fold(true, |all, byte| all & is_such(*byte));
    text.chunks(256).all(are_such)
}

/// Returns at most the first `max_bytes` bytes of a text, cut at a character boundary.
pub(super) fn cut(text: &str, max_bytes: usize) -> &str {
    let mut end = max_bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Shortens a text to at most `max_bytes` bytes at a word boundary, and adds an ellipsis.
pub(super) fn shorten(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let start = cut(text, max_bytes.saturating_sub('…'.len_utf8()));
    let end = start.rfind(char::is_whitespace).unwrap_or(start.len());
    let words = start.get(..end).unwrap_or(start).trim_end();
    format!("{words}…")
}

/// Escapes the five special characters of XML.
#[doc(hidden)]
pub fn xml(text: &str) -> Cow<'_, str> {
    match clean(text) {
        Cow::Borrowed(text) => escape(text),
        Cow::Owned(text) => Cow::Owned(escape(&text).into_owned()),
    }
}

/// Escapes a text. Most texts need no escaping, so this is checked first, many bytes at once.
fn escape(text: &str) -> Cow<'_, str> {
    let is_plain = |byte| !matches!(byte, b'<' | b'>' | b'&' | b'\'' | b'"' | b'\r');
    if all_bytes(text.as_bytes(), is_plain) {
        return Cow::Borrowed(text);
    }
    quick_xml::escape::escape(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forbidden_characters_are_removed() {
        assert_eq!(clean("a\0b\u{1b}[31mc\u{85}\u{fffe}d"), "ab[31mcd");
        assert_eq!(clean("a\r\nb\rc\td"), "a\nb\nc\td");
        assert!(matches!(
            clean("ordinary\ntext é 日本 😀"),
            Cow::Borrowed(_)
        ));
    }

    #[test]
    fn one_line_has_single_spaces_between_words() {
        for (text, line) in [
            ("  a\n b\t\u{a0}c ", "a b c"),
            ("a b c", "a b c"),
            ("a  b", "a b"),
            (" a", "a"),
            ("a ", "a"),
            ("a\tb", "a b"),
            ("\u{7f}é b", "é b"),
            (" ", ""),
            ("", ""),
        ] {
            assert_eq!(one_line(text), line, "{text:?}");
        }
    }

    #[test]
    fn cut_never_splits_a_character() {
        assert_eq!(cut("日本", 4), "日");
        assert_eq!(shorten("one two three", 10), "one…");
        assert_eq!(shorten("one two three", 11), "one two…");
        assert_eq!(shorten("short", 5), "short");
        assert_eq!(shorten("日本語日本語", 9), "日本…");
    }

    #[test]
    fn markup_is_escaped() {
        assert_eq!(
            xml("<a b=\"c\">&\0'"),
            "&lt;a b=&quot;c&quot;&gt;&amp;&apos;"
        );
    }
}
