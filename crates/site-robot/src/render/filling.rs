//! What a page asks for, and which of it is asked for in its place.

use std::{future::Future, pin::Pin, sync::Arc};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, header};
use url::Url;

/// Answer of a server.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Headers.
    pub headers: HeaderMap,
    /// Body, decompressed.
    pub body: Bytes,
}

/// What asks servers for scripts, style sheets and data in place of the browser.
pub trait Resources: Send + Sync {
    /// Asks for a URL, by GET or HEAD; returns nothing where it may not or cannot be asked for.
    fn ask(
        self: Arc<Self>,
        url: Url,
        is_head: bool,
    ) -> Pin<Box<dyn Future<Output = Option<Answer>> + Send>>;
}

/// What becomes of a request of the browser.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Fate {
    /// It is answered with the page.
    Page,
    /// A server is asked.
    Ask { is_head: bool },
    /// It is refused.
    Refused,
    /// The page stays as it is, in place of going elsewhere.
    Stays,
}

/// Returns what becomes of a request, of which kind and by which method.
///
/// The first document is the page itself, however the browser writes its URL.
pub(super) fn fate(kind: &str, method: &str, is_first: bool) -> Fate {
    let is_head = method == "HEAD";
    match kind {
        "Document" if is_first && method == "GET" => Fate::Page,
        // Frames are pages of their own, and so is what a script leads to.
        "Document" => Fate::Stays,
        "Script" | "Stylesheet" | "XHR" | "Fetch" if is_head || method == "GET" => {
            Fate::Ask { is_head }
        }
        _ => Fate::Refused,
    }
}

/// Headers that are not handed on: of the connection, of the encoding, and of a login.
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

/// Returns the headers of an answer as the browser takes them.
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
    fn reading_passes_and_nothing_else() {
        let asked = |is_head| Fate::Ask { is_head };
        for (kind, method, is_first, expected) in [
            ("Document", "GET", true, Fate::Page),
            ("Document", "GET", false, Fate::Stays),
            ("Document", "POST", true, Fate::Stays),
            ("Script", "GET", false, asked(false)),
            ("Fetch", "GET", false, asked(false)),
            ("XHR", "HEAD", false, asked(true)),
            ("XHR", "POST", false, Fate::Refused),
            ("Fetch", "DELETE", false, Fate::Refused),
            ("Fetch", "get", false, Fate::Refused),
            ("Image", "GET", false, Fate::Refused),
            ("Ping", "POST", false, Fate::Refused),
            ("WebSocket", "GET", false, Fate::Refused),
        ] {
            assert_eq!(fate(kind, method, is_first), expected, "{kind} {method}");
        }
    }

    #[test]
    fn a_login_is_not_handed_to_the_browser() {
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
