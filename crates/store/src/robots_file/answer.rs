//! Prepared responses for /robots.txt and similar files.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header},
};
use bytes::Bytes;
use sha2::{Digest as _, Sha256};

/// The cache lifetime of five minutes, which lets robots notice changes soon.
const CACHE_CONTROL: HeaderValue = HeaderValue::from_static("max-age=300");

/// The retry delay in seconds, sent while the upstream's robots.txt is unknown.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("60");

/// The last second of the year 9999; the year in an HTTP date has four digits (RFC 9110 §5.6.7).
const LAST_S: u64 = 253_402_300_799;

const CONTENT_TYPE: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// A text file with pre-built response headers.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PreparedFile {
    body: Bytes,
    content_type: HeaderValue,
    etag: HeaderValue,
    last_modified: HeaderValue,
    /// The modification time of the file, in seconds since 1970.
    modified_s: u64,
}

impl PreparedFile {
    /// Creates a text file with the given modification time.
    pub fn new(body: impl Into<Bytes>, modified_ms: i64) -> Self {
        let body = body.into();
        let modified_s = u64::try_from(modified_ms / 1_000).unwrap_or_default();
        let modified_s = modified_s.min(LAST_S);
        let modified = UNIX_EPOCH + Duration::from_secs(modified_s);
        // The tag is the same on all instances; half a digest is sufficient to distinguish files.
        let etag = format!("\"{:.32}\"", hex::encode(Sha256::digest(&body)));
        let absent = || HeaderValue::from_static("");
        Self {
            etag: HeaderValue::try_from(etag).unwrap_or_else(|_| absent()),
            last_modified: HeaderValue::try_from(httpdate::fmt_http_date(modified))
                .unwrap_or_else(|_| absent()),
            body,
            content_type: CONTENT_TYPE,
            modified_s,
        }
    }

    /// Sets the media type of the file.
    #[must_use]
    pub fn with_content_type(mut self, content_type: HeaderValue) -> Self {
        self.content_type = content_type;
        self
    }

    /// Copies the modification time from an earlier version of the file if the content is the same.
    pub(super) fn with_date_of(self, earlier: Option<&Self>) -> Self {
        match earlier.filter(|earlier| earlier.body == self.body) {
            // The registry changes more often than the generated file, so robots can often reuse
            // their copy.
            Some(earlier) => Self {
                last_modified: earlier.last_modified.clone(),
                modified_s: earlier.modified_s,
                ..self
            },
            None => self,
        }
    }

    /// Returns the response to a conditional or unconditional request (RFC 9110 §13).
    pub fn answer(&self, method: &Method, headers: &HeaderMap) -> Response<Body> {
        if let Some(refusal) = refusal(method) {
            return refusal;
        }
        let is_known = self.is_known(headers);
        let mut response = Response::new(if is_known || method == Method::HEAD {
            Body::empty()
        } else {
            Body::from(self.body.clone())
        });
        let fields = response.headers_mut();
        fields.insert(header::ETAG, self.etag.clone());
        fields.insert(header::LAST_MODIFIED, self.last_modified.clone());
        fields.insert(header::CACHE_CONTROL, CACHE_CONTROL);
        if is_known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        } else {
            // A 304 response contains only the validators (RFC 9110 §15.4.5), and a HEAD response
            // the same headers as for GET (§9.3.2).
            fields.insert(header::CONTENT_TYPE, self.content_type.clone());
            fields.insert(header::CONTENT_LENGTH, self.body.len().into());
        }
        response
    }

    /// Returns `true` if the client already has the current file; `If-None-Match` takes precedence
    /// (RFC 9110 §13.2.2).
    fn is_known(&self, headers: &HeaderMap) -> bool {
        if let Some(is_known) = matches_etag(headers, self.etag.as_bytes()) {
            return is_known;
        }
        let since = headers.get(header::IF_MODIFIED_SINCE);
        let since = since.and_then(|since| httpdate::parse_http_date(since.to_str().ok()?).ok());
        // Compared for equality: a reload may bring an older file, which the client does not have.
        since.and_then(seconds) == Some(self.modified_s)
    }
}

/// Returns the response to send while the upstream's robots.txt is unknown.
///
/// Robots then assume that everything is disallowed, and try again later (RFC 9309 §2.3.1.4).
pub(super) fn unknown_file_response(method: &Method) -> Response<Body> {
    if let Some(refusal) = refusal(method) {
        return refusal;
    }
    let mut response = Response::new(if method == Method::HEAD {
        Body::empty()
    } else {
        Body::from("503 Service Unavailable: the robots.txt of this site is not available yet\n")
    });
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    let fields = response.headers_mut();
    fields.insert(header::RETRY_AFTER, RETRY_AFTER);
    fields.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    fields.insert(header::CONTENT_TYPE, CONTENT_TYPE);
    response
}

