//! Heads and bodies of the layer's responses; each head is created once and reused.

use std::{
    mem,
    sync::{Arc, OnceLock},
    time::Duration,
};

use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION, RETRY_AFTER, VARY, WWW_AUTHENTICATE},
};

use crate::policy::{
    Action, Answer, Breach, CountedViolation, RateLimiter, Redirect, Refuse, ResponseHeaders,
};

/// The `Retry-After` value for refused robots, sent with statuses that ask clients to retry later.
const REFUSED_FOR: Duration = Duration::from_secs(24 * 60 * 60);

/// A response head without a body.
///
/// The head contains no headers about the connection, the length of the body, or the date; the
/// server sets these headers.
#[derive(Debug)]
pub struct ReadyHead {
    status: StatusCode,
    headers: Vec<(HeaderName, HeaderValue)>,
    lines: OnceLock<Vec<u8>>,
}

/// A response head and the text of the body.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) head: Arc<ReadyHead>,
    text: String,
}

/// Creates the bodies of the layer's own responses from their texts.
///
/// [`FromText`] covers all bodies that can be created from a `String`, such as the bodies of axum
/// and http-body-util. For other bodies, pass a function `Fn(String) -> Body` to
/// [`RobotDetectionLayer::refusal_body`](super::RobotDetectionLayer::refusal_body).
#[diagnostic::on_unimplemented(
    message = "the layer cannot create the body `{R}` from the text of a refusal",
    label = "no function creates `{R}` from a `String`",
    note = "pass a function to `RobotDetectionLayer::refusal_body`, or use a body that is `From<String>` and `Default`"
)]
pub trait RefusalBody<R> {
    /// Returns a body that contains the text.
    fn body(&self, text: String) -> R;

    /// Returns an empty body.
    fn empty(&self) -> R {
        self.body(String::new())
    }
}

/// Creates bodies that implement [`From<String>`].
#[derive(Clone, Copy, Debug, Default)]
pub struct FromText;

impl<R: From<String> + Default> RefusalBody<R> for FromText {
    fn body(&self, text: String) -> R {
        R::from(text)
    }

    fn empty(&self) -> R {
        R::default()
    }
}

impl<R, F: Fn(String) -> R> RefusalBody<R> for F {
    fn body(&self, text: String) -> R {
        self(text)
    }
}

/// A response created by one of the stages.
#[derive(Debug)]
pub(super) struct StageAnswer {
    pub(super) head: Head,
    pub(super) action: Action,
    /// The short name of the cause, if neither the policy nor a rule decided.
    pub(super) cause: Option<&'static str>,
}

impl ReadyHead {
    /// Creates a head from the final status and headers.
    #[must_use]
    pub fn new(status: StatusCode, headers: Vec<(HeaderName, HeaderValue)>) -> Self {
        Self {
            status,
            headers,
            lines: OnceLock::new(),
        }
    }

    /// Returns the status code.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns the status line and the headers in HTTP/1.1 format.
    pub fn lines(&self) -> &[u8] {
        self.lines.get_or_init(|| {
            // Use hyper's placeholder, so that both implementations write the same line.
            let reason = self.status.canonical_reason().unwrap_or("<none>");
            let line = format!("HTTP/1.1 {} {reason}\r\n", self.status.as_str());
            let mut lines = line.into_bytes();
            for (name, value) in &self.headers {
                let (name, value) = (name.as_str().as_bytes(), value.as_bytes());
                lines.extend([name, b": ", value, b"\r\n"].concat());
            }
            lines
        })
    }

    /// Returns the first value of a header.
    pub fn header(&self, name: &HeaderName) -> Option<&HeaderValue> {
        let mut headers = self.headers.iter();
        headers
            .find(|header| header.0 == *name)
            .map(|header| &header.1)
    }

    /// Creates a response that reuses the memory of the header map `room`.
    pub fn response<B>(&self, body: B, room: HeaderMap) -> Response<B> {
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        *headers = room;
        headers.clear();
        for (name, value) in &self.headers {
            headers.append(name, value.clone());
        }
        response
    }
}

impl Head {
    pub(super) fn redirect(redirect: &Redirect, given: Option<&ResponseHeaders>) -> Option<Self> {
        let location = HeaderValue::try_from(&redirect.location).ok()?;
        let status = StatusCode::from_u16(redirect.status).ok()?;
        let headers = with(uncached((LOCATION, location)), given);
        Some(Self::new(status, headers, String::new()))
    }

    /// Creates a permanent redirect.
    pub(super) fn permanent_redirect(to: HeaderValue) -> Self {
        let headers = uncached((LOCATION, to));
        Self::new(StatusCode::MOVED_PERMANENTLY, headers, String::new())
    }

