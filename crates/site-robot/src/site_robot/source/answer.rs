//! Responses from page sources.

use std::{
    net::IpAddr,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use http::{
    HeaderMap,
    header::{self, HeaderName, HeaderValue},
};

use robot_detection_store::fetch::Conditions;

/// Maximum length of an accepted header value, in bytes.
const MAX_VALUE_BYTES: usize = 8 * 1024;

/// Maximum length of a stored validator, in bytes; a longer validator is treated as missing.
const MAX_VALIDATOR_BYTES: usize = 1024;

/// Response to a [`PageRequest`](super::PageRequest), with any status.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PageResponse {
    /// HTTP status code.
    pub status: u16,
    /// Headers as received, except that `Content-Length` is removed if the body was compressed.
    pub headers: HeaderMap,
    /// IP address of the server, if there is one.
    pub peer: Option<IpAddr>,
    /// Decompressed body; empty for HEAD requests and status 304.
    pub body: Bytes,
}

impl PageResponse {
    pub(super) fn new(status: u16, headers: HeaderMap, body: Bytes) -> Self {
        Self {
            status,
            headers,
            peer: None,
            body,
        }
    }

    /// Returns the value of `Content-Type` as received.
    pub fn content_type(&self) -> Option<String> {
        self.text(&header::CONTENT_TYPE)
    }

    /// Returns the media type in lower case, without parameters.
    pub fn media_type(&self) -> Option<String> {
        let content_type = self.content_type()?;
        let media_type = content_type.split(';').next()?.trim();
        (!media_type.is_empty()).then(|| media_type.to_ascii_lowercase())
    }

    /// Returns the value of `Location` as received, for any status.
    pub fn location(&self) -> Option<String> {
        self.text(&header::LOCATION)
    }

    /// Returns `true` if the response is a redirect with a target.
    pub fn is_redirect(&self) -> bool {
        matches!(self.status, 301 | 302 | 303 | 307 | 308) && self.location().is_some()
    }

    /// Returns the `ETag` and `Last-Modified` headers for a later conditional request.
    pub fn conditions(&self) -> Conditions {
        let fits = |text: &String| text.len() <= MAX_VALIDATOR_BYTES;
        Conditions {
            etag: self.text(&header::ETAG).filter(fits),
            last_modified: self.text(&header::LAST_MODIFIED).filter(fits),
        }
    }

    /// Returns the time in the `Last-Modified` header.
    pub fn last_modified(&self) -> Option<SystemTime> {
        httpdate::parse_http_date(&self.text(&header::LAST_MODIFIED)?).ok()
    }

    /// Returns the time in the `Expires` header.
    pub fn expires(&self) -> Option<SystemTime> {
        httpdate::parse_http_date(&self.text(&header::EXPIRES)?).ok()
    }

    /// Returns the values of all `X-Robots-Tag` headers, in order.
    pub fn x_robots_tags(&self) -> impl Iterator<Item = String> {
        self.texts(HeaderName::from_static("x-robots-tag"))
    }

    /// Returns the URL in a `Link: <…>; rel=canonical` header, as written.
    pub fn canonical(&self) -> Option<String> {
        self.texts(header::LINK)
            .find_map(|line| canonical_in(&line))
    }

    /// Returns the pause requested by a `Retry-After` header, relative to `now`.
    ///
    /// The header contains seconds or a date; for a date in the past, the pause is zero.
    pub fn retry_after(&self, now: SystemTime) -> Option<Duration> {
        let text = self.text(&header::RETRY_AFTER)?;
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            // A number that is too large for the type still means a long time.
            return Some(Duration::from_secs(
                text.parse().unwrap_or(u64::from(u32::MAX)),
            ));
        }
        let date = httpdate::parse_http_date(&text).ok()?;
        Some(date.duration_since(now).unwrap_or_default())
    }

    /// Returns the value of a header as text; if the header is repeated, the first value.
    ///
    /// Returns `None` if the header is empty or longer than 8 KiB. Invalid UTF-8 is replaced with
    /// `U+FFFD`.
    pub fn text(&self, name: &HeaderName) -> Option<String> {
        self.texts(name.clone()).next()
    }

    fn texts(&self, name: HeaderName) -> impl Iterator<Item = String> {
        self.headers.get_all(name).iter().filter_map(text_of)
    }
}

fn text_of(value: &HeaderValue) -> Option<String> {
    let bytes = value.as_bytes().trim_ascii();
    let fits = (1..=MAX_VALUE_BYTES).contains(&bytes.len());
    fits.then(|| String::from_utf8_lossy(bytes).into_owned())
}

