use std::{
    fmt, io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use tokio::{
    io::{AsyncWrite, WriteHalf},
    time::{Instant, Sleep, sleep_until},
};
use tokio_util::io::poll_read_buf;

use super::{
    line_cache::LineCache,
    stream::{Rewind, Stream},
};

/// The size of one read from the upstream; a small response needs only one read.
const READ_BYTES: usize = 8 * 1024;
/// The maximum size of one read from a large response, which is also the amount that the proxy
/// buffers for a slow client.
///
/// This size fits into one packet of the loopback interface, 65,483 bytes. If the client or a front
/// proxy is on the same machine, 64 KiB would require an eighth more packets and take 1.5 to 2
/// times as long.
const MAX_READ_BYTES: usize = 63 * 1024;
/// The maximum capacity of the output buffer that a connection keeps while it waits for a request.
const KEPT_BYTES: usize = 16 * 1024;

/// An upstream connection that carries one request after another (RFC 9112 §9.3).
pub(in super::super) struct Connection {
    stream: Stream,
    /// The bytes that were read but not parsed yet.
    pub(super) input: BytesMut,
    read_bytes: usize,
    pub(super) output: Output,
    /// The cache of header lines; if `None`, the head of each response is parsed.
    pub(super) known: Option<LineCache>,
    /// The connection's timer, which keeps running between requests, because postponing a timer
    /// costs less than creating one.
    timer: Pin<Box<Sleep>>,
    /// The end of the current wait; if the timer fires earlier, it is reset.
    deadline: Instant,
    /// The last time that a request began or a body ended on this connection.
    pub(in super::super) used: Instant,
}

/// The bytes to send, and the number of bytes already sent.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) bytes: Vec<u8>,
    written: usize,
}

impl Connection {
    pub(in super::super) fn new(stream: Stream, now: Instant, has_line_cache: bool) -> Self {
        Self {
            stream,
            input: BytesMut::new(),
            read_bytes: READ_BYTES,
            output: Output::default(),
            known: has_line_cache.then(LineCache::default),
            timer: Box::pin(sleep_until(now)),
            deadline: now,
            used: now,
        }
    }

    /// Returns `true` if a request can be sent over this connection.
    ///
    /// Bytes received without a request are not a response to the next request (RFC 9112 §9.2), and
    /// the end of the stream means that the server has closed the connection.
    pub(in super::super) fn is_ready(&mut self) -> bool {
        self.input.is_empty() && !self.stream.is_readable()
    }

    /// Frees large buffers before the connection becomes idle.
    pub(in super::super) fn release_buffers(&mut self) {
        if self.read_bytes > READ_BYTES {
            self.read_bytes = READ_BYTES;
            self.input = BytesMut::new();
        }
        if self.output.bytes.capacity() > KEPT_BYTES {
            self.output.bytes = Vec::new();
        }
    }

    /// Returns the bare stream, after a 101 response (RFC 9110 §15.2.2).
    pub(in super::super) fn into_stream(self) -> Rewind {
        Rewind {
            first: Bytes::from(self.input),
            stream: self.stream,
        }
    }

    /// Splits the connection, so that another task can send the rest of the request.
    pub(super) fn split(self) -> (Self, Output, WriteHalf<Box<Stream>>) {
        let (read, write) = self.stream.split();
        let connection = Self {
            stream: read,
            output: Output::default(),
            ..self
        };
        (connection, self.output, write)
    }

    /// Writes the output; ready when the operating system has accepted all bytes.
    pub(super) fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.output.poll_write(Pin::new(&mut self.stream), cx)
    }

    /// Returns `true` if the system has accepted a byte since the output was last empty.
    pub(super) fn has_begun(&self) -> bool {
        self.output.written > 0
    }

    /// Reads more input; 0 means the end of the connection.
    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let free = self.input.capacity() - self.input.len();
        if free < self.read_bytes / 2 {
            self.input.reserve(self.read_bytes);
        }
        let room = self.input.capacity() - self.input.len();
        let len = ready!(poll_read_buf(
            Pin::new(&mut self.stream),
            cx,
            &mut self.input
        ))?;
        // The read filled the buffer: the response is large, and a larger read saves system calls.
        if len == room {
            self.read_bytes = (self.read_bytes * 2).min(MAX_READ_BYTES);
        }
        Poll::Ready(Ok(len))
    }

    /// Starts the timer for the next wait on this connection.
    pub(super) fn start_timer(&mut self, now: Instant, timeout: Duration) {
        self.used = now;
        self.deadline = now + timeout;
        let ends = self.timer.deadline();
        // Only a timer that fires too late or has already fired is reset, so this usually costs one
        // comparison.
        if ends > self.deadline || ends <= now {
            self.timer.as_mut().reset(self.deadline);
        }
    }

    pub(super) fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            ready!(self.timer.as_mut().poll(cx));
            if self.timer.deadline() >= self.deadline {
                return Poll::Ready(());
            }
            self.timer.as_mut().reset(self.deadline);
        }
    }
}

impl Output {
    pub(super) fn remaining(&self) -> usize {
        self.bytes.len() - self.written
    }

    /// Writes bytes; ready when the operating system has accepted all of them.
    pub(super) fn poll_write<W>(
        &mut self,
        mut stream: Pin<&mut W>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>>
    where
        W: AsyncWrite,
    {
        while let Some(bytes @ [_, ..]) = self.bytes.get(self.written..) {
            match ready!(stream.as_mut().poll_write(cx, bytes))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                len => self.written += len,
            }
        }
        // TLS may accept bytes but buffer them.
        ready!(stream.poll_flush(cx))?;
        self.bytes.clear();
        self.written = 0;
        Poll::Ready(Ok(()))
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("stream", &self.stream)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::{
        net::{TcpListener, TcpStream},
        time,
    };

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_wait_has_its_own_timeout() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap());
        let stream = Stream::Tcp(stream.await.unwrap());
        let mut connection = Connection::new(stream, Instant::now(), true);
        for (first, second) in [(60, 300), (300, 60), (60, 60), (1, 60)] {
            let (start, secs) = (Instant::now(), Duration::from_secs);
            connection.start_timer(start, secs(first));
            let polled = poll_fn(|cx| Poll::Ready(connection.poll_timer(cx))).await;
            assert!(polled.is_pending());
            time::advance(secs(20)).await;
            connection.start_timer(Instant::now(), secs(second));
            poll_fn(|cx| connection.poll_timer(cx)).await;
            assert_eq!(start.elapsed().as_secs(), 20 + second, "{first} {second}");
        }
    }
}
