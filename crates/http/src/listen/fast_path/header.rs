//! Parsing of a header line.

use http::{HeaderName, HeaderValue};

use super::{
    super::{client_addr::is_forwarding, fields::is_misspelt},
    cacheable_values,
};

/// Limits for the size of a cached line; the hash function reads eight bytes at a time and needs at
/// least eight.
const KEPT_BYTES: usize = 256;
const MIN_KEPT_BYTES: usize = 8;

/// A header line that was received before.
pub(super) struct CachedLine {
    /// The complete line, or only the name and `: ` if the value must not be cached.
    pub(super) line: Box<[u8]>,
    /// The number of bytes before the value; 0 unless exactly one space follows the colon.
    before_value: usize,
    pub(super) header: Header,
}

#[derive(Clone)]
pub(super) struct Header {
    pub(super) name: HeaderName,
    pub(super) value: HeaderValue,
    pub(super) role: HeaderRole,
}

/// The effect of a header on how its request is served.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum HeaderRole {
    Nothing,
    Host,
    KeepAlive,
    Close,
    /// The header may contain a client address other than the peer's.
    Forwarding,
}

impl CachedLine {
    pub(super) fn new(line: &[u8], header: Header) -> Self {
        Self {
            before_value: before_value(line, &header),
            line: line.into(),
            header,
        }
    }

    pub(super) fn name_only(line: &[u8], header: &Header) -> Self {
        let before_value = before_value(line, header);
        let header = Header {
            name: header.name.clone(),
            value: HeaderValue::from_static(""),
            role: HeaderRole::Nothing,
        };
        Self {
            line: line.get(..before_value).unwrap_or_default().into(),
            before_value,
            header,
        }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.line.ends_with(b"\n")
    }

    /// Returns the value of a line that starts like this cached line. A result of `None` does not
    /// mean that the names differ.
    fn value_in<'l>(&self, line: &'l [u8]) -> Option<&'l [u8]> {
        let before_value = self.line.get(..self.before_value)?;
        line.strip_prefix(before_value)
            .filter(|_| self.before_value > 0)
    }
}

/// Returns the number of bytes before a line's value if exactly one space follows the colon,
/// otherwise 0.
fn before_value(line: &[u8], header: &Header) -> usize {
    let len = header.name.as_str().len() + ": ".len();
    let before = line.get(..len).unwrap_or_default();
    if before.ends_with(b": ") { len } else { 0 }
}

impl Header {
    /// Parses a header line, whose name may be the same as in `last`.
    pub(super) fn parse(line: &[u8], last: Option<&CachedLine>) -> Option<Self> {
        // A bare line feed may be treated as a line end (RFC 9112 §2.2), which hyper handles.
        let line = line.strip_suffix(b"\r\n")?;
        let cached = last.and_then(|last| Some((last, last.value_in(line)?)));
        let (name, value) = if let Some((last, value)) = cached {
            (last.header.name.clone(), value)
        } else {
            let colon = memchr::memchr(b':', line)?;
            // A name is a token without a space before the colon (RFC 9112 §5.1). A line that
            // starts with a space is obs-fold (RFC 9112 §5.2) and has no valid name.
            let name = HeaderName::from_bytes(line.get(..colon)?).ok()?;
            // `clean_headers` would remove the header, which happens only after hyper.
            if is_misspelt(&name) {
                return None;
            }
            let value = line.get(colon + 1..)?;
            // Spaces around a value are not part of the value (RFC 9112 §5.1). The usual single
            // space is skipped here; hyper handles additional spaces before or after the value.
            (name, value.strip_prefix(b" ").unwrap_or(value))
        };
        let has_more = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
        if has_more(value.first()) || has_more(value.last()) {
            return None;
        }
        let role = HeaderRole::of(&name, value)?;
        // Control bytes are not allowed (RFC 9110 §5.5).
        let value = HeaderValue::from_bytes(value).ok()?;
        Some(Self { name, value, role })
    }

    /// Returns `true` if a line may be cached: its size is within the limits, and its value is not
    /// private.
    pub(super) fn is_cacheable(&self, line: &[u8]) -> bool {
        (MIN_KEPT_BYTES..=KEPT_BYTES).contains(&line.len())
            && cacheable_values::is_cacheable(&self.name)
    }
}

impl HeaderRole {
    /// Returns the role of a header; `None` for a header that requires more than a plain response.
    fn of(name: &HeaderName, value: &[u8]) -> Option<Self> {
        let header = name;
        let name = name.as_str();
        // hyper serves bodies and trailers (RFC 9112 §6.3, RFC 9110 §6.6.2), interim responses (RFC
        // 9110 §10.1.1), other protocols (RFC 9110 §7.8) and response trailers (RFC 9110 §10.1.4).
        let is_odd = match name.len() {
            4 if name == "host" => return Some(Self::Host),
            10 if name == "connection" => return Self::of_connection(value),
            2 => name == "te",
            6 => name == "expect",
            7 => name == "upgrade" || name == "trailer",
            14 => name == "content-length" || name == "http2-settings",
            17 => name == "transfer-encoding",
            _ => false,
        };
        if is_odd {
            return None;
        }
        Some(if is_forwarding(header) {
            Self::Forwarding
        } else {
            Self::Nothing
        })
    }

    fn of_connection(value: &[u8]) -> Option<Self> {
        // Connection options are case-insensitive (RFC 9110 §7.6.1); hyper handles lists of
        // options, which may name headers.
        if value.eq_ignore_ascii_case(b"close") {
            return Some(Self::Close);
        }
        value
            .eq_ignore_ascii_case(b"keep-alive")
            .then_some(Self::KeepAlive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_allow_the_same_bytes_as_hyper() {
        for byte in 0..=u8::MAX {
            for line in [
                [b"X", &[byte][..], b"Y: 1\r\n"].concat(),
                [b"Name: 1", &[byte][..], b"1\r\n"].concat(),
            ] {
                let mut lines = [httparse::EMPTY_HEADER; 4];
                let whole = [&line[..], b"\r\n"].concat();
                let is_passed = matches!(
                    httparse::parse_headers(&whole, &mut lines),
                    Ok(httparse::Status::Complete((len, [_]))) if len == whole.len()
                );
                let is_ours = Header::parse(&line, None).is_some();
                // A colon ends the name, and a line feed ends the line.
                assert!(is_passed || !is_ours, "{byte:#x}");
                assert_eq!(is_passed, is_ours, "{byte:#x}");
            }
        }
    }
}
