//! A stream type for all kinds of connections.

use std::{
    io::{self, ErrorKind, IoSlice, Read as _, Write as _},
    mem,
    net::{Ipv4Addr, Shutdown, SocketAddr},
    pin::Pin,
    task::{Context, Poll},
};

use bytes::BytesMut;
#[cfg(target_os = "linux")]
use rustix::{
    fd::AsFd,
    net::{SendFlags, send},
};
#[cfg(target_os = "linux")]
use tokio::io::Interest;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpStream, UnixStream},
};
use tokio_rustls::server::TlsStream;

use super::eager_read;

/// The maximum number of bytes that are read before a socket is registered; most heads are shorter.
const EAGER_BYTES: usize = 4 * 1024;

/// The peer of a connection, as reported by the system.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Peer {
    Tcp(SocketAddr),
    /// The peer of a Unix socket, which has no address.
    Unix,
}

impl Peer {
    /// Returns the address of the peer, or the unspecified address for a Unix socket.
    pub(super) fn addr(self) -> SocketAddr {
        match self {
            // A dual-stack socket reports an IPv4 client as `::ffff:a.b.c.d`, which no IPv4 range
            // contains.
            Self::Tcp(addr) => SocketAddr::new(addr.ip().to_canonical(), addr.port()),
            Self::Unix => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        }
    }
}

/// A connection without TLS, into which bytes that were read too early can be put back.
#[derive(Debug)]
pub(super) struct Transport {
    socket: Socket,
    /// The number of bytes that may still be read eagerly, or `None` if the runtime must watch the
    /// socket.
    eager_bytes: Option<usize>,
    /// Whether the next write is the last one on the connection.
    ends: bool,
    unread: BytesMut,
}

/// A socket that is registered with the runtime only when waiting is necessary.
///
/// A client with a single request may have sent the request before its connection is accepted. No
/// waiting is then necessary until the connection closes, which saves three system calls and a
/// timer.
#[derive(Debug)]
enum Socket {
    Unwatched(AcceptedSocket),
    Tcp(TcpStream),
    Unix(UnixStream),
    /// The socket could not be registered with the runtime.
    Lost,
}

/// A non-blocking connection that has not been registered with a runtime yet.
#[derive(Debug)]
pub(super) enum AcceptedSocket {
    Tcp(std::net::TcpStream),
    Unix(std::os::unix::net::UnixStream),
}

/// A connection as seen by the HTTP implementation, with or without TLS.
#[derive(Debug)]
pub(super) enum Stream {
    Plain(Transport),
    Tls(Box<TlsStream<Transport>>),
}

impl Transport {
    /// Creates a transport; if `reads_eagerly` is set, the first bytes are read before the socket
    /// is registered.
    pub(super) fn new(accepted: AcceptedSocket, reads_eagerly: bool) -> Self {
        Self {
            socket: Socket::Unwatched(accepted),
            eager_bytes: reads_eagerly.then_some(EAGER_BYTES),
            ends: false,
            unread: BytesMut::new(),
        }
    }

    /// Puts bytes back into the connection, so that they are read again.
    pub(super) fn put_back(&mut self, mut bytes: BytesMut) {
        bytes.extend_from_slice(&self.unread);
        self.unread = bytes;
    }

    /// Reads from an unregistered socket; returns `None` if the socket must be registered.
    ///
    /// hyper reads again immediately, to detect whether the client has disconnected. The second
    /// read is delayed until the task is polled again, which never happens if the task has ended.
    fn poll_read_eagerly(
        &mut self,
        cx: &Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Option<Poll<io::Result<()>>> {
        let Socket::Unwatched(accepted) = &mut self.socket else {
            return None;
        };
        let eager_bytes = mem::take(&mut self.eager_bytes)?;
        // The number is limited, so that a client that keeps sending does not occupy the thread.
        let len = buf.remaining().min(eager_bytes);
        if len == 0 {
            cx.waker().wake_by_ref();
            return Some(Poll::Pending);
        }
        let result = accepted.read(buf.initialize_unfilled_to(len));
        // Only the first read shows whether clients send immediately; later reads follow a request
        // on the same connection.
        if eager_bytes == EAGER_BYTES {
            eager_read::record_result(result.is_ok());
        }
        match result {
            Ok(read) => {
                buf.advance(read);
                // A short read has emptied the socket, which another read would only confirm.
                let is_all = read < len;
                self.eager_bytes = Some(if is_all { 0 } else { eager_bytes - read });
                Some(Poll::Ready(Ok(())))
            }
            Err(error) => not_blocked(error).map(|error| Poll::Ready(Err(error))),
        }
    }

    /// Returns the socket after registering it with this thread's runtime, if necessary.
    fn watched(&mut self) -> io::Result<&mut Socket> {
        if let Socket::Unwatched(_) = self.socket
            && let Socket::Unwatched(accepted) = mem::replace(&mut self.socket, Socket::Lost)
        {
            self.socket = accepted.watch()?;
        }
        Ok(&mut self.socket)
    }
}

impl AcceptedSocket {
    /// Registers the socket with this thread's runtime.
    fn watch(self) -> io::Result<Socket> {
        match self {
            Self::Tcp(stream) => TcpStream::from_std(stream).map(Socket::Tcp),
            Self::Unix(stream) => UnixStream::from_std(stream).map(Socket::Unix),
        }
    }

    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buf),
            Self::Unix(stream) => stream.read(buf),
        }
    }

    /// Writes bytes; the last write is sent in one packet together with the end of the stream.
    fn write(&mut self, buf: &[u8], is_last: bool) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) if is_last => write_last(stream, buf),
            Self::Tcp(stream) => stream.write(buf),
            Self::Unix(stream) => stream.write(buf),
        }
    }

    fn shutdown(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Self::Unix(stream) => stream.shutdown(Shutdown::Write),
        }
    }
}

