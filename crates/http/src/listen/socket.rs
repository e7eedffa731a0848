//! Listening sockets: bound, inherited, shared by threads.

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
    systemd,
};

/// Connections that the system queues until they are accepted; Linux cuts it at `somaxconn`.
const BACKLOG: u32 = 1024;

/// Listening socket that no runtime knows yet.
#[derive(Debug)]
pub(super) struct BoundSocket {
    kind: Kind,
    /// Ours to remove at the end.
    _file: Option<SocketFile>,
}

#[derive(Debug)]
enum Kind {
    Tcp(std::net::TcpListener),
    Unix(std::os::unix::net::UnixListener),
}

/// Socket as one thread's runtime accepts on it.
#[derive(Debug)]
pub(super) enum Acceptor {
    Tcp(AsyncFd<mio::net::TcpListener>),
    Unix(AsyncFd<mio::net::UnixListener>),
}

/// File of a Unix socket; removed when dropped, unless another has taken its place.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    identity: Identity,
}

/// Identity of a file among others of the same name; inodes are reused, so the time is part of it.
#[derive(Debug, Eq, PartialEq)]
struct Identity {
    device: u64,
    inode: u64,
    modified: (i64, i64),
}

impl BoundSocket {
    /// Binds, or takes the service manager's socket.
    pub(super) async fn bind(addr: &ListenAddr, unix_mode: u32) -> io::Result<Self> {
        let bound = match addr {
            ListenAddr::Tcp(addr) => bind_tcp(*addr).map_err(|error| explain_tcp(*addr, &error)),
            ListenAddr::Unix(path) => bind_unix(path, unix_mode)
                .await
                .map_err(|error| explain_unix(path, &error)),
            ListenAddr::Systemd(name) => systemd::take(name.as_deref()),
        };
        bound.and_then(|socket| {
            socket.prepare()?;
            Ok(socket)
        })
    }

    pub(super) fn inherited_tcp(listener: std::net::TcpListener) -> Self {
        Self {
            kind: Kind::Tcp(listener),
            _file: None,
        }
    }

    pub(super) fn inherited_unix(listener: std::os::unix::net::UnixListener) -> Self {
        Self {
            kind: Kind::Unix(listener),
            _file: None,
        }
    }

    /// Where it listens, with the port that the system chose.
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

    /// Makes a second descriptor of the same socket for the current runtime.
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

    /// Makes the socket non-blocking, and has its connections send without delay.
    fn prepare(&self) -> io::Result<()> {
        match &self.kind {
            Kind::Tcp(listener) => {
                if let Err(error) = SockRef::from(listener).set_tcp_nodelay(true) {
                    debug!(%error, "connections without TCP_NODELAY: {error}");
                }
                listener.set_nonblocking(true)
            }
            Kind::Unix(listener) => listener.set_nonblocking(true),
        }
    }
}

