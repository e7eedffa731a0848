//! Gathering of the writes on an HTTP/2 connection, which are sent after each poll of the
//! connection.
//!
//! h2 flushes after every frame with a body, so eight responses that are ready at the same time
//! would cost eight TLS records and system calls. If the writes are gathered, they cost one of
//! each.

use std::{
    cell::Cell,
    io::{self, IoSlice},
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use hyper::rt::{Read, ReadBufCursor, Write};
use parking_lot::Mutex;
use pin_project_lite::pin_project;

/// The maximum number of gathered bytes, which is the size of the largest TLS record (RFC 8446
/// §5.1).
const MAX_GATHERED_BYTES: usize = 16 * 1024;

thread_local! {
    /// A spare buffer for the next connection that writes. Unless a client is slow, all data is
    /// sent before another connection is polled.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A connection whose writes wait for [`Gathered::poll`].
///
/// Both holders of the lock belong to the same task, so the lock is never contended.
#[derive(Debug)]
pub(super) struct GatheredIo<I>(Arc<Mutex<Gathering<I>>>);

#[derive(Debug)]
struct Gathering<I> {
    io: I,
    /// The bytes that were written but not sent yet; an idle connection allocates no memory for
    /// them.
    gathered: Vec<u8>,
    /// The number of gathered bytes that have already been sent.
    sent: usize,
    /// A write error that occurred after the bytes were accepted.
    failure: Option<io::Error>,
}

impl<I> GatheredIo<I> {
    fn new(io: I) -> Self {
        Self(Arc::new(Mutex::new(Gathering {
            io,
            gathered: Vec::new(),
            sent: 0,
            failure: None,
        })))
    }
}

impl<I: Write + Unpin> Gathering<I> {
    /// Accepts bytes to be sent later, or sends the bytes directly if there are too many to gather.
    fn poll_take(&mut self, cx: &mut Context<'_>, bufs: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let len = bufs.iter().map(|buf| buf.len()).sum();
        if self.gathered.len() + len > MAX_GATHERED_BYTES {
            ready!(self.poll_send(cx))?;
        }
        if len > MAX_GATHERED_BYTES {
            return Pin::new(&mut self.io).poll_write_vectored(cx, bufs);
        }
        if self.gathered.capacity() == 0 {
            self.gathered = SPARE.take();
            self.gathered.reserve_exact(MAX_GATHERED_BYTES);
        }
        for buf in bufs {
            self.gathered.extend_from_slice(buf);
        }
        Poll::Ready(Ok(len))
    }

    /// Sends the bytes that were gathered from several writes.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(rest @ [_, ..]) = self.gathered.get(self.sent..) {
            match ready!(Pin::new(&mut self.io).poll_write(cx, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                sent => self.sent += sent,
            }
        }
        if self.gathered.capacity() > 0 {
            self.gathered.clear();
            SPARE.set(mem::take(&mut self.gathered));
        }
        self.sent = 0;
        Pin::new(&mut self.io).poll_flush(cx)
    }
}

impl<I: Read + Unpin> Read for GatheredIo<I> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0.lock().io).poll_read(cx, buf)
    }
}

impl<I: Write + Unpin> Write for GatheredIo<I> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.lock().poll_take(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.0.lock().poll_take(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.lock().io.is_write_vectored()
    }

    /// Returns only the last error; [`Gathered::poll`] sends the bytes.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.0.lock().failure.take().map_or(Ok(()), Err))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut gathering = self.0.lock();
        ready!(gathering.poll_send(cx))?;
        Pin::new(&mut gathering.io).poll_shutdown(cx)
    }
}

pin_project! {
    /// The future of a connection that sends the gathered bytes after each poll.
    pub(super) struct Gathered<C, I> {
        #[pin]
        connection: C,
        io: GatheredIo<I>,
    }
}

impl<C, I> Gathered<C, I> {
    pub(super) fn new(io: I, connection: impl FnOnce(GatheredIo<I>) -> C) -> Self {
        let io = GatheredIo::new(io);
        Self {
            connection: connection(GatheredIo(Arc::clone(&io.0))),
            io,
        }
    }

    /// Calls a function with the connection, for example to shut the connection down.
    pub(super) fn update(self: Pin<&mut Self>, change: impl FnOnce(Pin<&mut C>)) {
        change(self.project().connection);
    }
}

impl<C: Future, I: Write + Unpin> Future for Gathered<C, I> {
    type Output = C::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<C::Output> {
        let this = self.project();
        let polled = this.connection.poll(cx);
        if polled.is_pending() {
            let mut gathering = this.io.0.lock();
            if let Poll::Ready(Err(error)) = gathering.poll_send(cx) {
                gathering.failure = Some(error);
                // The connection gets the error at its next flush.
                cx.waker().wake_by_ref();
            }
        }
        polled
    }
}

#[cfg(test)]
mod tests;
