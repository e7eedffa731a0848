//! Heads of answers that have no body: made once, said many times.

use std::sync::OnceLock;

use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};

/// Head of a response that has no body.
///
/// It says nothing of the connection, of the body's length or of the date: these are the
/// server's to say.
#[derive(Debug)]
pub struct ReadyHead {
    status: StatusCode,
    headers: Vec<(HeaderName, HeaderValue)>,
    lines: OnceLock<Vec<u8>>,
}

impl ReadyHead {
    /// Creates it from a final status and from headers.
    #[must_use]
    pub fn new(status: StatusCode, headers: Vec<(HeaderName, HeaderValue)>) -> Self {
        Self {
            status,
            headers,
            lines: OnceLock::new(),
        }
    }

    /// Returns the status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns status line and headers as HTTP/1.1 writes them.
    pub fn lines(&self) -> &[u8] {
        self.lines.get_or_init(|| {
            // The placeholder is hyper's, so that both ways of writing give the same line.
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

    /// Makes a response; its headers take over the memory of `room`.
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