impl Acceptor {
    /// Accepts a connection, which no runtime watches yet.
    pub(super) async fn accept(&self) -> io::Result<(AcceptedSocket, Peer)> {
        match self {
            Self::Tcp(listener) => {
                let accept = |listener: &mio::net::TcpListener| listener.accept();
                let (stream, peer) = listener.async_io(Interest::READABLE, accept).await?;
                let stream = TcpStream::from(OwnedFd::from(stream));
                // On Linux connections inherit it from the listener, which saves a system call.
                if !cfg!(target_os = "linux")
                    && let Err(error) = stream.set_nodelay(true)
                {
                    debug!(%peer, %error, "connection without TCP_NODELAY");
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

/// Has this thread's runtime tell when connections have come.
#[expect(
    deprecated,
    reason = "what replaces it is unsafe, for the sake of types that do not own their descriptor"
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
            warn!(%error, "cannot remove the socket {path}: {error}; remove it by hand");
        }
    }
}

fn bind_tcp(addr: SocketAddr) -> io::Result<BoundSocket> {
    let socket = match addr {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // A restarted server must not wait for the old one's closed connections.
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
    // From here on the file is removed if a later step fails.
    let file = SocketFile::new(path)?;
    // Nobody connects before `listen`: the mode is right from the first connection.
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    Ok(BoundSocket {
        kind: Kind::Unix(socket.listen(BACKLOG)?.into_std()?),
        _file: Some(file),
    })
}

/// Removes the socket of a process that has ended without doing so.
async fn remove_if_dead(path: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.file_type().is_socket() {
        return Err(ErrorKind::AlreadyExists.into());
    }
    match tokio::net::UnixStream::connect(path).await {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            info!(
                "replaced the socket {} that nobody listened on",
                path.display()
            );
            fs::remove_file(path)
        }
        // Any other result, a full queue too, means that somebody listens.
        _ => Err(ErrorKind::AddrInUse.into()),
    }
}

fn explain_tcp(addr: SocketAddr, error: &io::Error) -> io::Error {
    let hint = match error.kind() {
        ErrorKind::AddrInUse => {
            "another program listens there; stop it or choose another port".to_owned()
        }
        ErrorKind::PermissionDenied => {
            "ports below 1024 need a privilege (CAP_NET_BIND_SERVICE); choose another port or grant it".to_owned()
        }
        ErrorKind::AddrNotAvailable => format!(
            "this machine has no such address; choose one that it has, or {} for all",
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
        ErrorKind::AddrInUse => "another program listens there; stop it or choose another path",
        ErrorKind::AlreadyExists => "what is there is no socket; remove it or choose another path",
        ErrorKind::PermissionDenied => "this user may not write to the directory",
        ErrorKind::NotFound => "the directory does not exist",
        _ => "check the path; it may have about 100 bytes",
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
    async fn a_port_in_use_is_an_error_that_says_what_to_do() {
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
    async fn an_address_of_another_machine_is_an_error_that_says_what_to_do() {
        let error = bind("192.0.2.1:0").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrNotAvailable);
        assert!(error.to_string().contains("0.0.0.0"), "{error}");
    }

    #[tokio::test]
    async fn an_accepted_connection_sends_what_it_has_at_once() {
        let bound = bind("127.0.0.1:0").await.unwrap();
        let ListenAddr::Tcp(addr) = bound.local_addr().unwrap() else {
            panic!("it listens on an address");
        };
        let _client = TcpStream::connect(addr).unwrap();
        let (accepted, _) = bound.acceptor().unwrap().accept().await.unwrap();
        let AcceptedSocket::Tcp(stream) = accepted else {
            panic!("it came by TCP");
        };
        assert!(stream.nodelay().unwrap());
    }

    #[test]
    fn a_privileged_port_is_explained() {
        let addr = "127.0.0.1:80".parse().unwrap();
        let error = explain_tcp(addr, &ErrorKind::PermissionDenied.into());
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        assert!(
            error.to_string().contains("CAP_NET_BIND_SERVICE"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn a_live_socket_is_an_error_and_a_dead_one_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("site.sock");
        let addr = format!("unix:{}", path.display());
        let live = bind(&addr).await.unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o660);
        let error = bind(&addr).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        assert!(error.to_string().contains("choose another path"), "{error}");

        // A process that is killed leaves its file behind.
        let BoundSocket { kind, _file: file } = live;
        drop(kind);
        let again = bind(&addr).await.unwrap();
        // What the old one would remove is not its own any more.
        drop(file);
        assert!(path.exists());
        drop(again);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn what_is_no_socket_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "mine").unwrap();
        let error = bind(&format!("unix:{}", path.display())).await.unwrap_err();
        assert!(error.to_string().contains("no socket"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }

    #[tokio::test]
    async fn a_directory_that_is_missing_is_named() {
        let error = bind("unix:/nowhere/at/all/site.sock").await.unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("/nowhere/at/all/site.sock") && text.contains("directory does not exist"),
            "{text}"
        );
    }
}
