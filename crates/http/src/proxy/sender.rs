//! Connections that requests are sent over.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use hyper::client::conn::http2;

use super::{body::RequestBody, head_copy::HeadCopy, http1::Connection};

/// Streams of one HTTP/2 connection, if the server does not allow fewer.
const MAX_STREAMS: usize = 128;

/// Connection, or stream of one, that a request is sent over.
#[derive(Debug)]
pub(super) enum Sender {
    Http1(Box<Connection>),
    Http2(Box<Http2Stream>),
}

/// Stream of an HTTP/2 connection.
pub(super) struct Http2Stream {
    pub(super) sender: http2::SendRequest<RequestBody>,
    pub(super) is_tls: bool,
    streams: Arc<Streams>,
    pub(super) copy: HeadCopy,
}

/// Number of an HTTP/2 connection's streams, and its limit.
#[derive(Debug)]
pub(super) struct Streams {
    open: AtomicUsize,
    max: AtomicUsize,
}

/// HTTP/2 connection that requests share.
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

    /// Takes a stream for one request.
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

    pub(super) fn open(&self) -> usize {
        self.streams.open.load(Ordering::Relaxed)
    }

    /// Returns `true` if a request need not wait for another one to end.
    pub(super) fn has_room(&self) -> bool {
        self.open() < self.streams.max.load(Ordering::Relaxed)
    }
}

impl Streams {
    /// Adopts the limit of the server.
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