    pub(super) fn refuse(refuse: &Refuse, given: Option<&ResponseHeaders>) -> Self {
        let status = StatusCode::from_u16(refuse.status).unwrap_or(StatusCode::FORBIDDEN);
        let mut headers = uncached(plain_text());
        match status {
            // RFC 9110 §15.5.2: a 401 response must specify a scheme.
            StatusCode::UNAUTHORIZED => {
                let challenge = HeaderValue::from_static("Basic realm=\"not for robots\"");
                headers.push((WWW_AUTHENTICATE, challenge));
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                headers.push((RETRY_AFTER, seconds(REFUSED_FOR)));
            }
            _ => {}
        }
        Self::new(status, with(headers, given), refuse.text.clone())
    }

    /// Creates the response that states the violated rule of robots.txt, in visible characters
    /// only.
    pub(super) fn violation(outcome: &CountedViolation) -> Self {
        let status = match outcome.answer {
            Answer::TooManyRequests { .. } => StatusCode::TOO_MANY_REQUESTS,
            _ => StatusCode::FORBIDDEN,
        };
        let breach = &outcome.breach;
        let text = match breach {
            Breach::Disallowed { is_about_usage, .. } if *is_about_usage => {
                format!("This page must not be used for AI training: {breach}.\n")
            }
            _ => format!("This robot does not obey /robots.txt: {breach}.\n"),
        };
        Self::text(status, text)
    }

    pub(super) fn forbidden() -> Self {
        Self::text(StatusCode::FORBIDDEN, "")
    }

    /// Creates the head of a plain-text response.
    pub(super) fn text(status: StatusCode, text: impl Into<String>) -> Self {
        Self::new(status, uncached(plain_text()), text.into())
    }

    /// Creates the head of a 429 response to a request that may be retried later.
    pub(super) fn retry_later(text: &str, wait: Duration) -> Self {
        let mut headers = uncached(plain_text());
        headers.push((RETRY_AFTER, seconds(wait)));
        Self::new(StatusCode::TOO_MANY_REQUESTS, headers, text.to_owned())
    }

    /// Creates the response to a robot that exceeds the rate limit of a rule.
    pub(super) fn rate_limited(limiter: &RateLimiter, given: Option<&ResponseHeaders>) -> Self {
        let headers = with(uncached(plain_text()), given);
        Self::new(StatusCode::TOO_MANY_REQUESTS, headers, limiter.text())
    }

    fn new(status: StatusCode, headers: Vec<(HeaderName, HeaderValue)>, text: String) -> Self {
        let head = Arc::new(ReadyHead::new(status, headers));
        Self { head, text }
    }

    /// Returns the response to a request; it has no body if the method is HEAD.
    pub(super) fn response<B, R>(
        &self,
        request: &mut Request<B>,
        bodies: &impl RefusalBody<R>,
    ) -> Response<R> {
        let body = if self.text.is_empty() || request.method() == Method::HEAD {
            bodies.empty()
        } else {
            bodies.body(self.text.clone())
        };
        self.head.response(body, mem::take(request.headers_mut()))
    }

    /// Returns `true` if the response has no body.
    pub(super) fn has_no_body(&self) -> bool {
        self.text.is_empty()
    }
}

impl StageAnswer {
    pub(super) fn new(action: Action, head: Head) -> Self {
        Self {
            head,
            action,
            cause: None,
        }
    }
}

/// Returns a duration in seconds, rounded up.
pub(super) fn seconds(wait: Duration) -> HeaderValue {
    // With `Retry-After: 0` a robot would retry immediately.
    let seconds = wait.as_micros().div_ceil(1_000_000).max(1);
    HeaderValue::from(u64::try_from(seconds).unwrap_or(u64::MAX))
}

fn plain_text() -> (HeaderName, HeaderValue) {
    let value = HeaderValue::from_static("text/plain; charset=utf-8");
    (CONTENT_TYPE, value)
}

/// Adds the headers that a rule sets, replacing existing headers with the same names.
fn with(
    mut headers: Vec<(HeaderName, HeaderValue)>,
    given: Option<&ResponseHeaders>,
) -> Vec<(HeaderName, HeaderValue)> {
    if let Some(given) = given {
        headers.retain(|(name, _)| !given.has(name));
        let lines = given.iter();
        headers.extend(lines.map(|(name, value)| (name.clone(), value.clone())));
    }
    headers
}

fn uncached(first: (HeaderName, HeaderValue)) -> Vec<(HeaderName, HeaderValue)> {
    // No cache may serve a robot's response to a human visitor.
    vec![
        first,
        (VARY, HeaderValue::from_static("User-Agent")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ]
}
