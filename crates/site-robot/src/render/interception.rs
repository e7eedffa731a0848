//! Filters the requests that a page makes, and converts responses for the browser.

use std::{future::Future, pin::Pin, sync::Arc};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, header};
use url::Url;

/// A server's response, which is passed to the browser.
#[derive(Clone, Debug)]
pub struct Answer {
    /// HTTP status code.
    pub status: u16,
    /// Response headers.
    pub headers: HeaderMap,
    /// Decompressed response body.
    pub body: Bytes,
}

/// Source of scripts, style sheets and data that are requested on behalf of the browser.
pub trait Resources: Send + Sync {
    /// Requests a URL with GET or HEAD; returns `None` if this is not allowed or not possible.
    fn ask(
        self: Arc<Self>,
        url: Url,
        is_head: bool,
    ) -> Pin<Box<dyn Future<Output = Option<Answer>> + Send>>;
}

/// Handling of a request from the browser.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum RequestHandling {
    /// Answer the request with the page itself.
    Page,
    /// Request the URL from a server.
    Ask { is_head: bool },
    /// Refuse the request.
    Refused,
    /// Stay on the page instead of navigating elsewhere.
    Stays,
}

/// Determines how to handle a request, based on its resource type and method.
///
/// The first document is the page itself, regardless of how the browser normalizes the URL.
pub(super) fn handling_for(kind: &str, method: &str, is_first: bool) -> RequestHandling {
    let is_head = method == "HEAD";
    match kind {
        "Document" if is_first && method == "GET" => RequestHandling::Page,
        // Frames and navigations by scripts would load other pages.
        "Document" => RequestHandling::Stays,
        "Script" | "Stylesheet" | "XHR" | "Fetch" if is_head || method == "GET" => {
            RequestHandling::Ask { is_head }
        }
        _ => RequestHandling::Refused,
    }
}

/// Headers that are not passed to the browser because they concern the connection, the encoding or
/// a login.
const LEFT_OUT: [HeaderName; 9] = [
    header::CONNECTION,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::SET_COOKIE,
    header::STRICT_TRANSPORT_SECURITY,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::ALT_SVC,
];

/// Returns the headers of a response in the format that the browser expects.
pub(super) fn headers(answer: &Answer) -> Vec<serde_json::Value> {
    let handed_on = answer
        .headers
        .iter()
        .filter(|(name, _)| !LEFT_OUT.contains(name));
    let pairs = handed_on.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    let pairs = pairs.map(|(name, value)| serde_json::json!({ "name": name, "value": value }));
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_read_requests_are_allowed() {
        let asked = |is_head| RequestHandling::Ask { is_head };
        for (kind, method, is_first, expected) in [
            ("Document", "GET", true, RequestHandling::Page),
            ("Document", "GET", false, RequestHandling::Stays),
            ("Document", "POST", true, RequestHandling::Stays),
            ("Script", "GET", false, asked(false)),
            ("Fetch", "GET", false, asked(false)),
            ("XHR", "HEAD", false, asked(true)),
            ("XHR", "POST", false, RequestHandling::Refused),
            ("Fetch", "DELETE", false, RequestHandling::Refused),
            ("Fetch", "get", false, RequestHandling::Refused),
            ("Image", "GET", false, RequestHandling::Refused),
            ("Ping", "POST", false, RequestHandling::Refused),
            ("WebSocket", "GET", false, RequestHandling::Refused),
        ] {
            assert_eq!(
                handling_for(kind, method, is_first),
                expected,
                "{kind} {method}"
            );
        }
    }

    #[test]
    fn login_cookies_are_not_passed_to_the_browser() {
        let mut answer = Answer {
            status: 200,
            headers: HeaderMap::new(),
            body: Bytes::new(),
        };
        answer
            .headers
            .insert(header::SET_COOKIE, "a=b".parse().unwrap());
        answer
            .headers
            .insert(header::CONTENT_TYPE, "text/css".parse().unwrap());
        let names: Vec<_> = headers(&answer)
            .iter()
            .map(|it| it["name"].clone())
            .collect();
        assert_eq!(names, ["content-type"]);
    }
}
