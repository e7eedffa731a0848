use std::{
    convert::Infallible,
    error::Error,
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use http::{Request, Response};
use hyper::body::{Body, Incoming};
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    sync::Semaphore,
    time,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, warn};

use super::{
    client_addr::TrustedProxies,
    connection::{self, Shared},
};

/// Connections that the system holds until they are accepted.
const BACKLOG: u32 = 1024;
/// Waiting after an accept that failed for want of files or memory.
const ACCEPT_BACK_OFF: Duration = Duration::from_millis(100);

/// Settings of one listener.
#[derive(Clone, Debug)]
pub struct ListenSettings {
    /// Address and port; port 0 lets the system choose.
    pub addr: SocketAddr,
    /// Proxies whose forwarding headers are believed.
    pub trusted_proxies: TrustedProxies,
    /// Time for the head of a request to arrive, from the connection or its first byte.
    pub header_timeout: Duration,
    /// Time that a connection stays open without a request, or without the client reading.
    pub idle_timeout: Duration,
    /// Connections at a time; more wait to be accepted.
    pub max_connections: usize,
    /// Time for requests in flight to end at shutdown.
    pub drain_timeout: Duration,
}

/// Listener that serves HTTP/1.1 and HTTP/2 on one address.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    local_addr: SocketAddr,
    settings: ListenSettings,
}

impl Listener {
    /// Binds the address.
    ///
    /// # Errors
    ///
    /// Fails when the port is in use, reserved to others, or the address is
    /// not one of this machine. The text names the address and what to do;
    /// the kind is the system's.
    #[expect(
        clippy::unused_async,
        reason = "binding needs a runtime, and names may be resolved here one day"
    )]
    pub async fn bind(settings: ListenSettings) -> io::Result<Self> {
        let addr = settings.addr;
        let socket = bind_socket(addr).map_err(|error| explain(addr, &error))?;
        let local_addr = socket.local_addr()?;
        Ok(Self {
            socket,
            local_addr,
            settings,
        })
    }

    /// Returns the bound address, with the port that the system chose.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Serves until `stop`, then drains.
    ///
    /// HTTP/1.1 and HTTP/2 (prior knowledge) are told apart by the first
    /// bytes. Every request has a [`ClientAddr`](super::ClientAddr) extension.
    /// After `stop` no connection is accepted and no request is taken up.
    /// Those in flight have the drain timeout to end, then they are cut.
    /// Upgraded connections are waited for as long; they belong to the service,
    /// which ends them.
    pub async fn serve<S, B>(self, service: S, stop: CancellationToken)
    where
        S: tower_service::Service<Request<Incoming>, Response = Response<B>, Error = Infallible>
            + Clone
            + Send
            + 'static,
        S::Future: Send,
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let shared = Arc::new(Shared {
            trusted_proxies: Arc::new(self.settings.trusted_proxies.clone()),
            settings: self.settings,
            stop,
            cut: CancellationToken::new(),
            tasks: TaskTracker::new(),
        });
        let max_connections = shared
            .settings
            .max_connections
            .clamp(1, u32::MAX as usize)
            .min(Semaphore::MAX_PERMITS);
        let places = Arc::new(Semaphore::new(max_connections));
        tokio::select! {
            () = accept_all(&self.socket, &shared, &places, service) => {}
            () = shared.stop.cancelled() => {}
        }
        drop(self.socket);
        drain(&shared, &places, max_connections).await;
    }
}

async fn accept_all<S, B>(
    socket: &TcpListener,
    shared: &Arc<Shared>,
    places: &Arc<Semaphore>,
    service: S,
) where
    S: tower_service::Service<Request<Incoming>, Response = Response<B>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    while let Ok(place) = Arc::clone(places).acquire_owned().await {
        let (stream, peer) = accept(socket).await;
        if let Err(error) = stream.set_nodelay(true) {
            debug!(%peer, %error, "connection without TCP_NODELAY");
        }
        let connection =
            connection::serve(Arc::clone(shared), stream, peer, place, service.clone());
        shared.tasks.spawn(connection);
    }
}

/// Accepts one connection, however often that fails.
async fn accept(socket: &TcpListener) -> (TcpStream, SocketAddr) {
    let mut failures = 0_u32;
    loop {
        match socket.accept().await {
            Ok(accepted) => return accepted,
            // The client has gone already: the next one is not concerned.
            Err(error) if is_about_one_connection(&error) => {}
            Err(error) => {
                if failures.is_multiple_of(100) {
                    warn!(%error, "cannot accept connections: {error}; raise the limit of open files, or lower max_connections");
                }
                failures = failures.wrapping_add(1);
                time::sleep(ACCEPT_BACK_OFF).await;
            }
        }
    }
}

fn is_about_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}

async fn drain(shared: &Shared, places: &Semaphore, max_connections: usize) {
    shared.tasks.close();
    let all = u32::try_from(max_connections).unwrap_or(u32::MAX);
    let drained = async {
        shared.tasks.wait().await;
        // A tunnel holds its connection's place, though the task has ended.
        let _ = places.acquire_many(all).await;
    };
    let drain_timeout = shared.settings.drain_timeout;
    if time::timeout(drain_timeout, drained).await.is_err() {
        let left = max_connections.saturating_sub(places.available_permits());
        warn!(
            connections = left,
            "cut {left} connections that had not ended after {drain_timeout:?}"
        );
        shared.cut.cancel();
        shared.tasks.wait().await;
    }
}

fn bind_socket(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = match addr {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // A restarted server must not wait for the old one's closed connections.
    socket.set_reuseaddr(cfg!(unix))?;
    socket.bind(addr)?;
    socket.listen(BACKLOG)
}

fn explain(addr: SocketAddr, error: &io::Error) -> io::Error {
    let hint = match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another program listens there; stop it or choose another port".to_owned()
        }
        io::ErrorKind::PermissionDenied => {
            "ports below 1024 need a privilege (CAP_NET_BIND_SERVICE); choose another port or grant it".to_owned()
        }
        io::ErrorKind::AddrNotAvailable => format!(
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

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(addr: &str) -> ListenSettings {
        ListenSettings {
            addr: addr.parse().unwrap(),
            trusted_proxies: TrustedProxies::default(),
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_mins(1),
            max_connections: 10,
            drain_timeout: Duration::from_secs(1),
        }
    }

    #[tokio::test]
    async fn a_port_in_use_is_an_error_that_says_what_to_do() {
        let first = Listener::bind(settings("127.0.0.1:0")).await.unwrap();
        let addr = first.local_addr().to_string();
        let error = Listener::bind(settings(&addr)).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        let text = error.to_string();
        assert!(
            text.contains(&addr) && text.contains("choose another port"),
            "{text}"
        );
    }

    #[tokio::test]
    async fn an_address_of_another_machine_is_an_error_that_says_what_to_do() {
        let error = Listener::bind(settings("192.0.2.1:0")).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrNotAvailable);
        assert!(error.to_string().contains("0.0.0.0"), "{error}");
    }

    #[test]
    fn a_privileged_port_is_explained() {
        let addr = "127.0.0.1:80".parse().unwrap();
        let error = explain(addr, &io::ErrorKind::PermissionDenied.into());
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert!(
            error.to_string().contains("CAP_NET_BIND_SERVICE"),
            "{error}"
        );
    }
}
