//! Listening sockets, which are shared by threads.

use std::{
    fs,
    io::{self, ErrorKind},
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream},
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::{
            fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _},
            net::UnixStream,
        },
    },
    path::{Path, PathBuf},
};

use socket2::SockRef;
use tokio::{
    io::{Interest, unix::AsyncFd},
    net::{TcpSocket, UnixSocket},
};
use tracing::{debug, info, warn};

use super::{
    address::ListenAddr,
    stream::{AcceptedSocket, Peer},
};

/// The length of the system's accept queue; Linux limits it to `somaxconn`.
const BACKLOG: u32 = 1024;

/// A listening socket that has not been registered with a runtime yet.
#[derive(Debug)]
pub(super) struct BoundSocket {
    kind: Kind,
    /// The socket file, which is removed when the socket is closed.
    _file: Option<SocketFile>,
}

#[derive(Debug)]
enum Kind {
    Tcp(std::net::TcpListener),
    Unix(std::os::unix::net::UnixListener),
}

/// The socket on which the runtime of one thread accepts connections.
#[derive(Debug)]
pub(super) enum Acceptor {
    Tcp(AsyncFd<mio::net::TcpListener>),
    Unix(AsyncFd<mio::net::UnixListener>),
}

/// The file of a Unix socket, which is removed when this value is dropped, unless another file has
/// replaced it.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    identity: Identity,
}

/// The identity of a file, which distinguishes it from other files with the same path. Inodes are
/// reused, so the modification time is included.
#[derive(Debug, Eq, PartialEq)]
struct Identity {
    device: u64,
    inode: u64,
    modified: (i64, i64),
}

impl BoundSocket {
    /// Binds a socket.
    pub(super) async fn bind(addr: &ListenAddr, unix_mode: u32) -> io::Result<Self> {
        let bound = match addr {
            ListenAddr::Tcp(addr) => bind_tcp(*addr).map_err(|error| explain_tcp(*addr, &error)),
            ListenAddr::Unix(path) => bind_unix(path, unix_mode)
                .await
                .map_err(|error| explain_unix(path, &error)),
        };
        bound.and_then(|socket| {
            socket.prepare()?;
            Ok(socket)
        })
    }

    /// Returns the address on which the socket listens, including the port that the system chose.
    pub(super) fn local_addr(&self) -> io::Result<ListenAddr> {
        match &self.kind {
            Kind::Tcp(listener) => listener.local_addr().map(ListenAddr::Tcp),
            Kind::Unix(listener) => {
                let addr = listener.local_addr()?;
                let path = addr.as_pathname().unwrap_or(Path::new(""));
                Ok(ListenAddr::Unix(path.to_owned()))
            }
        }
    }

    /// Creates a second descriptor of the same socket for the current runtime.
    pub(super) fn acceptor(&self) -> io::Result<Acceptor> {
        match &self.kind {
            Kind::Tcp(listener) => {
                let listener = mio::net::TcpListener::from_std(listener.try_clone()?);
                watch(listener).map(Acceptor::Tcp)
            }
            Kind::Unix(listener) => {
                let listener = mio::net::UnixListener::from_std(listener.try_clone()?);
                watch(listener).map(Acceptor::Unix)
            }
        }
    }

    /// Makes the socket non-blocking, and sets it up so that its connections send without delay.
    fn prepare(&self) -> io::Result<()> {
        match &self.kind {
            Kind::Tcp(listener) => {
                if let Err(error) = SockRef::from(listener).set_tcp_nodelay(true) {
                    debug!(%error, "could not set TCP_NODELAY for connections: {error}");
                }
                listener.set_nonblocking(true)
            }
            Kind::Unix(listener) => listener.set_nonblocking(true),
        }
    }
}

impl Acceptor {
    /// Accepts a connection without registering it with a runtime.
    pub(super) async fn accept(&self) -> io::Result<(AcceptedSocket, Peer)> {
        match self {
            Self::Tcp(listener) => {
                let accept = |listener: &mio::net::TcpListener| listener.accept();
                let (stream, peer) = listener.async_io(Interest::READABLE, accept).await?;
                let stream = TcpStream::from(OwnedFd::from(stream));
                // On Linux, connections inherit the option from the listener, which saves a system
                // call.
                if !cfg!(target_os = "linux")
                    && let Err(error) = stream.set_nodelay(true)
                {
                    debug!(%peer, %error, "could not set TCP_NODELAY for a connection");
                }
                Ok((AcceptedSocket::Tcp(stream), Peer::Tcp(peer)))
            }
            Self::Unix(listener) => {
                let accept = |listener: &mio::net::UnixListener| listener.accept();
                let (stream, _) = listener.async_io(Interest::READABLE, accept).await?;
                let stream = UnixStream::from(OwnedFd::from(stream));
                Ok((AcceptedSocket::Unix(stream), Peer::Unix))
            }
        }
    }
}

/// Registers the listening socket with this thread's runtime, to wait for new connections.
#[expect(
    deprecated,
    reason = "its replacement is unsafe, to support types that do not own their descriptor"
)]
fn watch<L: AsRawFd>(listener: L) -> io::Result<AsyncFd<L>> {
    AsyncFd::with_interest(listener, Interest::READABLE)
}

impl SocketFile {
    fn new(path: &Path) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            identity: Identity::of(path)?,
        })
    }
}

