//! Which character set bytes are in, and their text.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, REPLACEMENT, UTF_8};

use super::prescan::{EARLY, LATE, declared};

/// Bytes that the guess looks at, from the first on that is no ASCII.
const MAX_GUESS_BYTES: usize = 256 * 1024;

/// Text of a resource.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct DecodedText<'a> {
    /// The text; what was no character is `U+FFFD`.
    pub text: Cow<'a, str>,
    /// Name of the character set in the WHATWG Encoding Standard, such as `windows-1252`.
    pub charset: &'static str,
}

/// Returns the text of bytes in any character set.
///
/// What says which it is, the first that does: a byte order mark, `charset` of
/// `Content-Type`, the first 1,024 bytes (a `<meta>` of HTML, the declaration of
/// XML; not looked at when the type is another), the bytes if they are UTF-8, a
/// `<meta>` in the first 64 KiB, and else a guess, with the top-level domain of
/// the host as a hint (`jp`).
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
    // A byte order mark wins over what the server says, as it does in browsers (WHATWG Encoding,
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
    // ISO-2022-JP is ASCII with escapes, so that it would pass for UTF-8.
    let has_escape = bytes.contains(&0x1B);
    if !has_escape && std::str::from_utf8(bytes).is_ok() {
        return UTF_8;
    }
    declares(LATE).unwrap_or_else(|| guess(bytes, has_escape, tld))
}

/// Returns the character set of a label; none of those that only deceive.
pub(super) fn by_label(label: &[u8]) -> Option<&'static Encoding> {
    Encoding::for_label(label).filter(|encoding| *encoding != REPLACEMENT)
}

/// Returns the value of the first `charset` of a `Content-Type`.
fn charset_parameter(content_type: &str) -> Option<&[u8]> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        let value = value.trim().trim_matches(['"', '\'']);
        // Quotes are those of RFC 9110 §5.6.6; single ones are none, and are written all the
        // same.
        (is_charset && !value.is_empty()).then_some(value.as_bytes())
    })
}

fn has_markup(content_type: &str) -> bool {
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    let media_type = media_type.to_ascii_lowercase();
    // What servers call files whose type they do not know, as `index.html.ja.euc-jp`.
    let is_untold = matches!(media_type.as_str(), "" | "application/octet-stream");
    is_untold || media_type.contains("html") || media_type.contains("xml")
}

fn guess(bytes: &[u8], has_escape: bool, tld: Option<&str>) -> &'static Encoding {
    let ascii = if has_escape {
        0
    } else {
        Encoding::ascii_valid_up_to(bytes)
    };
    // Two bytes of ASCII tell some letters from signs.
    let start = ascii.saturating_sub(2);
    let rest = bytes.get(start..).unwrap_or_default();
    let sample = rest.get(..MAX_GUESS_BYTES).unwrap_or(rest);
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(sample, sample.len() == rest.len());
    // The detector takes no other label, and panics.
    let is_label = |tld: &&str| {
        tld.bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    let tld = tld.map(str::to_ascii_lowercase);
    let tld = tld.as_deref().filter(is_label).map(str::as_bytes);
    detector.guess(tld, Utf8Detection::Allow)
}