impl From<AcceptedSocket> for Transport {
    fn from(accepted: AcceptedSocket) -> Self {
        Self::new(accepted, true)
    }
}

impl Stream {
    pub(super) fn is_tls(&self) -> bool {
        matches!(self, Self::Tls(_))
    }

    /// Declares that the next write is the last one. This has no effect over TLS, where an alert
    /// follows (RFC 8446 §6.1).
    pub(super) fn mark_last_write(&mut self) {
        if let Self::Plain(transport) = self {
            transport.ends = true;
        }
    }
}

impl AsyncRead for Transport {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.unread.is_empty() {
            read_put_back(&mut self.unread, buf);
            return Poll::Ready(Ok(()));
        }
        if let Some(polled) = self.poll_read_eagerly(cx, buf) {
            return polled;
        }
        match self.watched()? {
            Socket::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Socket::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
            Socket::Unwatched(_) | Socket::Lost => Poll::Ready(Err(lost())),
        }
    }
}

impl AsyncWrite for Transport {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let ends = self.ends;
        if let Socket::Unwatched(accepted) = &mut self.socket {
            match accepted.write(buf, ends) {
                Ok(written) => return Poll::Ready(Ok(written)),
                Err(error) => {
                    if let Some(error) = not_blocked(error) {
                        return Poll::Ready(Err(error));
                    }
                }
            }
        }
        match self.watched()? {
            Socket::Tcp(stream) if ends => poll_write_last(stream, cx, buf),
            Socket::Tcp(stream) => Pin::new(stream).poll_write(cx, buf),
            Socket::Unix(stream) => Pin::new(stream).poll_write(cx, buf),
            Socket::Unwatched(_) | Socket::Lost => Poll::Ready(Err(lost())),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(())) // Sockets have no buffer on this side.
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.socket {
            Socket::Unwatched(accepted) => Poll::Ready(accepted.shutdown()),
            Socket::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Socket::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
            Socket::Lost => Poll::Ready(Err(lost())),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // TLS writes most records like this: one buffer costs the system less than a list of one.
        if let [buf] = bufs {
            return self.poll_write(cx, buf);
        }
        match self.watched()? {
            Socket::Tcp(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            Socket::Unix(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            Socket::Unwatched(_) | Socket::Lost => Poll::Ready(Err(lost())),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}

/// Writes bytes that the system may delay until the connection is shut down (`MSG_MORE`).
///
/// If the connection is not shut down, the system sends the bytes after 200 ms.
#[cfg(target_os = "linux")]
fn write_last(socket: impl AsFd, buf: &[u8]) -> io::Result<usize> {
    let flags = SendFlags::MORE | SendFlags::NOSIGNAL;
    Ok(send(socket, buf, flags)?)
}

/// Writes the last bytes on a socket that the runtime watches.
#[cfg(target_os = "linux")]
fn poll_write_last(
    stream: &TcpStream,
    cx: &mut Context<'_>,
    buf: &[u8],
) -> Poll<io::Result<usize>> {
    loop {
        std::task::ready!(stream.poll_write_ready(cx))?;
        match stream.try_io(Interest::WRITABLE, || write_last(stream, buf)) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            result => return Poll::Ready(result),
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn poll_write_last(
    stream: &mut TcpStream,
    cx: &mut Context<'_>,
    buf: &[u8],
) -> Poll<io::Result<usize>> {
    Pin::new(stream).poll_write(cx, buf)
}

#[cfg(not(target_os = "linux"))]
fn write_last(mut stream: &std::net::TcpStream, buf: &[u8]) -> io::Result<usize> {
    stream.write(buf)
}

/// Copies as many of the bytes that were put back as fit into the buffer.
pub(super) fn read_put_back(unread: &mut BytesMut, buf: &mut ReadBuf<'_>) {
    let len = unread.len().min(buf.remaining());
    buf.put_slice(&unread.split_to(len));
    if unread.is_empty() {
        *unread = BytesMut::new(); // Frees the memory.
    }
}

/// Returns the error, or `None` if its kind is `WouldBlock`.
fn not_blocked(error: io::Error) -> Option<io::Error> {
    (error.kind() != ErrorKind::WouldBlock).then_some(error)
}

#[cold]
fn lost() -> io::Error {
    ErrorKind::NotConnected.into()
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
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    type Client = std::os::unix::net::UnixStream;

    fn connect() -> (Client, Transport) {
        let (client, server) = Client::pair().unwrap();
        server.set_nonblocking(true).unwrap();
        (client, AcceptedSocket::Unix(server).into())
    }

    fn is_watched(transport: &Transport) -> bool {
        !matches!(transport.socket, Socket::Unwatched(_))
    }

    #[tokio::test]
    async fn waiting_request_is_answered_without_the_runtime() {
        let (mut client, mut transport) = connect();
        client.write_all(b"request").unwrap();
        let mut read = [0; 16];
        let len = transport.read(&mut read).await.unwrap();
        let mut more = [0];
        tokio::select! {
            biased;
            result = transport.read(&mut more) => panic!("nothing more should arrive: {result:?}"),
            () = std::future::ready(()) => {}
        }
        transport.write_all(b"answer").await.unwrap();
        transport.shutdown().await.unwrap();
        assert!(!is_watched(&transport));
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert_eq!((&read[..len], &*answer), (&b"request"[..], "answer"));
    }

    #[tokio::test]
    async fn last_write_arrives_with_or_without_a_shutdown() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let ways = [(true, true), (true, false), (false, true), (false, false)];
        for (is_shut_down, is_watched) in ways {
            let connecting = std::net::TcpStream::connect(listener.local_addr().unwrap());
            let mut client = connecting.unwrap();
            let (server, _) = listener.accept().unwrap();
            server.set_nonblocking(true).unwrap();
            let mut transport = Transport::new(AcceptedSocket::Tcp(server), !is_watched);
            if is_watched {
                client.write_all(b"request").unwrap();
                transport.read_exact(&mut [0; 7]).await.unwrap();
            }
            let mut stream = Stream::Plain(transport);
            stream.mark_last_write();
            stream.write_all(b"answer").await.unwrap();
            if is_shut_down {
                stream.shutdown().await.unwrap();
                let mut answer = String::new();
                client.read_to_string(&mut answer).unwrap();
                assert_eq!(answer, "answer");
            } else {
                let mut answer = [0; 6];
                client.read_exact(&mut answer).unwrap();
                assert_eq!(&answer, b"answer");
            }
        }
    }

    #[tokio::test]
    async fn large_last_write_is_waited_for() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let connecting = std::net::TcpStream::connect(listener.local_addr().unwrap());
        let mut client = connecting.unwrap();
        let (server, _) = listener.accept().unwrap();
        server.set_nonblocking(true).unwrap();
        let taking = tokio::task::spawn_blocking(move || {
            let mut taken = Vec::new();
            client.read_to_end(&mut taken).map(|_| taken)
        });
        let mut stream = Stream::Plain(Transport::new(AcceptedSocket::Tcp(server), false));
        let answer = vec![b'x'; 16 << 20];
        stream.mark_last_write();
        stream.write_all(&answer).await.unwrap();
        stream.shutdown().await.unwrap();
        assert!(taking.await.unwrap().unwrap() == answer);
    }

    #[tokio::test]
    async fn missing_data_is_waited_for() {
        for first in [
            &b""[..],
            b"re",
            &[b'x'; EAGER_BYTES],
            &[b'x'; 2 * EAGER_BYTES],
        ] {
            let (mut client, mut transport) = connect();
            client.write_all(first).unwrap();
            let mut read = vec![0; first.len()];
            transport.read_exact(&mut read).await.unwrap();
            assert_eq!(read, first);
            let mut rest = [0; 5];
            let reading = transport.read_exact(&mut rest);
            let writing = async {
                tokio::task::yield_now().await;
                client.write_all(b"quest").unwrap();
            };
            let (result, ()) = tokio::join!(reading, writing);
            result.unwrap();
            assert_eq!(&rest, b"quest");
            assert!(is_watched(&transport));
        }
    }

    #[tokio::test]
    async fn slow_client_is_waited_for() {
        let (mut client, mut transport) = connect();
        let taking = tokio::task::spawn_blocking(move || {
            let mut taken = Vec::new();
            client.read_to_end(&mut taken).map(|_| taken)
        });
        let answer = vec![b'x'; 4 << 20];
        transport.write_all(&answer).await.unwrap();
        transport.shutdown().await.unwrap();
        assert!(is_watched(&transport));
        assert!(taking.await.unwrap().unwrap() == answer);
    }

    #[tokio::test]
    async fn data_read_too_early_is_read_again() {
        let (mut client, mut transport) = connect();
        client.write_all(b"ab").unwrap();
        let mut read = [0; 2];
        transport.read_exact(&mut read).await.unwrap();
        transport.put_back(BytesMut::from(&read[1..]));
        transport.put_back(BytesMut::from(&read[..1]));
        drop(client);
        let mut again = String::new();
        transport.read_to_string(&mut again).await.unwrap();
        assert_eq!(again, "ab");
    }
}
