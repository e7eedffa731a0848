use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, sync::OwnedSemaphorePermit};

use super::idle::Activity;

/// Connection that tells when bytes move, and holds its place under the limit.
///
/// It lives as long as anything is done with the connection: after an upgrade
/// the tunnel owns it.
#[derive(Debug)]
pub(super) struct ConnectionIo {
    stream: TokioIo<TcpStream>,
    /// What was read to tell the protocol.
    read_ahead: Bytes,
    activity: Arc<Activity>,
    _place: OwnedSemaphorePermit,
}

impl ConnectionIo {
    pub(super) fn new(
        stream: TcpStream,
        read_ahead: Bytes,
        activity: Arc<Activity>,
        place: OwnedSemaphorePermit,
    ) -> Self {
        Self {
            stream: TokioIo::new(stream),
            read_ahead,
            activity,
            _place: place,
        }
    }

    fn written(&self, result: &Poll<io::Result<usize>>) {
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
        mut buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if self.read_ahead.is_empty() {
            ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        } else {
            let len = self.read_ahead.len().min(buf.remaining());
            buf.put_slice(self.read_ahead.get(..len).unwrap_or_default());
            self.read_ahead.advance(len);
        }
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
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
