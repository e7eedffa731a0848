use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, ReadBuf};

use super::{
    connection_permit::ConnectionPermit, head_tap::TappedStream, idle::Activity, stream::Stream,
};

/// The maximum number of bytes read after a refusal, which is the amount that a Go server accepts
/// in one head.
const MAX_LINGERING_BYTES: usize = 1024 * 1024;

/// A connection that reports the bytes read and written, and holds the connection's permit.
///
/// The permit is held as long as the connection is used; after an upgrade, the tunnel owns the
/// permit.
#[derive(Debug)]
pub(super) struct ConnectionIo {
    stream: TokioIo<TappedStream<Stream>>,
    activity: Arc<Activity>,
    refusal_line: Option<&'static str>,
    /// The number of bytes to read and discard after a refusal or an early response, so that a
    /// client that is still sending receives the response instead of a connection reset.
    lingering: usize,
    /// Whether TLS buffers unsent data, so that writes always succeed and only a flush waits.
    flushes: bool,
    _permit: ConnectionPermit,
}

impl ConnectionIo {
    pub(super) fn new(
        stream: TappedStream<Stream>,
        activity: Arc<Activity>,
        permit: ConnectionPermit,
        refusal_line: Option<&'static str>,
    ) -> Self {
        Self {
            refusal_line,
            lingering: 0,
            flushes: stream.inner().is_tls(),
            stream: TokioIo::new(stream),
            activity,
            _permit: permit,
        }
    }

    /// Returns a response with the refusal line added if it is a refusal by the listener itself.
    fn refusal(&self, answer: &[u8]) -> Option<Vec<u8>> {
        let line = self.refusal_line?;
        let name = line.split(':').next()?;
        let is_refusal = answer.starts_with(b"HTTP/1.1 4")
            && memchr::memmem::find(answer, name.as_bytes()).is_none();
        let at = memchr::memchr(b'\n', answer).filter(|_| is_refusal)? + 1;
        let (status, rest) = answer.split_at_checked(at)?;
        Some([status, line.as_bytes(), rest].concat())
    }

    fn written<T>(&self, result: &Poll<io::Result<T>>) {
        match result {
            Poll::Ready(_) => self.activity.record_write(),
            Poll::Pending => self.activity.record_blocked_write(),
        }
    }
}

impl Read for ConnectionIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        self.activity.record_read();
        Poll::Ready(Ok(()))
    }
}

impl Write for ConnectionIo {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.activity.is_last_response() {
            self.stream.inner_mut().inner_mut().mark_last_write();
        }
        if let Some(refusal) = self.refusal(buf) {
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, &refusal))?;
            self.activity.record_write();
            self.lingering = MAX_LINGERING_BYTES;
            // If a client does not accept even a few hundred bytes, the connection ends.
            let is_whole = written == refusal.len();
            let cut = io::ErrorKind::WriteZero;
            return Poll::Ready(is_whole.then_some(buf.len()).ok_or(cut.into()));
        }
        let result = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.written(&result);
        result
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.written(&result);
        result
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_flush(cx);
        if self.flushes {
            self.written(&result);
        }
        result
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
        if self.activity.take_early_response() {
            self.lingering = MAX_LINGERING_BYTES;
        }
        let mut dropped = [0; 4_096];
        while self.lingering > 0 {
            let mut dropped = ReadBuf::new(&mut dropped);
            let stream = self.stream.inner_mut().inner_mut();
            // The connection is over, so an error is treated like a regular end.
            let read = ready!(AsyncRead::poll_read(Pin::new(stream), cx, &mut dropped));
            let len = dropped.filled().len();
            self.lingering = match read {
                Ok(()) if len > 0 => self.lingering.saturating_sub(len),
                Ok(()) | Err(_) => 0,
            };
        }
        Poll::Ready(Ok(()))
    }
}
