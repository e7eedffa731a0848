//! What a connection says of its requests before hyper sees them.

use std::{
    borrow::Cow,
    io::{self, ErrorKind, IoSlice},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
};

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{
    framing::RequestFraming, idle::Activity, listener::ListenSettings, stream::read_again,
};

/// What hyper does not hand over of the heads of one HTTP/1 connection.
#[derive(Debug, Default)]
pub(super) struct HeadFlags {
    /// Some line was beyond the limit.
    is_long: AtomicBool,
    /// The connection carries no requests any more.
    is_over: AtomicBool,
    /// Number of the request whose head does not say clearly where its body ends; zero for none.
    unclear: AtomicU32,
}

/// Connection whose requests are followed as they are read.
#[derive(Debug)]
pub(super) struct TappedStream<S> {
    stream: S,
    /// What has been read of the stream before, and is read again.
    unread: BytesMut,
    /// What has been followed, and is read next.
    followed: BytesMut,
    /// None: nothing is followed.
    tap: Option<HeadTap>,
}

#[derive(Debug)]
struct HeadTap {
    activity: Arc<Activity>,
    framing: RequestFraming,
    /// Requests that had been taken up before.
    earlier: u32,
    max_line_bytes: usize,
}

impl HeadFlags {
    /// Returns `true` if a line may be beyond the limit.
    pub(super) fn is_long(&self) -> bool {
        self.is_long.load(Relaxed)
    }

    /// Follows nothing from now on: the connection becomes a tunnel.
    pub(super) fn end(&self) {
        self.is_over.store(true, Relaxed);
    }

    /// Returns `true` if the request of this number has a `Content-Length` beside its chunks, or
    /// a wrong one (RFC 9112 §6.1): somebody else may read another request than we do.
    pub(super) fn is_unclear(&self, number: u32) -> bool {
        self.unclear.load(Relaxed) == number
    }
}

impl<S> TappedStream<S> {
    /// Wraps a connection of which `unread` has been read; without an `activity` nothing is followed.
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
            tap: activity.map(|activity| HeadTap {
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

impl HeadTap {
    /// Returns what may be read on of what was read.
    fn follow<'b>(&mut self, bytes: &'b [u8]) -> io::Result<Cow<'b, [u8]>> {
        let Activity {
            head_flags: heads, ..
        } = &*self.activity;
        if heads.is_over.load(Relaxed) || bytes.is_empty() {
            return Ok(Cow::Borrowed(bytes));
        }
        let number = |heads| self.earlier.wrapping_add(heads);
        let is_answered = !self.activity.is_serving();
        if is_answered && self.activity.requests() == number(self.framing.heads()) {
            self.framing.reset_switch();
        }
        let followed = self.framing.follow(bytes);
        if self.framing.longest_line() > self.max_line_bytes {
            heads.is_long.store(true, Relaxed);
        }
        if self.framing.is_unclear() {
            heads.unclear.store(number(self.framing.heads()), Relaxed);
        }
        if followed.is_empty() {
            return Err(wrong());
        }
        Ok(followed)
    }

    /// Returns `true` if nothing more is to be read.
    fn is_over(&self) -> bool {
        self.framing.is_over() && !self.activity.head_flags.is_over.load(Relaxed)
    }
}

#[cold]
fn wrong() -> io::Error {
    let wrong = "what the client sent does not say clearly where its request ends";
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
            read_again(&mut this.followed, buf);
            return Poll::Ready(Ok(()));
        }
        if this.tap.as_ref().is_some_and(HeadTap::is_over) {
            return Poll::Ready(Err(wrong()));
        }
        let before = buf.filled().len();
        if this.unread.is_empty() {
            ready!(Pin::new(&mut this.stream).poll_read(cx, buf))?;
        } else {
            read_again(&mut this.unread, buf);
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
            Cow::Owned(followed) => {
                buf.set_filled(before);
                this.followed.extend_from_slice(&followed);
                read_again(&mut this.followed, buf);
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
