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

/// The maximum number of response bytes that are buffered before they are sent to the client.
const MAX_MADE_BYTES: usize = 32 * 1024;
/// The minimum size of a body piece that is sent separately. A write costs less than a copy, and a
/// slow client then occupies the memory of only one piece. When all pieces were buffered and reads
/// from the upstream were larger, a client occupied 500 KiB instead of 75 KiB.
const MIN_PIECE_BYTES: usize = 16 * 1024;

/// A connection that reports the bytes read and written to [`Activity`].
#[derive(Debug)]
pub(in super::super) struct PlainIo {
    pub(in super::super) stream: Stream,
    activity: Arc<Activity>,
    /// Whether TLS buffers unsent data, so that writes always succeed and only a flush waits.
    flushes: bool,
}

/// The encoded responses that wait to be sent to the client.
#[derive(Debug, Default)]
pub(super) struct Out {
    pub(super) made: Vec<u8>,
    sent: usize,
    /// A large piece of a body; nothing is added while the piece waits to be sent.
    piece: Bytes,
    /// Whether the client has not accepted all of the data yet.
    is_blocked: bool,
}

impl Out {
    /// Returns `true` if the output must be sent before more output is added.
    pub(super) fn is_full(&self) -> bool {
        self.is_blocked || !self.piece.is_empty() || self.made.len() >= MAX_MADE_BYTES
    }

    /// Adds a piece of a body; bytes beyond the body's length are dropped.
    pub(super) fn add(&mut self, framing: &mut Framing, mut piece: impl Buf) {
        let is_large = self.made.is_empty() && piece.remaining() >= MIN_PIECE_BYTES;
        match is_large.then(|| framing.pass_through(&mut piece)).flatten() {
            Some(whole) => self.piece = whole,
            None => framing.append(&mut self.made, piece),
        }
    }

    /// Returns the buffered bytes to be sent next.
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

    /// Reads received bytes; an empty slice means that the connection has ended.
    pub(super) fn poll_read<'r>(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &'r mut [u8],
    ) -> Poll<io::Result<&'r [u8]>> {
        let mut buf = ReadBuf::new(buffer);
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buf))?;
        self.activity.record_read();
        let len = buf.filled().len();
        Poll::Ready(Ok(buffer.get(..len).unwrap_or_default()))
    }

    /// Sends all buffered output to the client.
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
            // On Linux, the end of the stream is sent in the same packet, which saves a packet for
            // a client with a single request, and a system call here.
            if self.activity.is_last_response() {
                self.stream.mark_last_write();
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
            Poll::Ready(_) => self.activity.record_write(),
            Poll::Pending => self.activity.record_blocked_write(),
        }
        polled
    }
}
