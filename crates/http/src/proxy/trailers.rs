//! Selection of the trailers that are forwarded (RFC 9110 §6.5.1).
//!
//! A recipient may merge trailers into the header section, which the proxy has evaluated without
//! them.

use http::{HeaderMap, HeaderName, header::TRAILER};

use crate::listen::{is_guarded, is_variant_of, starts_with_variant, trim_values};

use super::headers::{remove_where, tokens};

/// Fields that must not be trailers, because they frame, route, authenticate or modify a message,
/// or control a response: the fields that RFC 9110 §6.5.1 excludes, and similar fields in use.
const FORBIDDEN: [&str; 35] = [
    "accept",
    "age",
    "allow",
    "alt-svc",
    "authorization",
    "cache-control",
    "connection",
    "cookie",
    "date",
    "expect",
    "expires",
    "forwarded",
    "from",
    "host",
    "http2-settings",
    "keep-alive",
    "location",
    "max-forwards",
    "origin",
    "pragma",
    "proxy",
    "range",
    "referer",
    "refresh",
    "retry-after",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "vary",
    "via",
    "www-authenticate",
    "x-real-ip",
];
/// Prefixes of header names that are not allowed in trailers.
const FORBIDDEN_PREFIXES: [&str; 7] = [
    "accept-",
    "access-control-",
    "content-",
    "if-",
    "proxy-",
    "sec-",
    "x-forwarded",
];
/// A digest field that is allowed in trailers, because a digest is known only when the body has
/// been sent (RFC 9530 §2).
const DIGEST: &str = "content-digest";

/// Returns the names of the allowed trailers that a request announces (RFC 9110 §6.6.2).
///
/// `kept` contains the headers that this program sets, which a client must not send.
pub(super) fn announced_names(headers: &HeaderMap, kept: &[HeaderName]) -> Vec<HeaderName> {
    let is_ours = |name: &HeaderName| {
        let is_it = |kept: &HeaderName| is_spelling(name, kept.as_str());
        kept.iter().any(is_it)
    };
    tokens(headers, &TRAILER)
        .filter_map(|name| HeaderName::from_bytes(name).ok())
        .filter(|name| !is_forbidden(name) && !is_guarded(name.as_str().as_bytes()))
        .filter(|name| !is_ours(name))
        .collect()
}

/// Removes the trailers of a request that are not among the announced names.
pub(super) fn retain_announced(trailers: &mut HeaderMap, announced: &[HeaderName]) {
    remove_where(trailers, |name| !announced.contains(name));
    trim_values(trailers);
}

/// Removes forbidden trailers from a response, whether announced or not.
pub(super) fn clean(trailers: &mut HeaderMap) {
    remove_where(trailers, is_forbidden);
    trim_values(trailers);
}

fn is_forbidden(name: &HeaderName) -> bool {
    let begins = |prefix: &&str| starts_with_variant(name.as_str().as_bytes(), prefix.as_bytes());
    let is_it = |other: &&str| is_spelling(name, other);
    FORBIDDEN.iter().any(is_it)
        || (FORBIDDEN_PREFIXES.iter().any(begins) && name.as_str() != DIGEST)
}

fn is_spelling(name: &HeaderName, other: &str) -> bool {
    is_variant_of(name.as_str().as_bytes(), other.as_bytes())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const NAMES: &[(&str, bool)] = &[
        ("x-checksum", true),
        ("grpc-status", true),
        ("grpc-message", true),
        ("grpc-status-details-bin", true),
        ("custom_key.a-bin", true),
        ("server-timing", true),
        ("etag", true),
        ("content-digest", true),
        ("content_digest", false),
        ("content-length", false),
        ("content_length", false),
        ("content-encoding", false),
        ("transfer-encoding", false),
        ("transfer_encoding", false),
        ("trailer", false),
        ("te", false),
        ("connection", false),
        ("host", false),
        ("via", false),
        ("forwarded", false),
        ("x-forwarded-for", false),
        ("x_forwarded_for", false),
        ("x-real-ip", false),
        ("authorization", false),
        ("proxy-authorization", false),
        ("www-authenticate", false),
        ("cookie", false),
        ("set-cookie", false),
        ("cache-control", false),
        ("expect", false),
        ("range", false),
        ("if-match", false),
        ("max-forwards", false),
        ("age", false),
        ("date", false),
        ("location", false),
        ("vary", false),
        ("user-agent", false),
        ("user_agent", false),
    ];

    fn all() -> HeaderMap {
        let mut trailers = HeaderMap::new();
        for (name, _) in NAMES {
            trailers.insert(
                HeaderName::from_static(name),
                HeaderValue::from_static(" a"),
            );
        }
        trailers
    }

    #[test]
    fn response_keeps_allowed_trailers() {
        let mut trailers = all();
        clean(&mut trailers);
        for (name, expected) in NAMES {
            assert_eq!(trailers.contains_key(*name), *expected, "{name}");
        }
        assert!(trailers.values().all(|value| value == "a"));
    }

    #[test]
    fn request_keeps_announced_trailers_except_our_headers() {
        let ours = HeaderName::from_static("x-ours");
        let others = [
            "x-ours",
            "x_ours",
            "signature",
            "signature-input",
            "not a name",
        ];
        let names: Vec<_> = NAMES.iter().map(|(name, _)| *name).chain(others).collect();
        let mut headers = HeaderMap::new();
        headers.insert(TRAILER, names.join(", ").parse().unwrap());
        let announced = announced_names(&headers, &[ours]);
        let mut trailers = all();
        for name in [
            "x-ours",
            "x_ours",
            "signature",
            "signature-input",
            "x-silent",
        ] {
            trailers.insert(name, HeaderValue::from_static("a"));
        }
        retain_announced(&mut trailers, &announced);
        for (name, expected) in NAMES {
            // A digest that a verdict depends on is not forwarded.
            let expected = *expected && *name != DIGEST;
            assert_eq!(trailers.contains_key(*name), expected, "{name}");
        }
        for name in [
            "x-ours",
            "x_ours",
            "signature",
            "signature-input",
            "x-silent",
        ] {
            assert!(!trailers.contains_key(name), "{name}");
        }
    }
}
