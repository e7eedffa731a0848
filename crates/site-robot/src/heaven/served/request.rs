//! Evaluates requests for heaven pages.

use axum::http::{HeaderMap, Method, header};
use percent_encoding::percent_decode_str;

use crate::heaven::date::Date;
use robot_detection_layer::layer::prefers_markdown;
use robot_detection_store::robots_file::matches_etag;

/// Method and headers of a request.
#[derive(Debug)]
pub(super) struct PageRequest<'r> {
    method: &'r Method,
    headers: &'r HeaderMap,
}

impl<'r> PageRequest<'r> {
    pub(super) fn new(method: &'r Method, headers: &'r HeaderMap) -> Self {
        Self { method, headers }
    }

    /// Returns `true` if the method is `GET` or `HEAD`.
    pub(super) fn is_read_only(&self) -> bool {
        matches!(*self.method, Method::GET | Method::HEAD)
    }

    pub(super) fn is_head(&self) -> bool {
        *self.method == Method::HEAD
    }

    pub(super) fn headers(&self) -> &'r HeaderMap {
        self.headers
    }

    /// Returns `true` if the client prefers Markdown.
    pub(super) fn wants_markdown(&self) -> bool {
        prefers_markdown(self.headers)
    }

    /// Returns `true` if the client already has the requested content (RFC 9110 §13.2.2).
    pub(super) fn is_known(&self, etag: &str, date: Option<Date>) -> bool {
        if let Some(is_known) = matches_etag(self.headers, etag.as_bytes()) {
            return is_known;
        }
        let since = self.headers.get(header::IF_MODIFIED_SINCE);
        let since = since.and_then(|since| since.to_str().ok());
        since.is_some_and(|since| date.is_some_and(|date| date.is_known_by(since)))
    }
}

/// Returns the file name for a path below robot heaven; `None` if the path is not valid UTF-8.
pub(super) fn file(below: &str) -> Option<String> {
    // The decoded path may contain `..`, which is harmless, because the path is only compared with
    // generated paths and opens no file.
    let mut path = percent_decode_str(below).decode_utf8().ok()?.into_owned();
    if path.is_empty() || path.ends_with('/') {
        path.push_str("index.html");
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;

    use super::*;

    fn headers(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, value.parse().unwrap())])
    }

    #[test]
    fn etag_takes_precedence_over_date() {
        let known = |name, value| {
            let headers = headers(name, value);
            let mut description =
                robot_detection_store::description::ResourceDescription::new("https://a.example/");
            description.set("last-modified", "Sun, 01 Mar 2026 12:30:05 GMT");
            PageRequest::new(&Method::GET, &headers)
                .is_known("\"a\"", Date::from_server(&description))
        };
        assert!(known(header::IF_NONE_MATCH, "\"b\", W/\"a\""));
        assert!(known(header::IF_NONE_MATCH, "*"));
        assert!(!known(header::IF_NONE_MATCH, "\"b\""));
        assert!(known(
            header::IF_MODIFIED_SINCE,
            "Sun, 01 Mar 2026 12:30:05 GMT"
        ));
        assert!(!known(
            header::IF_MODIFIED_SINCE,
            "Sun, 01 Mar 2026 12:30:04 GMT"
        ));
        assert!(!known(header::ACCEPT, "*/*"));
    }
}
