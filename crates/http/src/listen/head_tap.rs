//! Checking of the request heads on an HTTP/1 connection before hyper reads them.

use std::{
    borrow::Cow,
    io::{self, ErrorKind, IoSlice},
    pin::Pin,
    sync::{Arc, atomic::Ordering::Relaxed},
    task::{Context, Poll, ready},
};

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{
    framing::RequestFraming, idle::Activity, settings::ListenSettings, stream::read_put_back,
};

/// A stream whose requests are checked while they are read.
#[derive(Debug)]
pub(super) struct TappedStream<S> {
    stream: S,
    /// The bytes that were already read from the stream and are to be read again.
    unread: BytesMut,
    /// The checked bytes that did not fit into the last read and are to be read next.
    followed: BytesMut,
    /// The scanner that checks the heads; `None` if nothing is checked.
    tap: Option<HeadScanner>,
}

#[derive(Debug)]
struct HeadScanner {
    activity: Arc<Activity>,
    framing: RequestFraming,
    /// The number of requests served earlier on the connection.
    earlier: u32,
    max_line_bytes: usize,
}

impl<S> TappedStream<S> {
    /// Wraps a connection; `unread` contains the bytes already read. If `activity` is `None`,
    /// nothing is checked.
    pub(super) fn new(
        stream: S,
        unread: BytesMut,
        activity: Option<Arc<Activity>>,
        settings: &ListenSettings,
    ) -> Self {
        Self {
            stream,
            unread,
            followed: BytesMut::new(),
            tap: activity.map(|activity| HeadScanner {
                earlier: activity.requests(),
                activity,
                framing: RequestFraming::default(),
                max_line_bytes: settings.max_header_line_bytes,
            }),
        }
    }

    pub(super) fn inner(&self) -> &S {
        &self.stream
    }

    pub(super) fn inner_mut(&mut self) -> &mut S {
        &mut self.stream
    }
}

impl HeadScanner {
    /// Checks the bytes read, and returns the bytes that hyper may see.
    fn follow<'b>(&mut self, bytes: &'b [u8]) -> io::Result<Cow<'b, [u8]>> {
        let Activity {
            head_flags: heads, ..
        } = &*self.activity;
        if heads.is_over.load(Relaxed) || bytes.is_empty() {
            return Ok(Cow::Borrowed(bytes));
        }
        let number = |heads| self.earlier.wrapping_add(heads);
        // If a request to switch protocols gets a response other than 101, more requests follow it
        // (RFC 9110 §7.8).
        let is_answered = !self.activity.is_serving();
        if is_answered && self.activity.requests() == number(self.framing.heads()) {
            self.framing.reset_switch();
        }
        let followed = self.framing.follow(bytes);
        if self.framing.longest_line() > self.max_line_bytes {
            heads.is_long.store(true, Relaxed);
        }
        if self.framing.is_ambiguous() {
            heads.unclear.store(number(self.framing.heads()), Relaxed);
        }
        // Other servers may parse these bytes as a request, so the connection ends (RFC 9112
        // §11.2).
        if followed.is_empty() {
            return Err(wrong());
        }
        Ok(followed)
    }

    /// Returns `true` if no more bytes of the stream may be read.
    fn is_over(&self) -> bool {
        self.framing.has_ended() && !self.activity.head_flags.is_over.load(Relaxed)
    }
}

#[cold]
fn wrong() -> io::Error {
    let wrong = "the end of the client's request is ambiguous";
    io::Error::new(ErrorKind::InvalidData, wrong)
}

impl<S: AsyncRead + Unpin> AsyncRead for TappedStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.followed.is_empty() {
            read_put_back(&mut this.followed, buf);
            return Poll::Ready(Ok(()));
        }
        if this.tap.as_ref().is_some_and(HeadScanner::is_over) {
            return Poll::Ready(Err(wrong()));
        }
        let before = buf.filled().len();
        if this.unread.is_empty() {
            ready!(Pin::new(&mut this.stream).poll_read(cx, buf))?;
        } else {
            read_put_back(&mut this.unread, buf);
        }
        let Some(tap) = &mut this.tap else {
            return Poll::Ready(Ok(()));
        };
        let read = buf.filled().get(before..).unwrap_or_default();
        match tap.follow(read)? {
            Cow::Borrowed(followed) => {
                let len = followed.len();
                buf.set_filled(before + len);
            }
            // Percent-encoding makes a target up to three times as long, so the target may not fit
            // into `buf`.
            Cow::Owned(followed) => {
                buf.set_filled(before);
                this.followed.extend_from_slice(&followed);
                read_put_back(&mut this.followed, buf);
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TappedStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
