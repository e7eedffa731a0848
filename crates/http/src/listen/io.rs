use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;

use super::{
    connection_permit::ConnectionPermit, head_tap::TappedStream, idle::Activity, stream::Stream,
};

/// Connection that reports when bytes move, and holds its permit.
///
/// It lives as long as the connection is used: after an upgrade the tunnel owns it.
#[derive(Debug)]
pub(super) struct ConnectionIo {
    stream: TokioIo<TappedStream<Stream>>,
    activity: Arc<Activity>,
    /// TLS buffers what the client does not take: writes succeed, only a flush waits.
    flushes: bool,
    _permit: ConnectionPermit,
}

impl ConnectionIo {
    pub(super) fn new(
        stream: TappedStream<Stream>,
        activity: Arc<Activity>,
        permit: ConnectionPermit,
    ) -> Self {
        Self {
            flushes: stream.inner().is_tls(),
            stream: TokioIo::new(stream),
            activity,
            _permit: permit,
        }
    }

    fn written<T>(&self, result: &Poll<io::Result<T>>) {
        match result {
            Poll::Ready(_) => self.activity.wrote(),
            Poll::Pending => self.activity.write_blocked(),
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
        self.activity.read();
        Poll::Ready(Ok(()))
    }
}

impl Write for ConnectionIo {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.activity.is_answer_last() {
            self.stream.inner_mut().inner_mut().end_with_write();
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
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
