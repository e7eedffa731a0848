//! Byte streams to an upstream server.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use bytes::{Buf as _, Bytes};
use hyper_rustls::MaybeHttpsStream;
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf, ReadHalf, WriteHalf},
    net::TcpStream,
};

/// A byte stream to an upstream server, after the TLS handshake, if any.
#[derive(Debug)]
pub(in super::super) enum Stream {
    Tcp(TcpStream),
    Tls(Box<TokioIo<MaybeHttpsStream<TokioIo<TcpStream>>>>),
    #[cfg(unix)]
    Unix(tokio::net::UnixStream),
    /// The read half of a connection whose request is still being sent by another task.
    Read(ReadHalf<Box<Self>>),
}

impl Stream {
    /// Returns `true` if a read would return bytes, the end of the stream or an error without
    /// waiting.
    pub(super) fn is_readable(&mut self) -> bool {
        let mut byte = [0];
        let read = match self {
            Self::Tcp(stream) => stream.try_read(&mut byte),
            #[cfg(unix)]
            Self::Unix(stream) => stream.try_read(&mut byte),
            stream => {
                let mut context = Context::from_waker(Waker::noop());
                let mut bytes = ReadBuf::new(&mut byte);
                return Pin::new(stream)
                    .poll_read(&mut context, &mut bytes)
                    .is_ready();
            }
        };
        // Only `WouldBlock` means that the connection is open and the server has sent nothing.
        !matches!(read, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Splits the stream, so that another task can write to it.
    pub(super) fn split(self) -> (Self, WriteHalf<Box<Self>>) {
        let (read, write) = tokio::io::split(Box::new(self));
        (Self::Read(read), write)
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, bytes),
            #[cfg(unix)]
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, bytes),
            Self::Read(stream) => Pin::new(stream).poll_read(cx, bytes),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
            #[cfg(unix)]
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Read(_) => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            // The system has accepted all bytes.
            Self::Tcp(_) | Self::Read(_) => Poll::Ready(Ok(())),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
            #[cfg(unix)]
            Self::Unix(_) => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
            #[cfg(unix)]
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Read(_) => Poll::Ready(Ok(())),
        }
    }
}

/// A stream preceded by bytes that were read too early, which are the bytes after a 101 response.
#[derive(Debug)]
pub(in super::super) struct Rewind {
    pub(super) first: Bytes,
    pub(super) stream: Stream,
}

impl AsyncRead for Rewind {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.first.is_empty() {
            return Pin::new(&mut this.stream).poll_read(cx, bytes);
        }
        let len = this.first.len().min(bytes.remaining());
        bytes.put_slice(this.first.get(..len).unwrap_or_default());
        this.first.advance(len);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Rewind {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}