impl Identity {
    fn of(path: &Path) -> io::Result<Self> {
        let metadata = fs::symlink_metadata(path)?;
        Ok(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_ours = Identity::of(&self.path).is_ok_and(|found| found == self.identity);
        if is_ours && let Err(error) = fs::remove_file(&self.path) {
            let path = self.path.display();
            warn!(%error, "cannot remove the socket {path}: {error}; remove it manually");
        }
    }
}

fn bind_tcp(addr: SocketAddr) -> io::Result<BoundSocket> {
    let socket = match addr {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // A restarted server must not wait for closed connections of the previous process.
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    let listener = socket.listen(BACKLOG)?.into_std()?;
    Ok(BoundSocket {
        kind: Kind::Tcp(listener),
        _file: None,
    })
}

async fn bind_unix(path: &Path, mode: u32) -> io::Result<BoundSocket> {
    let socket = UnixSocket::new_stream()?;
    if let Err(error) = socket.bind(path) {
        if error.kind() != ErrorKind::AddrInUse {
            return Err(error);
        }
        remove_if_dead(path).await?;
        socket.bind(path)?;
    }
    // From here on, the file is removed if a later step fails.
    let file = SocketFile::new(path)?;
    // No client can connect before `listen` is called, so the mode is correct from the first
    // connection on.
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    Ok(BoundSocket {
        kind: Kind::Unix(socket.listen(BACKLOG)?.into_std()?),
        _file: Some(file),
    })
}

/// Removes a socket file left behind by a process that has ended.
async fn remove_if_dead(path: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.file_type().is_socket() {
        return Err(ErrorKind::AlreadyExists.into());
    }
    match tokio::net::UnixStream::connect(path).await {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            info!("replaced the unused socket {}", path.display());
            fs::remove_file(path)
        }
        // Any other result, including a full queue, means that another process is listening.
        _ => Err(ErrorKind::AddrInUse.into()),
    }
}

fn explain_tcp(addr: SocketAddr, error: &io::Error) -> io::Error {
    let hint = match error.kind() {
        ErrorKind::AddrInUse => {
            "another program is using the port; stop it or choose another port".to_owned()
        }
        ErrorKind::PermissionDenied => {
            "ports below 1024 require a privilege; grant CAP_NET_BIND_SERVICE or choose another port".to_owned()
        }
        ErrorKind::AddrNotAvailable => format!(
            "the address does not belong to this machine; use one of its addresses, or {} for all",
            SocketAddr::new(IpAddr::from(Ipv4Addr::UNSPECIFIED), addr.port())
        ),
        _ => "check the address".to_owned(),
    };
    io::Error::new(
        error.kind(),
        format!("cannot listen on {addr}: {error}: {hint}"),
    )
}

fn explain_unix(path: &Path, error: &io::Error) -> io::Error {
    let hint = match error.kind() {
        ErrorKind::AddrInUse => "another program uses the socket; stop it or choose another path",
        ErrorKind::AlreadyExists => "the file is not a socket; remove it or choose another path",
        ErrorKind::PermissionDenied => "this program's user cannot write to the directory",
        ErrorKind::NotFound => "the directory does not exist",
        _ => "check the path, which is limited to about 100 bytes",
    };
    io::Error::new(
        error.kind(),
        format!("cannot listen on unix:{}: {error}: {hint}", path.display()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn bind(addr: &str) -> io::Result<BoundSocket> {
        BoundSocket::bind(&addr.parse().unwrap(), 0o660).await
    }

    #[tokio::test]
    async fn port_in_use_is_an_error_with_a_remedy() {
        let first = bind("127.0.0.1:0").await.unwrap();
        let addr = first.local_addr().unwrap().to_string();
        let error = bind(&addr).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        let text = error.to_string();
        assert!(
            text.contains(&addr) && text.contains("choose another port"),
            "{text}"
        );
    }

    #[tokio::test]
    async fn foreign_address_is_an_error_with_a_remedy() {
        let error = bind("192.0.2.1:0").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrNotAvailable);
        assert!(error.to_string().contains("0.0.0.0"), "{error}");
    }

    #[tokio::test]
    async fn accepted_connection_sends_without_delay() {
        let bound = bind("127.0.0.1:0").await.unwrap();
        let ListenAddr::Tcp(addr) = bound.local_addr().unwrap() else {
            panic!("listens on an address");
        };
        let _client = TcpStream::connect(addr).unwrap();
        let (accepted, _) = bound.acceptor().unwrap().accept().await.unwrap();
        let AcceptedSocket::Tcp(stream) = accepted else {
            panic!("connected by TCP");
        };
        assert!(stream.nodelay().unwrap());
    }

    #[test]
    fn privileged_port_is_explained() {
        let addr = "127.0.0.1:80".parse().unwrap();
        let error = explain_tcp(addr, &ErrorKind::PermissionDenied.into());
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        assert!(
            error.to_string().contains("CAP_NET_BIND_SERVICE"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn live_socket_is_an_error_and_dead_socket_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("site.sock");
        let addr = format!("unix:{}", path.display());
        let live = bind(&addr).await.unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o660);
        let error = bind(&addr).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        assert!(error.to_string().contains("choose another path"), "{error}");

        // A killed process leaves its socket file behind.
        let BoundSocket { kind, _file: file } = live;
        drop(kind);
        let again = bind(&addr).await.unwrap();
        // The old file handle must not remove the new file.
        drop(file);
        assert!(path.exists());
        drop(again);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn other_files_are_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "mine").unwrap();
        let error = bind(&format!("unix:{}", path.display())).await.unwrap_err();
        assert!(error.to_string().contains("not a socket"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }

    #[tokio::test]
    async fn missing_directory_is_named() {
        let error = bind("unix:/nowhere/at/all/site.sock").await.unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("/nowhere/at/all/site.sock") && text.contains("directory does not exist"),
            "{text}"
        );
    }
}