/// Returns the canonical link in a line of a `Link` header (RFC 8288 §3).
pub fn canonical_in(line: &str) -> Option<String> {
    let mut rest = line;
    loop {
        let (_, behind) = rest.split_once('<')?;
        let (url, behind) = behind.split_once('>')?;
        let (parameters, next) = until_comma(behind);
        if parameters.split(';').any(is_canonical) {
            let url = url.trim();
            return (!url.is_empty()).then(|| url.to_owned());
        }
        rest = next;
    }
}

/// Splits a text at the first comma outside quotation marks.
fn until_comma(text: &str) -> (&str, &str) {
    let mut is_quoted = false;
    let at = text.find(|c| {
        is_quoted ^= c == '"';
        c == ',' && !is_quoted
    });
    text.split_at_checked(at.unwrap_or(text.len()))
        .unwrap_or((text, ""))
}

fn is_canonical(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else {
        return false;
    };
    let mut words = value.trim().trim_matches('"').split_ascii_whitespace();
    name.trim().eq_ignore_ascii_case("rel") && words.any(|it| it.eq_ignore_ascii_case("canonical"))
}

/// Limits of a single request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SourceLimits {
    /// Timeout for connecting (`connect-timeout`); 120 seconds by default.
    pub connect_timeout: Duration,
    /// Maximum time without data, or with less than 1 KiB per second; 30 seconds by default.
    pub idle_timeout: Duration,
    /// Maximum time for a complete response; 5 minutes by default.
    pub timeout: Duration,
    /// Maximum size of a decompressed body, in bytes (`max-filesize-kb`); 10 MiB by default.
    pub max_body_bytes: u64,
}

impl SourceLimits {
    /// Returns the maximum body size as a `usize`.
    pub(super) fn max_length(&self) -> usize {
        usize::try_from(self.max_body_bytes).unwrap_or(usize::MAX)
    }
}

impl Default for SourceLimits {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_mins(2),
            idle_timeout: Duration::from_secs(30),
            timeout: Duration::from_mins(5),
            max_body_bytes: 10 * 1024 * 1024,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(headers: &[(&'static str, &str)]) -> PageResponse {
        let headers = headers.iter().map(|(name, value)| {
            let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
            (HeaderName::from_bytes(name.as_bytes()).unwrap(), value)
        });
        PageResponse::new(200, headers.collect(), Bytes::new())
    }

    #[test]
    fn headers_of_any_case_are_read() {
        let it = response(&[
            ("CONTENT-TYPE", " Text/HTML ; charset=utf-8"),
            ("eTag", "\"1\""),
            ("X-ROBOTS-TAG", "noindex"),
            ("last-modified", "Fri, 01 May 2026 10:00:00 GMT"),
        ]);
        assert_eq!(it.media_type().as_deref(), Some("text/html"));
        assert_eq!(it.conditions().etag.as_deref(), Some("\"1\""));
        assert_eq!(it.x_robots_tags().collect::<Vec<_>>(), ["noindex"]);
        assert!(it.last_modified().is_some());
        assert_eq!(it.expires(), None);
    }

    #[test]
    fn every_x_robots_tag_line_is_returned() {
        let headers = ["noindex", "otherbot: nofollow"].map(|it| {
            let name = HeaderName::from_static("x-robots-tag");
            (name, HeaderValue::from_static(it))
        });
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, value);
        }
        let it = PageResponse::new(200, map, Bytes::new());
        assert_eq!(it.x_robots_tags().count(), 2);
    }

    #[test]
    fn canonical_link_is_found_among_others() {
        for (line, url) in [
            ("<http://h/a>; rel=canonical", Some("http://h/a")),
            (
                "</b,c>; rel=\"next\", </a>; title=\"a, b\"; REL=\"up Canonical\"",
                Some("/a"),
            ),
            ("</a>; rel=next; x=canonical", None),
            ("<>; rel=canonical", None),
            ("<a", None),
            ("canonical", None),
        ] {
            assert_eq!(
                response(&[("link", line)]).canonical().as_deref(),
                url,
                "{line}"
            );
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = httpdate::parse_http_date("Fri, 01 May 2026 10:00:00 GMT").unwrap();
        for (value, seconds) in [
            ("120", Some(120)),
            ("Fri, 01 May 2026 10:01:00 GMT", Some(60)),
            ("Fri, 01 May 2026 09:00:00 GMT", Some(0)),
            ("99999999999999999999999", Some(u64::from(u32::MAX))),
            ("soon", None),
            ("-1", None),
        ] {
            let wait = response(&[("retry-after", value)]).retry_after(now);
            assert_eq!(wait.map(|it| it.as_secs()), seconds, "{value}");
        }
    }

    #[test]
    fn redirect_requires_a_target() {
        let mut it = response(&[("location", "/a")]);
        assert!(!it.is_redirect());
        it.status = 302;
        assert!(it.is_redirect());
        it.headers.clear();
        assert!(!it.is_redirect());
    }
}
