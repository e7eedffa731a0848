//! The headers whose values may be cached after their message.
//!
//! The fast path compares the lines of a message with lines from other clients or responses. Only
//! the headers listed here are cached; unknown headers (`X-Api-Key`, `Cf-Access-Jwt-Assertion`) are
//! discarded with their message. A bug in the comparison could therefore mix up preferences and
//! formats, but not credentials or personal data.

use http::HeaderName;

/// Returns `true` if the header's values are shared by many clients and not private.
///
/// This function is called once for each cached line, not for each message.
pub(crate) fn is_cacheable(name: &HeaderName) -> bool {
    of_requests(name.as_str()) || of_responses(name.as_str())
}

fn of_requests(name: &str) -> bool {
    matches!(
        name,
        "host"
            | "user-agent"
            | "accept"
            | "accept-charset"
            | "accept-encoding"
            | "accept-language"
            | "cache-control"
            | "connection"
            | "device-memory"
            | "dnt"
            | "downlink"
            | "ect"
            | "pragma"
            | "priority"
            | "rtt"
            | "save-data"
            | "upgrade-insecure-requests"
            | "x-forwarded-port"
            | "x-forwarded-proto"
            | "x-requested-with"
    ) || name.starts_with("sec-ch-")
        || name.starts_with("sec-fetch-")
        || name == "sec-gpc"
}

fn of_responses(name: &str) -> bool {
    matches!(
        name,
        "accept-ranges"
            | "age"
            | "alt-svc"
            | "content-encoding"
            | "content-language"
            | "content-length"
            | "content-type"
            | "date"
            | "expires"
            | "keep-alive"
            | "last-modified"
            | "permissions-policy"
            | "referrer-policy"
            | "server"
            | "strict-transport-security"
            | "transfer-encoding"
            | "vary"
            | "via"
            | "x-content-type-options"
            | "x-frame-options"
            | "x-powered-by"
            | "x-robots-tag"
            | "x-xss-protection"
    ) || name.starts_with("access-control-")
        || name.starts_with("cross-origin-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unlisted_headers_are_not_cached() {
        let own = [
            "authorization",
            "cf-access-jwt-assertion",
            "cf-connecting-ip",
            "content-security-policy",
            "cookie",
            "etag",
            "forwarded",
            "if-none-match",
            "location",
            "origin",
            "proxy-authorization",
            "referer",
            "sec-websocket-key",
            "set-cookie",
            "signature",
            "x-api-key",
            "x-auth-token",
            "x-csrf-token",
            "x-forwarded-for",
            "x-real-ip",
            "x-request-id",
        ];
        for name in own {
            assert!(!is_cacheable(&HeaderName::from_static(name)), "{name}");
        }
        for name in ["host", "user-agent", "sec-ch-ua", "sec-fetch-site", "date"] {
            assert!(is_cacheable(&HeaderName::from_static(name)), "{name}");
        }
    }
}
