//! A JSON scanner that works in place and recognizes only the syntax needed to find a field.

use memchr::memchr2;

/// A scanner at a position in a JSON text.
///
/// Skipped values are not validated; the scanner recognizes only the strings and brackets in these
/// values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scanner<'a> {
    rest: &'a [u8],
}

/// A JSON string without its quotes, in escaped form.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Raw<'a>(pub(super) &'a [u8]);

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self {
            // A reader may ignore a byte order mark (RFC 8259 §8.1).
            rest: text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text),
        }
    }

    /// Returns the next byte that is not white space, without consuming the byte.
    pub(super) fn peek(&mut self) -> Option<u8> {
        self.rest = self.rest.trim_ascii_start();
        self.rest.first().copied()
    }

    /// Consumes the given byte if it comes next; returns whether it did.
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        if is_next {
            self.advance(1);
        }
        is_next
    }

    /// Consumes a JSON string.
    pub(super) fn string(&mut self) -> Option<Raw<'a>> {
        if !self.take(b'"') {
            return None;
        }
        let mut from = 0;
        loop {
            let at = from + memchr2(b'"', b'\\', self.rest.get(from..)?)?;
            if self.rest.get(at) == Some(&b'"') {
                let raw = self.rest.get(..at)?;
                self.advance(at + 1);
                return Some(Raw(raw));
            }
            from = at + 2;
        }
    }

    /// Consumes a JSON number or a word such as `true`.
    pub(super) fn scalar(&mut self) -> Option<&'a [u8]> {
        self.peek()?;
        let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b':' | b'"' | b'{' | b'[');
        let end = self
            .rest
            .iter()
            .position(|byte| is_end(byte) || byte.is_ascii_whitespace())
            .unwrap_or(self.rest.len());
        let scalar = self.rest.get(..end).filter(|scalar| !scalar.is_empty())?;
        self.advance(end);
        Some(scalar)
    }

    /// Consumes a JSON value of any type and any depth.
    pub(super) fn skip(&mut self) -> Option<()> {
        // The depth is counted instead of recursing, so that a line of brackets cannot exhaust the
        // stack.
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'"' => {
                    self.string()?;
                }
                b'{' | b'[' => {
                    depth += 1;
                    self.advance(1);
                    continue;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.advance(1);
                }
                b',' | b':' if depth > 0 => {
                    self.advance(1);
                    continue;
                }
                _ => {
                    self.scalar()?;
                }
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    fn advance(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skip_consumes_exactly_one_value() {
        for value in [
            "1",
            "-1.5e3",
            "null",
            r#""a \" } b""#,
            "{}",
            "[]",
            r#"{"a": [1, {"b": "]"}], "c": {}}"#,
            r#"[[[["x"]]]]"#,
        ] {
            let text = format!(" {value} , rest");
            let mut scanner = Scanner::new(text.as_bytes());
            assert_eq!(scanner.skip(), Some(()), "{value}");
            assert!(scanner.take(b','), "{value}");
            assert_eq!(scanner.scalar(), Some(&b"rest"[..]));
        }
    }

    #[test]
    fn truncated_value_is_rejected() {
        for value in ["", " ", "\"", "\"a\\", "\"a\\\"", "{", "[1,", "}", "]", ","] {
            assert_eq!(Scanner::new(value.as_bytes()).skip(), None, "{value}");
        }
    }

    #[test]
    fn nesting_depth_uses_no_stack() {
        let text = [b"[".repeat(1 << 20), b"]".repeat(1 << 20)].concat();
        assert_eq!(Scanner::new(&text).skip(), Some(()));
    }
}
