//! Values in the form in which they are written to a file: no value can end its line or start
//! another line.

use std::fmt::{self, Write as _};

/// A path or URL in which characters that would end the line or that parsers would remove are
/// percent-encoded.
///
/// The encoded characters are control characters, line separators, `#`, white space at either end,
/// and invalid UTF-8.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path<'v>(pub(super) &'v [u8]);

/// A name or text in which characters that would end the line are replaced by U+FFFD.
///
/// The replacement ensures that an invalid name does not become another robot's name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'v>(pub(super) &'v [u8]);

impl fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.0.trim_ascii();
        let before = self.0.len() - self.0.trim_ascii_start().len();
        let (before, rest) = self.0.split_at(before);
        let after = rest.get(inner.len()..).unwrap_or_default();
        encode(before, formatter)?;
        for chunk in inner.utf8_chunks() {
            for character in chunk.valid().chars() {
                if is_unsafe(character) {
                    encode(character.encode_utf8(&mut [0; 4]).as_bytes(), formatter)?;
                } else {
                    formatter.write_char(character)?;
                }
            }
            encode(chunk.invalid(), formatter)?;
        }
        encode(after, formatter)
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in String::from_utf8_lossy(self.0.trim_ascii()).chars() {
            // A tab does not end a line and is treated as a space.
            let is_unsafe = is_unsafe(character) && character != '\t';
            formatter.write_char(if is_unsafe { '\u{fffd}' } else { character })?;
        }
        Ok(())
    }
}

/// Returns `true` if a character ends a line; some parsers treat U+0085, U+2028 and U+2029 as line
/// ends too.
fn is_unsafe(character: char) -> bool {
    character.is_control() || matches!(character, '#' | '\u{2028}' | '\u{2029}')
}

fn encode(octets: &[u8], formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    octets
        .iter()
        .try_for_each(|octet| write!(formatter, "%{octet:02X}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_would_end_a_path_are_encoded() {
        for (path, expected) in [
            (&b"/a b?c=%2F"[..], "/a b?c=%2F"),
            (b"/a\nUser-agent: *", "/a%0AUser-agent: *"),
            (b"/a\r\0\x0b\x7f", "/a%0D%00%0B%7F"),
            (b" /a\t", "%20/a%09"),
            (b" ", "%20"),
            (b"/a#b", "/a%23b"),
            ("/ä\u{85}\u{2028}".as_bytes(), "/ä%C2%85%E2%80%A8"),
            (b"/\xe9", "/%E9"),
            (b"", ""),
        ] {
            assert_eq!(Path(path).to_string(), expected);
        }
    }

    #[test]
    fn characters_that_would_end_a_text_are_replaced() {
        for (text, expected) in [
            ("ExampleRobot", "ExampleRobot"),
            ("a\nDisallow: /", "a\u{fffd}Disallow: /"),
            (" a # b ", "a \u{fffd} b"),
            ("a\u{2029}b", "a\u{fffd}b"),
        ] {
            assert_eq!(Text(text.as_bytes()).to_string(), expected);
        }
    }
}
