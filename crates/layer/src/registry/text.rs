//! Text processing for registries, such as decoding, entities, spaces and slugs.

use std::borrow::Cow;

/// Windows-1252 characters from 0x80 to 0x9F; `None` if undefined.
const WINDOWS_1252: [Option<char>; 32] = [
    Some('€'),
    None,
    Some('‚'),
    Some('ƒ'),
    Some('„'),
    Some('…'),
    Some('†'),
    Some('‡'),
    Some('ˆ'),
    Some('‰'),
    Some('Š'),
    Some('‹'),
    Some('Œ'),
    None,
    Some('Ž'),
    None,
    None,
    Some('‘'),
    Some('’'),
    Some('“'),
    Some('”'),
    Some('•'),
    Some('–'),
    Some('—'),
    Some('˜'),
    Some('™'),
    Some('š'),
    Some('›'),
    Some('œ'),
    None,
    Some('ž'),
    Some('Ÿ'),
];

/// Named entities that occur in copies of the flat file.
const ENTITIES: &[(&str, char)] = &[
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", '\u{a0}'),
    ("copy", '©'),
    ("reg", '®'),
    ("auml", 'ä'),
    ("ouml", 'ö'),
    ("uuml", 'ü'),
    ("Auml", 'Ä'),
    ("Ouml", 'Ö'),
    ("Uuml", 'Ü'),
    ("szlig", 'ß'),
    ("aacute", 'á'),
    ("eacute", 'é'),
    ("iacute", 'í'),
    ("oacute", 'ó'),
    ("uacute", 'ú'),
    ("agrave", 'à'),
    ("egrave", 'è'),
    ("acirc", 'â'),
    ("ecirc", 'ê'),
    ("ocirc", 'ô'),
    ("atilde", 'ã'),
    ("otilde", 'õ'),
    ("ntilde", 'ñ'),
    ("ccedil", 'ç'),
    ("aring", 'å'),
    ("Aring", 'Å'),
    ("aelig", 'æ'),
    ("oslash", 'ø'),
];

/// Maximum length in bytes of a name or number between `&` and `;`.
const MAX_ENTITY_BYTES: usize = 10;

/// Decodes UTF-8 or, if the bytes are invalid UTF-8, Windows-1252. Decoding never fails.
///
/// Bytes that are undefined in Windows-1252 are dropped.
pub(super) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().filter_map(|&b| windows_1252(b)).collect()),
    }
}

/// Decodes entities, removes control characters and collapses spaces.
pub(super) fn clean(value: &str) -> String {
    tidy(&decode_entities(value))
}

/// Removes control characters and collapses spaces, but does not decode entities.
pub(super) fn tidy(value: &str) -> String {
    let mut clean = String::with_capacity(value.len());
    for c in value.chars() {
        if c.is_whitespace() {
            if !clean.is_empty() && !clean.ends_with(' ') {
                clean.push(' ');
            }
        } else if !is_invisible(c) {
            clean.push(c);
        }
    }
    clean.truncate(clean.trim_end().len());
    clean
}

/// Decodes entities and removes control characters, but preserves all spaces.
pub(super) fn clean_verbatim(value: &str) -> String {
    decode_entities(value.trim())
        .chars()
        .filter(|&c| !is_invisible(c))
        .collect()
}

/// Truncates a text to at most `max_bytes`, at a character boundary.
pub(super) fn cut(text: &str, max_bytes: usize) -> &str {
    if text.len() <= max_bytes {
        return text;
    }
    let end = (0..=max_bytes)
        .rev()
        .find(|&end| text.is_char_boundary(end))
        .unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

/// Decodes HTML character entities.
pub(super) fn decode_entities(value: &str) -> Cow<'_, str> {
    if !value.contains('&') {
        return Cow::Borrowed(value);
    }
    let mut decoded = String::with_capacity(value.len());
    let mut rest = value;
    while let Some((before, after)) = rest.split_once('&') {
        decoded.push_str(before);
        if let Some((c, behind)) = entity(after) {
            decoded.push(c);
            rest = behind;
        } else {
            decoded.push('&');
            rest = after;
        }
    }
    decoded.push_str(rest);
    Cow::Owned(decoded)
}

/// Returns the text as lower-case letters, digits and `-`, or an empty text if it contains no
/// letters or digits.
pub(super) fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    // Truncation may leave a trailing `-`.
    cut(&slug, 64).trim_end_matches('-').to_owned()
}

/// Returns `true` if the text starts with `start`, ignoring ASCII case.
pub(super) fn starts_with_ignore_case(text: &str, start: &str) -> bool {
    text.as_bytes()
        .get(..start.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(start.as_bytes()))
}

/// Returns the number of letters and digits in a text.
pub(super) fn alphanumerics(text: &str) -> usize {
    text.chars().filter(|c| c.is_alphanumeric()).count()
}

fn windows_1252(byte: u8) -> Option<char> {
    match byte {
        0x80..=0x9f => WINDOWS_1252
            .get(usize::from(byte - 0x80))
            .copied()
            .flatten(),
        // All other bytes are encoded as in ISO 8859-1 and equal their code points.
        _ => Some(char::from(byte)),
    }
}

/// Decodes the entity that follows an `&`. Returns the character and the text after the `;`.
fn entity(text: &str) -> Option<(char, &str)> {
    let end = text
        .bytes()
        .take(MAX_ENTITY_BYTES + 1)
        .position(|b| b == b';')?;
    let (name, rest) = (text.get(..end)?, text.get(end + 1..)?);
    let c = if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        char::from_u32(code)?
    } else {
        ENTITIES.iter().find(|(known, _)| *known == name)?.1
    };
    Some((c, rest))
}

/// Returns `true` for control characters, invisible characters and characters that change the
/// direction of text, which could disguise a name as another name or change the order of a line.
#[doc(hidden)]
#[must_use]
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_not_utf_8_are_windows_1252() {
        assert_eq!(decode(b"H\xe4m\xe4h\xe4kki"), "Hämähäkki");
        assert_eq!(decode(b"\x93quoted\x94 \x80"), "“quoted” €");
        assert_eq!(decode("Hämähäkki".as_bytes()), "Hämähäkki");
        assert_eq!(decode(b"\xff\x81\x8d"), "ÿ");
    }

    #[test]
    fn entities_are_decoded_once() {
        assert_eq!(
            clean("A &amp; B &lt;x&gt; &#65;&#x42;&uuml;"),
            "A & B <x> ABü"
        );
        assert_eq!(clean("&amp;lt;"), "&lt;");
        assert_eq!(
            clean("a & b &unknown; &#xD800; &;"),
            "a & b &unknown; &#xD800; &;"
        );
    }

    #[test]
    fn blanks_are_collapsed_and_control_characters_removed() {
        assert_eq!(clean("  a \t\u{a0} b\u{1}\u{1b}[0m\u{202e}c  "), "a b[0mc");
        assert_eq!(clean("\u{1} \u{2}"), "");
        assert_eq!(clean_verbatim("  a  b\u{1} &#32;"), "a  b  ");
    }

    #[test]
    fn a_slug_consists_of_letters_digits_and_single_hyphens() {
        assert_eq!(
            slug("  The Wide-World   Räuber! 2.0 "),
            "the-wide-world-r-uber-2-0"
        );
        assert_eq!(slug("???"), "");
        assert!(slug(&"long name ".repeat(50)).len() <= 64);
    }

    #[test]
    fn truncation_never_splits_a_character() {
        assert_eq!(cut("äöü", 3), "ä");
        assert_eq!(cut("äöü", 0), "");
        assert_eq!(cut("abc", 9), "abc");
    }
}
