//! Escape sequences for bytes that cannot appear in a log line.

use std::io::Write as _;

/// Length of the longest escape sequence, which represents a character outside the basic
/// multilingual plane in JSON.
const MAX_ESCAPE_BYTES: usize = 12;

/// Appends the content of a quoted field with nginx's escape sequences: `\xHH` in upper case.
///
/// Quotes, backslashes and all bytes other than printable ASCII are escaped.
pub(super) fn quoted(text: &[u8], limit: usize, out: &mut Vec<u8>) {
    escape(text, limit, |byte| matches!(byte, b'"' | b'\\'), out);
}

/// Appends an unquoted word, in which spaces are also escaped; an empty text becomes `-`.
pub(super) fn word(text: &[u8], limit: usize, out: &mut Vec<u8>) {
    if text.is_empty() {
        out.push(b'-');
    }
    escape(text, limit, |byte| matches!(byte, b'"' | b'\\' | b' '), out);
}

/// Appends a JSON string that contains only ASCII characters (RFC 8259 §7); invalid UTF-8 becomes
/// U+FFFD.
pub(super) fn json(text: &[u8], limit: usize, out: &mut Vec<u8>) {
    let end = out.len().saturating_add(limit);
    for chunk in text.utf8_chunks() {
        let invalid = (!chunk.invalid().is_empty()).then_some(char::REPLACEMENT_CHARACTER);
        for letter in chunk.valid().chars().chain(invalid) {
            // Stop unless the longest escape sequence fits, because a truncated sequence could not
            // be parsed.
            if out.len() + MAX_ESCAPE_BYTES > end {
                return;
            }
            json_letter(letter, out);
        }
    }
}

fn json_letter(letter: char, out: &mut Vec<u8>) {
    match letter {
        '"' | '\\' => out.extend_from_slice(&[b'\\', if letter == '"' { b'"' } else { b'\\' }]),
        ' '..='~' => out.extend(u8::try_from(letter)),
        _ => {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                // Writing to memory never fails.
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
}

fn escape(text: &[u8], limit: usize, is_special: impl Fn(u8) -> bool, out: &mut Vec<u8>) {
    let end = out.len().saturating_add(limit);
    for &byte in text {
        if out.len() + MAX_ESCAPE_BYTES > end {
            return;
        }
        // A line break in a header could forge a log line, and an ESC could send commands to the
        // terminal of the person who reads the log.
        if is_special(byte) || !matches!(byte, b' '..=b'~') {
            let _ = write!(out, "\\x{byte:02X}");
        } else {
            out.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(escape: fn(&[u8], usize, &mut Vec<u8>), text: &[u8]) -> String {
        let mut out = Vec::new();
        escape(text, 1024, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn special_bytes_are_escaped() {
        let text = b"a \"b\" \\ \n\x1b\x7f\xe2\x82\xac\xff";
        assert_eq!(
            escaped(quoted, text),
            r"a \x22b\x22 \x5C \x0A\x1B\x7F\xE2\x82\xAC\xFF"
        );
        assert_eq!(escaped(word, b"a b"), r"a\x20b");
        assert_eq!(escaped(word, b""), "-");
        assert_eq!(
            escaped(json, text),
            r#"a \"b\" \\ \u000a\u001b\u007f\u20ac\ufffd"#
        );
        assert_eq!(escaped(json, "\u{1f916}".as_bytes()), r"\ud83e\udd16");
    }

    #[test]
    fn long_text_is_cut_between_two_characters() {
        for (escape, text) in [
            (quoted as fn(&[u8], usize, &mut Vec<u8>), "\"".repeat(100)),
            (word, " ".repeat(100)),
            (json, "\u{1f916}".repeat(100)),
        ] {
            let mut out = b"before".to_vec();
            escape(text.as_bytes(), 50, &mut out);
            assert!(out.len() <= 56 && out.len() > 40, "{}", out.len());
            assert!(out.len().is_multiple_of(2));
        }
    }
}
