//! Connections of every kind as one type.

use std::{
    io::{self, IoSlice},
    net::{Ipv4Addr, SocketAddr},
    pin::Pin,
    task::{Context, Poll},
};

use bytes::{Buf, Bytes};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpStream, UnixStream},
};
use tokio_rustls::server::TlsStream;

/// Other end of a connection, as the system names it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Peer {
    Tcp(SocketAddr),
    /// It has no address.
    Unix,
}

impl Peer {
    /// Address of the peer; unspecified for that of a Unix socket.
    pub(super) fn addr(self) -> SocketAddr {
        match self {
            Self::Tcp(addr) => SocketAddr::new(addr.ip().to_canonical(), addr.port()),
            Self::Unix => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        }
    }
}

/// Connection before TLS; what was read too early is read again.
#[derive(Debug)]
pub(super) struct Transport {
    socket: Socket,
    unread: Bytes,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Connection on its way to another thread's runtime.
#[derive(Debug)]
pub(super) enum Detached {
    Tcp(std::net::TcpStream),
    Unix(std::os::unix::net::UnixStream),
}

/// Connection as HTTP sees it.
#[derive(Debug)]
pub(super) enum Stream {
    Plain(Transport),
    Tls(Box<TlsStream<Transport>>),
}

impl Transport {
    /// Puts back what was read.
    pub(super) fn unread(&mut self, bytes: Bytes) {
        self.unread = if self.unread.is_empty() {
            bytes
        } else {
            [&bytes[..], &self.unread[..]].concat().into()
        };
    }

    /// Takes the connection from this thread's runtime; nothing may have been read.
    pub(super) fn detach(self) -> io::Result<Detached> {
        match self.socket {
            Socket::Tcp(stream) => stream.into_std().map(Detached::Tcp),
            Socket::Unix(stream) => stream.into_std().map(Detached::Unix),
        }
    }

    fn socket(self: Pin<&mut Self>) -> Pin<&mut Socket> {
        Pin::new(&mut self.get_mut().socket)
    }
}

impl Detached {
    /// Gives the connection to this thread's runtime.
    pub(super) fn attach(self) -> io::Result<Transport> {
        match self {
            Self::Tcp(stream) => TcpStream::from_std(stream).map(Transport::from),
            Self::Unix(stream) => UnixStream::from_std(stream).map(Transport::from),
        }
    }
}

impl From<TcpStream> for Transport {
    fn from(stream: TcpStream) -> Self {
        Self {
            socket: Socket::Tcp(stream),
            unread: Bytes::new(),
        }
    }
}

impl From<UnixStream> for Transport {
    fn from(stream: UnixStream) -> Self {
        Self {
            socket: Socket::Unix(stream),
            unread: Bytes::new(),
        }
    }
}

impl Stream {
    pub(super) fn is_tls(&self) -> bool {
        matches!(self, Self::Tls(_))
    }
}

impl AsyncRead for Transport {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.unread.is_empty() {
            return match self.socket().get_mut() {
                Socket::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
                Socket::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
            };
        }
        let len = self.unread.len().min(buf.remaining());
        buf.put_slice(self.unread.get(..len).unwrap_or_default());
        self.unread.advance(len);
        Poll::Ready(Ok(()))
    }
}

/// Hands each call of `AsyncWrite` on to whichever stream there is.
macro_rules! write_through {
    ($self:ident, $stream:ident => $call:expr, $first:path, $second:path) => {
        match $self {
            $first($stream) => $call,
            $second($stream) => $call,
        }
    };
}

impl AsyncWrite for Transport {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let socket = self.socket().get_mut();
        write_through!(socket, stream => Pin::new(stream).poll_write(cx, buf), Socket::Tcp, Socket::Unix)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let socket = self.socket().get_mut();
        write_through!(socket, stream => Pin::new(stream).poll_flush(cx), Socket::Tcp, Socket::Unix)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let socket = self.socket().get_mut();
        write_through!(socket, stream => Pin::new(stream).poll_shutdown(cx), Socket::Tcp, Socket::Unix)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let socket = self.socket().get_mut();
        write_through!(socket, stream => Pin::new(stream).poll_write_vectored(cx, bufs), Socket::Tcp, Socket::Unix)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        write_through!(this, stream => Pin::new(stream).poll_write(cx, buf), Self::Plain, Self::Tls)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        write_through!(this, stream => Pin::new(stream).poll_flush(cx), Self::Plain, Self::Tls)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        write_through!(this, stream => Pin::new(stream).poll_shutdown(cx), Self::Plain, Self::Tls)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        write_through!(this, stream => Pin::new(stream).poll_write_vectored(cx, bufs), Self::Plain, Self::Tls)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}
