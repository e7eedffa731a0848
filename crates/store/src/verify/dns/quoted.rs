//! Names from DNS, which may contain any bytes, in quoted form for display.

use std::fmt::{self, Write};

use hickory_resolver::proto::rr::Name;

/// The maximum number of displayed characters of a name.
const MAX_SHOWN: usize = 100;

/// A DNS name in quotation marks: printable ASCII, truncated, with other bytes escaped.
///
/// Unprintable bytes, and dots within a label, are written as `\ddd`, as in zone files (RFC 1035
/// §5.1). The final dot is omitted.
pub(super) struct QuotedName<'a>(pub(super) &'a Name);

impl fmt::Display for QuotedName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        let mut left = MAX_SHOWN;
        for (at, label) in self.0.iter().enumerate() {
            let dot = (at > 0).then_some(EscapedByte::Plain('.'));
            for shown in dot.into_iter().chain(label.iter().map(|&byte| shown(byte))) {
                let Some(rest) = left.checked_sub(shown.width()) else {
                    return f.write_str("…\"");
                };
                left = rest;
                write!(f, "{shown}")?;
            }
        }
        f.write_char('"')
    }
}

/// A byte in the form in which it is displayed.
#[derive(Clone, Copy)]
enum EscapedByte {
    Plain(char),
    Escaped(u8),
}

impl EscapedByte {
    fn width(self) -> usize {
        match self {
            Self::Plain(_) => 1,
            Self::Escaped(_) => 4,
        }
    }
}

impl fmt::Display for EscapedByte {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(c) => f.write_char(*c),
            Self::Escaped(byte) => write!(f, "\\{byte:03}"),
        }
    }
}

fn shown(byte: u8) -> EscapedByte {
    if byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'.') {
        EscapedByte::Plain(char::from(byte))
    } else {
        EscapedByte::Escaped(byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(labels: &[&[u8]]) -> Name {
        Name::from_labels(labels.iter().copied()).unwrap()
    }

    #[test]
    fn unprintable_bytes_of_names_are_escaped() {
        for (labels, shown) in [
            (&[&b"a"[..], b"Example"][..], r#""a.Example""#),
            (&[], r#""""#),
            (&[b"a.b", b"example"], r#""a\046b.example""#),
            (&[b"\x1b[2J\n", b"example"], r#""\027[2J\010.example""#),
            (&[b"\"\\", b"\xff\x00 "], r#""\034\092.\255\000\032""#),
            (&[b"<b>", b"example"], r#""<b>.example""#),
        ] {
            assert_eq!(QuotedName(&name(labels)).to_string(), shown);
        }
    }

    #[test]
    fn long_names_are_truncated() {
        let shown = QuotedName(&name(&[&[b'a'; 63], &[b'b'; 63]])).to_string();
        assert_eq!(shown.chars().count(), MAX_SHOWN + 3);
        assert!(shown.ends_with("b…\""), "{shown}");
        let shown = QuotedName(&name(&[&[7; 63], &[b'b'; 63]])).to_string();
        assert!(shown.chars().count() <= MAX_SHOWN + 3, "{shown}");
    }
}
