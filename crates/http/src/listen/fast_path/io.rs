use std::{
    io::{self, ErrorKind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};

use super::{
    super::{idle::Activity, stream::Stream},
    encode::Framing,
};

/// Bytes of responses that are gathered before they are sent.
const MAX_MADE_BYTES: usize = 32 * 1024;
/// Smallest piece of a body that is sent by itself: a write costs less than the copy, and a
/// slow client holds one piece. With all pieces gathered, and larger reads
/// from the upstream, it held 500 KiB; now 75.
const MIN_PIECE_BYTES: usize = 16 * 1024;

/// Connection that reports to [`Activity`] when bytes move.
#[derive(Debug)]
pub(in super::super) struct PlainIo {
    pub(in super::super) stream: Stream,
    activity: Arc<Activity>,
    /// TLS buffers what the client does not take: writes succeed, only a flush waits.
    flushes: bool,
}

/// Encoded responses on their way to the client.
#[derive(Debug, Default)]
pub(super) struct Out {
    pub(super) made: Vec<u8>,
    sent: usize,
    /// A large piece of a body; nothing is added while it waits.
    piece: Bytes,
    /// The client has not taken it.
    is_blocked: bool,
}

impl Out {
    /// Returns `true` if it is to be sent before more is added.
    pub(super) fn is_full(&self) -> bool {
        self.is_blocked || !self.piece.is_empty() || self.made.len() >= MAX_MADE_BYTES
    }

    /// Adds a piece of a body; what is beyond its length is left out.
    pub(super) fn add(&mut self, framing: &mut Framing, mut piece: impl Buf) {
        let is_large = self.made.is_empty() && piece.remaining() >= MIN_PIECE_BYTES;
        match is_large.then(|| framing.whole(&mut piece)).flatten() {
            Some(whole) => self.piece = whole,
            None => framing.append(&mut self.made, piece),
        }
    }

    /// Returns what is sent next.
    fn rest(&self) -> &[u8] {
        match self.made.get(self.sent..) {
            Some(made @ [_, ..]) => made,
            _ => &self.piece,
        }
    }

    fn took(&mut self, len: usize) {
        if self.sent < self.made.len() {
            self.sent += len;
        } else {
            self.piece.advance(len);
        }
    }
}

impl PlainIo {
    pub(in super::super) fn new(stream: Stream, activity: Arc<Activity>) -> Self {
        Self {
            flushes: stream.is_tls(),
            stream,
            activity,
        }
    }

    pub(super) fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Reads what has arrived; an empty slice is the end.
    pub(super) fn poll_read<'r>(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &'r mut [u8],
    ) -> Poll<io::Result<&'r [u8]>> {
        let mut buf = ReadBuf::new(buffer);
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buf))?;
        self.activity.read();
        let len = buf.filled().len();
        Poll::Ready(Ok(buffer.get(..len).unwrap_or_default()))
    }

    /// Sends everything.
    pub(super) fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut Out,
    ) -> Poll<io::Result<()>> {
        let polled = self.poll_rest(cx, out);
        out.is_blocked = polled.is_pending();
        if polled.is_ready() {
            out.made.clear();
            out.sent = 0;
        }
        polled
    }

    fn poll_rest(&mut self, cx: &mut Context<'_>, out: &mut Out) -> Poll<io::Result<()>> {
        while let rest @ [_, ..] = out.rest() {
            // With the end of the stream in the same packet (Linux), which saves a
            // client that sends one request a packet and us a system call.
            if self.activity.is_answer_last() {
                self.stream.end_with_write();
            }
            let polled = Pin::new(&mut self.stream).poll_write(cx, rest);
            match ready!(self.told(polled))? {
                0 => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                len => out.took(len),
            }
        }
        if self.flushes {
            let polled = Pin::new(&mut self.stream).poll_flush(cx);
            return self.told(polled);
        }
        Poll::Ready(Ok(()))
    }

    pub(super) fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn told<T>(&self, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        match polled {
            Poll::Ready(_) => self.activity.wrote(),
            Poll::Pending => self.activity.write_blocked(),
        }
        polled
    }
}
