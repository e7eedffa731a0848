//! Headers that are meant for one hop (RFC 9110 §7.6.1).

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{
        CONNECTION, CONTENT_LENGTH, HOST, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER,
        TRANSFER_ENCODING, UPGRADE,
    },
};

use super::forwarding;

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
const HTTP2_SETTINGS: HeaderName = HeaderName::from_static("http2-settings");
/// Servers hand `Proxy` to programs as `HTTP_PROXY` (httpoxy, CVE-2016-5385).
const PROXY: HeaderName = HeaderName::from_static("proxy");

/// Removes what a message says to us only: fixed headers, and those that `Connection` names.
///
/// `kept` are headers of this house, which a client cannot name away.
pub(super) fn strip_hop_by_hop(headers: &mut HeaderMap, kept: &[HeaderName]) {
    for name in named_by_connection(headers) {
        if name != HOST && name != CONTENT_LENGTH && !kept.contains(&name) {
            headers.remove(name);
        }
    }
    for name in [
        CONNECTION,
        KEEP_ALIVE,
        PROXY_CONNECTION,
        TE,
        TRANSFER_ENCODING,
        UPGRADE,
    ] {
        headers.remove(name);
    }
}

/// Removes what is for a forward proxy, and what upgrades to HTTP/2.
pub(super) fn strip_proxy_fields(headers: &mut HeaderMap) {
    for name in [PROXY_AUTHORIZATION, PROXY, HTTP2_SETTINGS] {
        headers.remove(name);
    }
}

/// Tells whether a comma-separated header has the token in any of its lines.
pub(super) fn has_token(headers: &HeaderMap, name: &HeaderName, token: &str) -> bool {
    tokens(headers, name).any(|found| found.eq_ignore_ascii_case(token.as_bytes()))
}

/// Returns the members of a comma-separated header over all of its lines.
pub(super) fn tokens<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = &'a [u8]> + use<'a> {
    headers
        .get_all(name)
        .iter()
        .flat_map(|line| line.as_bytes().split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .filter(|token| !token.is_empty())
}

/// Tells whether the body has a transfer coding beside `chunked`, which we do not undo.
pub(super) fn has_unknown_coding(headers: &HeaderMap) -> bool {
    headers.contains_key(TRANSFER_ENCODING)
        && !tokens(headers, &TRANSFER_ENCODING)
            .map(|coding| coding.eq_ignore_ascii_case(b"chunked"))
            .eq([true])
}

/// Removes from trailers what must not be one (RFC 9110 §6.5.1): a receiver may merge them.
pub(super) fn clean_trailers(trailers: &mut HeaderMap, strips_forwarding: bool) {
    strip_hop_by_hop(trailers, &[]);
    strip_proxy_fields(trailers);
    for name in [HOST, CONTENT_LENGTH, TRAILER, PROXY_AUTHENTICATE] {
        trailers.remove(name);
    }
    if strips_forwarding {
        forwarding::strip(trailers);
    }
}

/// Sets a header that is a token of ours.
pub(super) fn set(headers: &mut HeaderMap, name: HeaderName, value: &'static str) {
    headers.insert(name, HeaderValue::from_static(value));
}

fn named_by_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    if !headers.contains_key(CONNECTION) {
        return Vec::new();
    }
    tokens(headers, &CONNECTION)
        // The usual values name no header, or one that goes anyway.
        .filter(|token| {
            !token.eq_ignore_ascii_case(b"keep-alive") && !token.eq_ignore_ascii_case(b"close")
        })
        .filter_map(|token| HeaderName::from_bytes(token).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn named_headers_go_and_others_stay() {
        let mut map = headers(&[
            ("connection", "keep-alive, X-Hop"),
            ("connection", "host, content-length,, x-ours, not a name"),
            ("keep-alive", "timeout=5"),
            ("x-hop", "1"),
            ("host", "site.example"),
            ("content-length", "4"),
            ("x-ours", "kept"),
            ("x-end", "kept"),
            ("te", "trailers"),
            ("upgrade", "h2c"),
            ("proxy-connection", "close"),
            ("transfer-encoding", "chunked"),
        ]);
        strip_hop_by_hop(&mut map, &[HeaderName::from_static("x-ours")]);
        let mut left: Vec<_> = map.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["content-length", "host", "x-end", "x-ours"]);
    }

    #[test]
    fn only_chunked_once_is_a_known_coding() {
        for (coding, unknown) in [
            (&["chunked"][..], false),
            (&["Chunked"], false),
            (&["gzip, chunked"], true),
            (&["chunked", "chunked"], true),
            (&["identity"], true),
            (&[""], true),
            (&[], false),
        ] {
            let lines: Vec<_> = coding
                .iter()
                .map(|coding| ("transfer-encoding", *coding))
                .collect();
            assert_eq!(has_unknown_coding(&headers(&lines)), unknown, "{coding:?}");
        }
    }

    #[test]
    fn tokens_are_found_in_any_line_and_case() {
        let map = headers(&[("connection", "keep-alive"), ("connection", "a, UPGRADE")]);
        assert!(has_token(&map, &CONNECTION, "upgrade"));
        assert!(!has_token(&map, &CONNECTION, "up"));
    }
}
