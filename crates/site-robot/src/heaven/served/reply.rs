//! Responses that robot heaven sends.

use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, Response, StatusCode, header},
};
use sha2::{Digest, Sha256};

use super::request::PageRequest;
use crate::heaven::{access::cookie, date::Date};

pub(super) const HTML: &str = "text/html; charset=utf-8";
pub(super) const CSS: &str = "text/css; charset=utf-8";
pub(super) const XML: &str = "application/xml; charset=utf-8";
pub(super) const ATOM: &str = "application/atom+xml; charset=utf-8";
pub(super) const TEXT: &str = "text/plain; charset=utf-8";
pub(super) const MARKDOWN: &str = "text/markdown; charset=utf-8";

/// Value of `Retry-After`, in seconds, for pages that could not be read from the database.
// The database connection is retried at the same interval.
const RETRY_AFTER_SECONDS: u32 = 15;

const CONTENT_SIGNAL: HeaderName = HeaderName::from_static("content-signal");

/// Body, status and headers of a complete response.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) content_type: &'static str,
    pub(super) text: String,
    pub(super) date: Option<Date>,
    /// URL of the original, for content that cannot contain a canonical link (RFC 6596).
    pub(super) original: Option<String>,
    /// Permitted uses of the content (`Content-Signal`); empty to omit the header.
    pub(super) signals: String,
    /// Whether there is another rendition at the same URL.
    pub(super) varies: bool,
}

impl Reply {
    pub(super) fn new(content_type: &'static str, text: String) -> Self {
        Self {
            status: StatusCode::OK,
            content_type,
            text,
            date: None,
            original: None,
            signals: String::new(),
            varies: false,
        }
    }

    /// Returns the response, with an empty body if the client already has the content.
    pub(super) fn response(self, asked: &PageRequest<'_>) -> Response<Body> {
        let etag = etag(&self.text);
        let is_known = self.status == StatusCode::OK && asked.is_known(&etag, self.date);
        let length = self.text.len();
        let body = if is_known || asked.is_head() {
            Body::empty()
        } else {
            Body::from(self.text)
        };
        let mut response = Response::new(body);
        let headers = response.headers_mut();
        if let Ok(etag) = HeaderValue::try_from(etag) {
            headers.insert(header::ETAG, etag);
        }
        if let Some(date) = self.date
            && let Ok(date) = HeaderValue::try_from(date.http())
        {
            headers.insert(header::LAST_MODIFIED, date);
        }
        // A `>` would end the link target, and the rest of the URL would be parsed as parameters.
        if let Some(url) = self.original.filter(|url| !url.contains('>'))
            && let Ok(link) = HeaderValue::try_from(format!(
                "<{url}>; rel=\"canonical\", <{url}>; rel=\"alternate\"; type=\"text/html\""
            ))
        {
            headers.insert(header::LINK, link);
        }
        if !self.signals.is_empty()
            && let Ok(signals) = HeaderValue::try_from(self.signals)
        {
            headers.insert(CONTENT_SIGNAL, signals);
        }
        if self.varies {
            headers.insert(header::VARY, HeaderValue::from_static("Accept"));
        }
        // A 304 response contains the validators but no content headers (RFC 9110 §15.4.5).
        if is_known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            return response;
        }
        let content_type = HeaderValue::from_static(self.content_type);
        headers.insert(header::CONTENT_TYPE, content_type);
        // A HEAD response contains the length of the GET response (RFC 9110 §8.6).
        if asked.is_head() {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        }
        *response.status_mut() = self.status;
        response
    }
}

/// Returns a response whose body is a single line of plain text.
pub(super) fn short(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::from(format!("{status}\n")));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(TEXT));
    if status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    if status == StatusCode::SERVICE_UNAVAILABLE {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER_SECONDS));
    }
    response
}

/// Redirects the client to the same path with a trailing slash.
pub(super) fn moved(location: &str) -> Response<Body> {
    let mut response = short(StatusCode::MOVED_PERMANENTLY);
    if let Ok(location) = HeaderValue::try_from(location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

/// Redirects a visitor to an original, and sets a cookie that prevents redirect loops.
pub(super) fn sent(original: &str, path: &str) -> Response<Body> {
    let mut response = short(StatusCode::FOUND);
    let headers = response.headers_mut();
    for (name, value) in [
        (header::LOCATION, original),
        (header::SET_COOKIE, &cookie(path)),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.extend(HeaderValue::try_from(value).map(|value| (name, value)));
    }
    response
}

/// Starts a response whose body is generated while it is being sent.
pub(super) fn streamed(content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let content_type = HeaderValue::from_static(content_type);
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, content_type);
    response
}

/// Returns the first 16 hexadecimal digits of the content's SHA-256.
fn etag(content: &str) -> String {
    let digest = hex::encode(Sha256::digest(content));
    format!("\"{digest:.16}\"")
}
