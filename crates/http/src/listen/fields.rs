//! Handling of header names and values that other software would interpret differently.

use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri, Version};

use super::framing::percent_encode;

/// The headers that frame a request, identify its client or affect the decision, in this program or
/// on the way to the site.
///
/// A name without a hyphen cannot be misspelt; `signature` is listed because of trailers.
const NAMES: [&str; 6] = [
    "http2-settings",
    "keep-alive",
    "signature",
    "transfer-encoding",
    "user-agent",
    "x-real-ip",
];
/// The prefixes of headers in which a proxy or robot detector reports the visitor's identity.
const IDENTITY_PREFIXES: [&str; 4] = [
    "x-forwarded",
    "x-original-",
    "x-real-ip",
    "x-robot-detection",
];
/// The prefixes of other headers that frame a request, identify its client or affect the decision.
const PREFIXES: [&str; 9] = [
    "accept-",
    "content-",
    "if-",
    "proxy-",
    "sec-",
    "signature-",
    "x-forwarded",
    "x-original-",
    "x-robot-detection",
];

/// Removes headers with misspelt names, and trims spaces around values.
///
/// CGI and its descendants map `-`, `_`, `.` and other characters to one character (RFC 3875
/// §4.1.18), so they treat `User_Agent` as a `User-Agent` that no check has seen. Such a header is
/// removed if the correctly spelt header frames the message, identifies the client or affects the
/// decision. Other headers, such as `api_key` and gRPC metadata, are kept. In HTTP/1.1, spaces
/// around a value are not part of the value (RFC 9112 §5.1); in HTTP/2, they are forbidden (RFC
/// 9113 §8.2.1).
///
/// A [`Listener`](super::Listener) calls this function for each request.
///
/// # Example
///
/// ```
/// use http::{HeaderMap, HeaderName, HeaderValue};
/// use robot_detection_http::listen::clean_headers;
///
/// let mut headers = HeaderMap::new();
/// for name in ["user-agent", "user_agent", "api_key"] {
///     headers.insert(HeaderName::from_static(name), HeaderValue::from_static("a "));
/// }
/// clean_headers(&mut headers);
/// assert_eq!(headers.len(), 2);
/// assert_eq!(headers["user-agent"], "a");
/// ```
pub fn clean_headers(headers: &mut HeaderMap) {
    strip_misspelt(headers);
    trim_values(headers);
}

/// Normalises a request parsed by hyper in the same way as a plain request. Returns `true` if a
/// removed header could have been mistaken for a proxy's report about the visitor.
pub(super) fn clean<B>(request: &mut Request<B>) -> bool {
    let is_forged = strip_misspelt(request.headers_mut());
    // For HTTP/1, hyper trims the values, and `RequestFraming` has encoded the target.
    if request.version() == Version::HTTP_2 {
        trim_values(request.headers_mut());
        encode_target(request.uri_mut());
    }
    is_forged
}

/// Removes spaces around header values.
pub(crate) fn trim_values(headers: &mut HeaderMap) {
    for value in headers.values_mut() {
        if let [b' ' | b'\t', ..] | [.., b' ' | b'\t'] = value.as_bytes() {
            trim(value);
        }
    }
}

/// Returns `true` if a name is a misspelt form of the name of a header that affects decisions.
pub(super) fn is_misspelt(name: &HeaderName) -> bool {
    let name = name.as_str().as_bytes();
    name.iter().any(|byte| is_odd(*byte)) && is_guarded(name)
}

/// Returns `true` for a misspelt name that CGI treats as a header with which a proxy or robot
/// detector identifies a visitor (RFC 3875 §4.1.18).
pub fn is_misspelt_identity(name: &HeaderName) -> bool {
    let text = name.as_str().as_bytes();
    let begins = |prefix: &&str| starts_with_variant(text, prefix.as_bytes());
    is_misspelt(name) && IDENTITY_PREFIXES.iter().any(begins)
}

/// Returns `true` if a header, in any spelling, frames a request, identifies its client or affects
/// the decision.
pub(crate) fn is_guarded(name: &[u8]) -> bool {
    let is_name = |other: &&str| is_variant_of(name, other.as_bytes());
    NAMES.iter().any(is_name)
        || PREFIXES
            .iter()
            .any(|prefix| starts_with_variant(name, prefix.as_bytes()))
}

/// Returns `true` if `Connection` names a header that identifies a visitor.
///
/// A proxy removes the headers that `Connection` names (RFC 9110 §7.6.1), so the proxy and the
/// server behind it would see different visitors. No client has a legitimate reason for this.
pub fn hides_identity<'v>(lines: impl Iterator<Item = &'v HeaderValue>) -> bool {
    let mut options = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    options.any(|option| {
        let option = option.trim_ascii().to_ascii_lowercase();
        let begins = |prefix: &&str| starts_with_variant(&option, prefix.as_bytes());
        option == b"user-agent" || IDENTITY_PREFIXES.iter().any(begins)
    })
}

/// Returns `true` if a name is a variant spelling of another name.
pub(crate) fn is_variant_of(name: &[u8], other: &[u8]) -> bool {
    name.len() == other.len() && starts_with_variant(name, other)
}

/// Returns `true` if a name starts with a variant spelling of a prefix.
pub(crate) fn starts_with_variant(name: &[u8], prefix: &[u8]) -> bool {
    let is_like = |(byte, right): (&u8, &u8)| byte == right || (*right == b'-' && is_odd(*byte));
    name.len() >= prefix.len() && name.iter().zip(prefix).all(is_like)
}