/// Returns whether `If-None-Match` contains an entity tag, or `None` if the header is missing.
///
/// If this header is present, `If-Modified-Since` is ignored (RFC 9110 §13.1.3).
pub fn matches_etag(headers: &HeaderMap, tag: &[u8]) -> Option<bool> {
    let mut lines = headers.get_all(header::IF_NONE_MATCH).iter().peekable();
    lines.peek()?;
    let mut tags = lines.flat_map(|line| line.as_bytes().split(|octet| *octet == b','));
    Some(tags.any(|known| {
        let known = known.trim_ascii();
        // Weak comparison ignores the prefix (RFC 9110 §13.1.2).
        known == b"*" || known.strip_prefix(b"W/").unwrap_or(known) == tag
    }))
}

/// Returns a 405 response for methods other than GET and HEAD.
fn refusal(method: &Method) -> Option<Response<Body>> {
    if method == Method::GET || method == Method::HEAD {
        return None;
    }
    let mut response = Response::new(Body::from("405 Method Not Allowed\n"));
    *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    let fields = response.headers_mut();
    // A 405 response must list the allowed methods (RFC 9110 §15.5.6).
    fields.insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
    fields.insert(header::CONTENT_TYPE, CONTENT_TYPE);
    Some(response)
}

fn seconds(time: SystemTime) -> Option<u64> {
    time.duration_since(UNIX_EPOCH)
        .ok()
        .map(|since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-03-01T12:00:00Z.
    const MODIFIED_MS: i64 = 1_772_366_400_999;

    fn status(name: header::HeaderName, value: &str) -> u16 {
        let prepared = PreparedFile::new("User-agent: *\n", MODIFIED_MS);
        let value = value.replace("TAG", prepared.etag.to_str().unwrap());
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_str(&value).unwrap());
        let response = prepared.answer(&Method::GET, &headers);
        assert!(response.headers().contains_key(header::ETAG));
        response.status().as_u16()
    }

    #[test]
    fn conditional_requests_follow_http() {
        for (name, value, expected) in [
            (header::IF_NONE_MATCH, "TAG", 304),
            (header::IF_NONE_MATCH, "W/TAG", 304),
            (header::IF_NONE_MATCH, "\"a\" , TAG", 304),
            (header::IF_NONE_MATCH, "*", 304),
            (header::IF_NONE_MATCH, "\"a\"", 200),
            (header::IF_NONE_MATCH, "", 200),
            (
                header::IF_MODIFIED_SINCE,
                "Sun, 01 Mar 2026 12:00:00 GMT",
                304,
            ),
            (
                header::IF_MODIFIED_SINCE,
                "Sunday, 01-Mar-26 12:00:00 GMT",
                304,
            ),
            (
                header::IF_MODIFIED_SINCE,
                "Sun, 01 Mar 2026 12:00:01 GMT",
                200,
            ),
            (
                header::IF_MODIFIED_SINCE,
                "Sun, 01 Mar 2026 11:59:59 GMT",
                200,
            ),
            (header::IF_MODIFIED_SINCE, "yesterday", 200),
        ] {
            assert_eq!(status(name, value), expected, "{value}");
        }
    }

    #[test]
    fn entity_tag_takes_precedence_over_date() {
        let prepared = PreparedFile::new("", MODIFIED_MS);
        let mut headers = HeaderMap::new();
        headers.insert(header::IF_NONE_MATCH, HeaderValue::from_static("\"x\""));
        headers.insert(header::IF_MODIFIED_SINCE, prepared.last_modified.clone());
        assert_eq!(prepared.answer(&Method::GET, &headers).status(), 200);
    }

    #[test]
    fn modification_time_is_that_of_the_last_change() {
        let first = PreparedFile::new("a", MODIFIED_MS);
        let same = PreparedFile::new("a", MODIFIED_MS + 9_000);
        assert_eq!(same.with_date_of(Some(&first)), first);
        let other = PreparedFile::new("b", MODIFIED_MS + 9_000);
        assert_eq!(other.clone().with_date_of(Some(&first)), other);
    }

    #[test]
    fn date_out_of_range_becomes_the_latest_http_date() {
        for (modified_ms, date) in [
            (i64::MAX, "Fri, 31 Dec 9999 23:59:59 GMT"),
            (i64::MIN, "Thu, 01 Jan 1970 00:00:00 GMT"),
        ] {
            assert_eq!(PreparedFile::new("", modified_ms).last_modified, date);
        }
    }
}
