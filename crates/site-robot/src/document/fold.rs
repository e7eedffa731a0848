//! Folds white space and truncates text.

/// Text in which each run of white space is folded into one space, without leading or trailing
/// white space.
#[derive(Debug, Default)]
pub(super) struct FoldedText {
    bytes: Vec<u8>,
    is_spaced: bool,
}

impl FoldedText {
    /// Appends text, which may end in the middle of a word.
    pub(super) fn push(&mut self, text: &[u8]) {
        let mut rest = text;
        while let Some(first) = rest.first() {
            if first.is_ascii_whitespace() {
                self.is_spaced = true;
                let spaces = rest.iter().take_while(|byte| byte.is_ascii_whitespace());
                rest = rest.get(spaces.count()..).unwrap_or_default();
            } else {
                let (word, behind) = rest.split_at(folded_length(rest));
                if self.is_spaced && !self.bytes.is_empty() {
                    self.bytes.push(b' ');
                }
                self.is_spaced = false;
                self.bytes.extend_from_slice(word);
                rest = behind;
            }
        }
    }

    /// Appends text without folding white space.
    pub(super) fn push_verbatim(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
    }

    /// Starts a new line of preformatted text.
    pub(super) fn break_line(&mut self) {
        if !self.bytes.is_empty() && !self.bytes.ends_with(b"\n") {
            self.bytes.push(b'\n');
        }
    }

    /// Returns the byte position at which the next word will start.
    pub(super) fn position(&self) -> usize {
        self.bytes.len() + usize::from(self.is_spaced && !self.bytes.is_empty())
    }

    pub(super) fn end(&self) -> usize {
        self.bytes.len()
    }

    /// Adds a space between the previous text and the next text.
    pub(super) fn space(&mut self) {
        self.is_spaced = true;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the text and resets the buffer.
    pub(super) fn take(&mut self) -> String {
        self.is_spaced = false;
        let bytes = std::mem::take(&mut self.bytes);
        match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        }
    }
}

/// Returns the length of the prefix that needs no folding, that is, words separated by single
/// spaces.
fn folded_length(text: &[u8]) -> usize {
    let mut before = 0;
    for (at, byte) in text.iter().enumerate().skip(plain_length(text)) {
        if before == b' ' && byte.is_ascii_whitespace() {
            return at - 1;
        }
        if byte.is_ascii_whitespace() && *byte != b' ' {
            return at;
        }
        before = *byte;
    }
    text.len() - usize::from(before == b' ')
}

/// Returns the length of a prefix that needs no folding. This fast path compares many bytes at
/// once.
fn plain_length(text: &[u8]) -> usize {
    const PIECE: usize = 64;
    let is_plain = |piece: &&[u8]| {
        let pairs = piece.iter().zip(piece.get(1..).unwrap_or_default());
        let is_plain = |(one, next): (&u8, &u8)| {
            *one >= b' ' && *next >= b' ' && (*one != b' ' || *next != b' ')
        };
        // `all` is not used because its early exit would prevent the compiler from vectorizing the
        // comparison.
        pairs.fold(true, |all, pair| all & is_plain(pair))
    };
    // Adjacent pieces overlap by one byte.
    let pieces = text.windows(PIECE + 1).step_by(PIECE);
    pieces.take_while(is_plain).count() * PIECE
}

/// Truncates text to a number of characters, at a word boundary.
///
/// A word that is longer than the text before it is cut in the middle, because some scripts have no
/// spaces. Trailing white space is removed.
///
/// # Example
///
/// ```
/// use robot_detection_site_robot::document::shorten;
///
/// assert_eq!(shorten("robots and people", 12), "robots and");
/// assert_eq!(shorten("robots and people", 10), "robots and");
/// assert_eq!(shorten("robots", 3), "rob");
/// ```
pub fn shorten(text: &str, max_chars: usize) -> &str {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => cut_at_word(text, end),
        None => text.trim_end(),
    }
}

/// Truncates text to a number of bytes, at a word boundary as in [`shorten`].
pub fn shorten_bytes(text: &str, max_bytes: usize) -> &str {
    if text.len() <= max_bytes {
        return text.trim_end();
    }
    cut_at_word(text, text.floor_char_boundary(max_bytes))
}

/// Truncates text at a word boundary if it is longer than `end` bytes.
fn cut_at_word(text: &str, end: usize) -> &str {
    let (head, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    if rest.starts_with(char::is_whitespace) {
        return head.trim_end();
    }
    match head.rsplit_once(char::is_whitespace) {
        Some((words, part)) if words.len() > part.len() => words.trim_end(),
        _ => head.trim_end(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_is_folded_and_trimmed() {
        let mut folded = FoldedText::default();
        for part in [" \n a", "b \t", "\r\n c", "  "] {
            folded.push(part.as_bytes());
        }
        assert_eq!(folded.take(), "ab c");
        for (text, told) in [
            ("x", "x"),
            ("a b c", "a b c"),
            ("a b ", "a b"),
            ("a b  c", "a b c"),
            ("a b \nc\td", "a b c d"),
            ("a\n b", "a b"),
        ] {
            folded.push(text.as_bytes());
            assert_eq!(folded.take(), told, "{text:?}");
        }
        for part in ["a ", "b", " ", "c"] {
            folded.push(part.as_bytes());
        }
        assert_eq!(folded.take(), "a b c");
        assert!(folded.is_empty());
    }

    #[test]
    fn text_is_cut_between_words_and_characters() {
        for (text, max, cut) in [
            ("", 3, ""),
            ("abc", 3, "abc"),
            ("abc def", 3, "abc"),
            ("abc def", 5, "abc"),
            ("abc def", 6, "abc"),
            ("abc def", 7, "abc def"),
            ("äöü ß", 3, "äöü"),
            ("äöüß", 2, "äö"),
            ("日本語の本文", 4, "日本語の"),
            ("a b", 0, ""),
            ("題 日本語の本文です", 8, "題 日本語の本文"),
        ] {
            assert_eq!(shorten(text, max), cut, "{text:?} {max}");
        }
        assert_eq!(shorten_bytes("äö", 3), "ä");
        assert_eq!(shorten_bytes("ä ö", 4), "ä");
        assert_eq!(shorten_bytes("ä ö", 5), "ä ö");
    }
}