/// Returns `true` if a byte in a header name may be mistaken for a hyphen.
fn is_odd(byte: u8) -> bool {
    // This is a table, because every byte of every name of every request is looked up.
    #[expect(
        clippy::indexing_slicing,
        reason = "evaluated at compile time, where an error would be reported"
    )]
    const IS_ODD: [bool; 256] = {
        let mut table = [true; 256];
        let mut byte = 0_u8;
        while byte < 0x80 {
            table[byte as usize] = !byte.is_ascii_alphanumeric() && byte != b'-';
            byte += 1;
        }
        table
    };
    IS_ODD.get(usize::from(byte)).is_some_and(|is_odd| *is_odd)
}

fn strip_misspelt(headers: &mut HeaderMap) -> bool {
    let mut is_forged = false;
    while let Some(name) = headers.keys().find(|name| is_misspelt(name)).cloned() {
        is_forged |= is_misspelt_identity(&name);
        headers.remove(name);
    }
    is_forged
}

#[cold]
fn trim(value: &mut HeaderValue) {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let bytes = value.as_bytes();
    let start = bytes.iter().take_while(|byte| is_blank(byte)).count();
    let bytes = bytes.get(start..).unwrap_or_default();
    let end = bytes.iter().rev().take_while(|byte| is_blank(byte)).count();
    let bytes = bytes.get(..bytes.len() - end).unwrap_or_default();
    // A part of a valid value is itself a valid value.
    if let Ok(mut trimmed) = HeaderValue::from_bytes(bytes) {
        trimmed.set_sensitive(value.is_sensitive());
        *value = trimmed;
    }
}

/// Percent-encodes non-ASCII bytes in a request target (RFC 3986 §2.1), which for HTTP/1.1 has been
/// done earlier.
fn encode_target(uri: &mut Uri) {
    let is_raw = |target: &&http::uri::PathAndQuery| !target.as_str().is_ascii();
    let Some(target) = uri.path_and_query().filter(is_raw) else {
        return;
    };
    let mut encoded = Vec::with_capacity(2 * target.as_str().len());
    percent_encode(target.as_str().as_bytes(), &mut encoded);
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = encoded.try_into().ok();
    if let Ok(encoded) = Uri::from_parts(parts) {
        *uri = encoded;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn name(name: &str) -> HeaderName {
        HeaderName::try_from(name).unwrap()
    }

    #[test]
    fn misspelt_headers_are_removed_if_the_correct_one_matters() {
        for (spelling, expected) in [
            ("User_Agent", true),
            ("user.agent", true),
            ("USER~AGENT", true),
            ("User-Agent", false),
            ("user_agents", false),
            ("useragent", false),
            ("Content_Length", true),
            ("Transfer_Encoding", true),
            ("X_Forwarded_For", true),
            ("X-Forwarded_Proto", true),
            ("X_Real-IP", true),
            ("Signature_Input", true),
            ("If_None_Match", true),
            ("Accept_Language", true),
            ("api_key", false),
            ("grpc_metadata.x-bin", false),
            ("X_Forward", false),
            ("_", false),
        ] {
            assert_eq!(is_misspelt(&name(spelling)), expected, "{spelling}");
        }
    }

    #[test]
    fn correct_names_are_not_misspelt() {
        for right in NAMES {
            assert!(!is_misspelt(&name(right)), "{right}");
            let misspelt = right.replace('-', "_");
            assert_eq!(is_misspelt(&name(&misspelt)), misspelt != right, "{right}");
        }
    }

    #[test]
    fn spaces_around_values_are_removed() {
        let mut headers = HeaderMap::new();
        for (value, _) in VALUES {
            headers.append("x-a", HeaderValue::from_static(value));
        }
        trim_values(&mut headers);
        let trimmed: Vec<_> = headers
            .values()
            .map(|value| value.to_str().unwrap())
            .collect();
        assert_eq!(trimmed, VALUES.map(|(_, expected)| expected));
    }

    const VALUES: [(&str, &str); 6] = [
        ("a", "a"),
        (" a", "a"),
        ("a\t", "a"),
        (" \ta b \t ", "a b"),
        (" ", ""),
        ("", ""),
    ];

    #[test]
    fn non_ascii_bytes_of_a_target_are_encoded() {
        for (target, expected) in [
            ("/a%20b?c", "/a%20b?c"),
            ("/caf\u{e9}?\u{e4}", "/caf%C3%A9?%C3%A4"),
            ("http://a.example/\u{e4}", "http://a.example/%C3%A4"),
        ] {
            let mut uri: Uri = target.parse().unwrap();
            encode_target(&mut uri);
            assert_eq!(uri, expected);
        }
    }

    proptest! {
        #[test]
        fn no_name_is_left_that_cgi_confuses(
            names in prop::collection::vec("(user|x-forwarded|content|if|api|x)[-_.!~](agent|for|length|match|key)", 0..8),
        ) {
            let mut headers = HeaderMap::new();
            for spelling in &names {
                headers.append(name(spelling), HeaderValue::from_static("1"));
            }
            clean_headers(&mut headers);
            for left in headers.keys() {
                let cgi = left.as_str().replace(|it: char| !it.is_ascii_alphanumeric(), "-");
                prop_assert!(left.as_str() == cgi || cgi == "user-key" || !is_guarded(cgi.as_bytes()));
            }
        }
    }
}
