//! Detects the character encoding of a resource, and decodes the resource.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, REPLACEMENT, UTF_8};

use super::prescan::{EARLY, LATE, declared};

/// Maximum number of bytes examined to guess the encoding, starting at the first non-ASCII byte.
const MAX_GUESS_BYTES: usize = 256 * 1024;

/// Text of a resource, decoded from its character encoding.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct DecodedText<'a> {
    /// Decoded text, in which invalid byte sequences are replaced with `U+FFFD`.
    pub text: Cow<'a, str>,
    /// Name of the encoding in the WHATWG Encoding Standard, such as `windows-1252`.
    pub charset: &'static str,
}

/// Decodes bytes in any character encoding.
///
/// The encoding is determined by the first of these that is present: a byte order mark, `charset`
/// in `Content-Type`, a declaration in the first 1,024 bytes (HTML `<meta>` or XML declaration;
/// skipped for other types), valid UTF-8, or a `<meta>` in the first 64 KiB. Otherwise, the
/// encoding is guessed, with the host's top-level domain (`jp`) as a hint.
///
/// # Example
///
/// ```
/// use robot_detection_site_robot::document::decode;
///
/// let decoded = decode(b"<meta charset=koi8-r><p>\xCD\xC9\xD2", Some("text/html"), None);
/// assert_eq!(decoded.charset, "KOI8-R");
/// assert!(decoded.text.ends_with("мир"));
/// ```
pub fn decode<'a>(
    bytes: &'a [u8],
    content_type: Option<&str>,
    tld: Option<&str>,
) -> DecodedText<'a> {
    // A byte order mark overrides the server's `Content-Type`, as in browsers (WHATWG Encoding,
    // "decode").
    let (encoding, bytes) = match Encoding::for_bom(bytes) {
        Some((encoding, length)) => (encoding, bytes.get(length..).unwrap_or_default()),
        None => (encoding_of(bytes, content_type, tld), bytes),
    };
    let (text, _) = encoding.decode_without_bom_handling(bytes);
    DecodedText {
        text,
        charset: encoding.name(),
    }
}

fn encoding_of(bytes: &[u8], content_type: Option<&str>, tld: Option<&str>) -> &'static Encoding {
    let labelled = content_type.and_then(charset_parameter).and_then(by_label);
    if let Some(encoding) = labelled {
        return encoding;
    }
    let may_declare = content_type.is_none_or(has_markup);
    let declares = |length| may_declare.then(|| declared(bytes, length)).flatten();
    if let Some(encoding) = declares(EARLY) {
        return encoding;
    }
    // ISO-2022-JP consists of ASCII characters and escapes, so it would pass as UTF-8.
    let has_escape = bytes.contains(&0x1B);
    if !has_escape && std::str::from_utf8(bytes).is_ok() {
        return UTF_8;
    }
    declares(LATE).unwrap_or_else(|| guess(bytes, has_escape, tld))
}

/// Returns the encoding that has the given label, unless it is the `replacement` encoding.
pub(super) fn by_label(label: &[u8]) -> Option<&'static Encoding> {
    Encoding::for_label(label).filter(|encoding| *encoding != REPLACEMENT)
}

/// Returns the value of the first `charset` parameter in a `Content-Type` header.
fn charset_parameter(content_type: &str) -> Option<&[u8]> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        let value = value.trim().trim_matches(['"', '\'']);
        // RFC 9110 §5.6.6 allows only double quotes, but some servers send single quotes.
        (is_charset && !value.is_empty()).then_some(value.as_bytes())
    })
}

fn has_markup(content_type: &str) -> bool {
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    let media_type = media_type.to_ascii_lowercase();
    // Servers send these types for files whose type is unknown, such as `index.html.ja.euc-jp`.
    let is_untold = matches!(media_type.as_str(), "" | "application/octet-stream");
    is_untold || media_type.contains("html") || media_type.contains("xml")
}

fn guess(bytes: &[u8], has_escape: bool, tld: Option<&str>) -> &'static Encoding {
    let ascii = if has_escape {
        0
    } else {
        Encoding::ascii_valid_up_to(bytes)
    };
    // Two preceding ASCII bytes help the detector to distinguish letters from symbols.
    let start = ascii.saturating_sub(2);
    let rest = bytes.get(start..).unwrap_or_default();
    let sample = rest.get(..MAX_GUESS_BYTES).unwrap_or(rest);
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(sample, sample.len() == rest.len());
    // Only these characters are accepted, because the encoding detector panics on any others.
    let is_label = |tld: &&str| {
        tld.bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    let tld = tld.map(str::to_ascii_lowercase);
    let tld = tld.as_deref().filter(is_label).map(str::as_bytes);
    detector.guess(tld, Utf8Detection::Allow)
}
