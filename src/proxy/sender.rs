//! Connections as requests see them.

use std::{
    fmt,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use hyper::client::conn::{http1, http2};
use tokio::time::{Instant, Sleep, sleep_until};

use super::{body::RequestBody, repeat::HeadCopy};

/// Streams of one HTTP/2 connection, if the server does not allow fewer.
const MAX_STREAMS: usize = 128;

/// Sends requests over one connection.
#[derive(Debug)]
pub(super) enum Sender {
    Http1(Box<Http1>),
    Http2(Box<Http2>),
}

/// A connection for one request after the other.
pub(super) struct Http1 {
    pub(super) sender: http1::SendRequest<RequestBody>,
    /// How often something came from the upstream.
    reads: Arc<AtomicUsize>,
    /// Runs on between requests: to put it off costs less than to make it anew.
    pub(super) timer: Pin<Box<Sleep>>,
    pub(super) copy: HeadCopy,
}

/// A stream of a connection that has several.
pub(super) struct Http2 {
    pub(super) sender: http2::SendRequest<RequestBody>,
    pub(super) is_tls: bool,
    streams: Arc<Streams>,
    pub(super) copy: HeadCopy,
}

/// Streams of an HTTP/2 connection.
#[derive(Debug)]
pub(super) struct Streams {
    open: AtomicUsize,
    max: AtomicUsize,
}

/// An HTTP/2 connection that waits for requests.
pub(super) struct Shared {
    sender: http2::SendRequest<RequestBody>,
    streams: Arc<Streams>,
    is_tls: bool,
}

impl Sender {
    pub(super) fn copy(&mut self) -> &mut HeadCopy {
        match self {
            Self::Http1(http1) => &mut http1.copy,
            Self::Http2(http2) => &mut http2.copy,
        }
    }
}

impl Http1 {
    pub(super) fn new(
        sender: http1::SendRequest<RequestBody>,
        reads: Arc<AtomicUsize>,
        now: Instant,
    ) -> Box<Self> {
        // In one piece: it goes from hand to hand with every request.
        Box::new(Self {
            sender,
            reads,
            timer: Box::pin(sleep_until(now)),
            copy: HeadCopy::default(),
        })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    pub(super) fn is_ready(&self) -> bool {
        self.sender.is_ready()
    }

    pub(super) fn reads(&self) -> usize {
        self.reads.load(Ordering::Acquire)
    }
}

impl Shared {
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

    /// Takes a place for one request.
    pub(super) fn stream(&self) -> Box<Http2> {
        self.streams.open.fetch_add(1, Ordering::Relaxed);
        Box::new(Http2 {
            sender: self.sender.clone(),
            is_tls: self.is_tls,
            streams: Arc::clone(&self.streams),
            copy: HeadCopy::default(),
        })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    pub(super) fn open(&self) -> usize {
        self.streams.open.load(Ordering::Relaxed)
    }

    /// Tells whether a request need not wait for another to end.
    pub(super) fn has_room(&self) -> bool {
        self.open() < self.streams.max.load(Ordering::Relaxed)
    }
}

impl Streams {
    /// Takes over what the server allows.
    pub(super) fn allow(&self, max: usize) {
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

impl Drop for Http2 {
    fn drop(&mut self) {
        self.streams.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for Http1 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http1").finish_non_exhaustive()
    }
}

impl fmt::Debug for Http2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http2")
            .field("streams", &self.streams)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("streams", &self.streams)
            .finish_non_exhaustive()
    }
}
