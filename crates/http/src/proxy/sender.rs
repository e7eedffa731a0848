//! Connections and streams over which requests are sent.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version};
use http_body_util::Empty;
use hyper::client::conn::http2;

use super::{body::RequestBody, http1::Connection};

/// The maximum number of streams on one HTTP/2 connection, if the server does not set a lower
/// limit.
const MAX_STREAMS: usize = 128;

/// A connection or stream over which a request is sent.
#[derive(Debug)]
pub(super) enum Sender {
    Http1(Box<Connection>),
    Http2(Box<Http2Stream>),
}

/// A stream on an HTTP/2 connection.
pub(super) struct Http2Stream {
    pub(super) sender: http2::SendRequest<RequestBody>,
    pub(super) is_tls: bool,
    streams: Arc<Streams>,
    pub(super) copy: HeadCopy,
}

/// The number of streams on an HTTP/2 connection, and the maximum number.
#[derive(Debug)]
pub(super) struct Streams {
    open: AtomicUsize,
    max: AtomicUsize,
}

/// An HTTP/2 connection shared by requests.
pub(super) struct SharedConnection {
    sender: http2::SendRequest<RequestBody>,
    streams: Arc<Streams>,
    is_tls: bool,
}

impl SharedConnection {
    pub(super) fn new(
        sender: http2::SendRequest<RequestBody>,
        streams: Arc<Streams>,
        is_tls: bool,
    ) -> Self {
        Self {
            sender,
            streams,
            is_tls,
        }
    }

    /// Takes a stream on the connection for one request.
    pub(super) fn stream(&self) -> Box<Http2Stream> {
        self.streams.open.fetch_add(1, Ordering::Relaxed);
        Box::new(Http2Stream {
            sender: self.sender.clone(),
            is_tls: self.is_tls,
            streams: Arc::clone(&self.streams),
            copy: HeadCopy::default(),
        })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    pub(super) fn open_streams(&self) -> usize {
        self.streams.open.load(Ordering::Relaxed)
    }

    /// Returns `true` if a stream is available, so that a request does not have to wait.
    pub(super) fn has_room(&self) -> bool {
        self.open_streams() < self.streams.max.load(Ordering::Relaxed)
    }
}

impl Streams {
    /// Sets the maximum number of streams on the connection to the number that the server allows.
    pub(super) fn set_max(&self, max: usize) {
        self.max.store(max.min(MAX_STREAMS), Ordering::Relaxed);
    }
}

impl Default for Streams {
    fn default() -> Self {
        Self {
            open: AtomicUsize::new(0),
            max: AtomicUsize::new(MAX_STREAMS),
        }
    }
}

impl Drop for Http2Stream {
    fn drop(&mut self) {
        self.streams.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for Http2Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http2Stream")
            .field("streams", &self.streams)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for SharedConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("streams", &self.streams)
            .finish_non_exhaustive()
    }
}

/// A copy of the head of a request without a body, in case it has to be sent again.
#[derive(Debug, Default)]
pub(super) struct HeadCopy {
    head: Option<(Method, Uri)>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl HeadCopy {
    /// Copies the head of a request if repeating the request has no further effect (RFC 9110
    /// §9.2.2).
    ///
    /// The bytes are shared with the original request.
    pub(super) fn take(&mut self, request: &Request<RequestBody>) {
        self.head = None;
        self.headers.clear();
        if request.method().is_idempotent() && request.body().is_empty() {
            self.head = Some((request.method().clone(), request.uri().clone()));
            let lines = request.headers().iter();
            self.headers
                .extend(lines.map(|(name, value)| (name.clone(), value.clone())));
        }
    }

    /// Returns a request created from the copied head, if there is one.
    pub(super) fn request(&mut self) -> Option<Request<RequestBody>> {
        let (method, uri) = self.head.take()?;
        let mut request = Request::new(RequestBody::new(Empty::new()));
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.version_mut() = Version::HTTP_11;
        let mut headers = HeaderMap::with_capacity(self.headers.len());
        for (name, value) in self.headers.drain(..) {
            headers.append(name, value);
        }
        *request.headers_mut() = headers;
        Some(request)
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::Full;

    use super::*;

    fn request(method: Method) -> Request<RequestBody> {
        Request::builder()
            .method(method)
            .uri("/a?b")
            .header("host", "a")
            .header("x-a", "1")
            .header("x-a", "2")
            .body(RequestBody::new(Empty::new()))
            .unwrap()
    }

    #[test]
    fn copy_equals_the_request_with_every_line() {
        let mut copy = HeadCopy::default();
        let first = request(Method::GET);
        copy.take(&first);
        let second = copy.request().unwrap();
        assert_eq!(second.headers(), first.headers());
        assert_eq!(second.uri(), first.uri());
        assert!(copy.request().is_none());
    }

    #[test]
    fn unsafe_requests_and_bodies_are_not_kept() {
        let mut copy = HeadCopy::default();
        copy.take(&request(Method::GET));
        copy.take(&request(Method::POST));
        assert!(copy.request().is_none());
        let body = RequestBody::new(Full::new(bytes::Bytes::from_static(b"a")));
        copy.take(&request(Method::PUT).map(|_| body));
        assert!(copy.request().is_none());
    }
}
