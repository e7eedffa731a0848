use std::{
    io,
    net::SocketAddr,
    sync::{Arc, atomic::AtomicBool},
};

use tokio::{sync::Semaphore, time};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::warn;

use super::{
    accept::AcceptLoop,
    address::ListenAddr,
    connection::{RefusalObserver, Shared},
    connection_permit::AddressLimits,
    counts::ConnectionCounts,
    http_service::{HttpService, TowerAdapter},
    open_files::ClientPermits,
    peer_table::PeerTable,
    settings::ListenSettings,
    socket::BoundSocket,
    stream::Peer,
    tls::Tls,
    workers::{Runtimes, Workers},
};

/// A listener that serves HTTP/1.1 and HTTP/2 on one address.
#[derive(Debug)]
pub struct Listener {
    socket: BoundSocket,
    addr: ListenAddr,
    settings: ListenSettings,
    counts: Arc<ConnectionCounts>,
    refusal_observer: Option<Box<dyn RefusalObserver>>,
    shared_permits: Option<ClientPermits>,
}

impl Listener {
    /// Binds the address.
    ///
    /// A Unix socket file left behind by a process that has ended is replaced.
    ///
    /// # Errors
    ///
    /// Returns an error if the address is in use or reserved, or does not belong to this machine.
    /// The error message contains the address and a remedy; the error kind is that of the system's
    /// error.
    pub async fn bind(settings: ListenSettings) -> io::Result<Self> {
        let socket = BoundSocket::bind(&settings.addr, settings.unix_mode).await?;
        let addr = socket.local_addr()?;
        Ok(Self {
            socket,
            addr,
            settings,
            counts: Arc::default(),
            refusal_observer: None,
            shared_permits: None,
        })
    }

    /// Sets the observer of requests that the listener itself refuses.
    #[must_use]
    pub fn observe_refusals(self, to: impl RefusalObserver + 'static) -> Self {
        let refusal_observer: Option<Box<dyn RefusalObserver>> = Some(Box::new(to));
        Self {
            refusal_observer,
            ..self
        }
    }

    /// Limits the total number of clients of this listener and other listeners that share the
    /// permits.
    pub fn share_permits(&mut self, permits: &ClientPermits) {
        self.shared_permits = Some(permits.clone());
    }

    /// Limits the number of concurrent clients of the listener if the settings allow more clients.
    pub fn limit_clients(&mut self, clients: usize) {
        let most = &mut self.settings.max_connections;
        *most = clients.min(*most);
    }

    /// Returns the bound address, with the port that the system chose.
    ///
    /// For a Unix socket, the address is `0.0.0.0:0`; see [`Listener::addr`].
    pub fn local_addr(&self) -> SocketAddr {
        match self.addr {
            ListenAddr::Tcp(addr) => addr,
            ListenAddr::Unix(_) => Peer::Unix.addr(),
        }
    }

    /// Returns the address that the listener listens on.
    pub fn addr(&self) -> &ListenAddr {
        &self.addr
    }

    /// Returns the URL at which visitors reach this listener, without a path.
    pub fn url(&self) -> String {
        let scheme = if self.is_tls() { "https" } else { "http" };
        match &self.addr {
            ListenAddr::Tcp(addr) => format!("{scheme}://{addr}/"),
            ListenAddr::Unix(_) => self.addr.to_string(),
        }
    }

    /// Returns the counters of the listener's connections.
    pub fn counts(&self) -> Arc<ConnectionCounts> {
        Arc::clone(&self.counts)
    }

    /// Returns the listener's certificates if its connections are encrypted.
    pub fn tls(&self) -> Option<&Tls> {
        self.settings.tls.as_ref()
    }

    /// Returns `true` if the listener's connections are encrypted.
    pub fn is_tls(&self) -> bool {
        self.settings.tls.is_some()
    }

    /// Serves connections on the current runtime until `stop` is cancelled, then drains.
    ///
    /// HTTP/1.1 and HTTP/2 are distinguished by the first bytes, or by ALPN over TLS. Every request
    /// has a [`ClientAddr`](super::ClientAddr) extension, and every request with a body also has a
    /// [`BodyGuard`](super::BodyGuard). After `stop` is cancelled, no new connections or requests
    /// are accepted. Requests in flight are aborted if they do not finish within the drain timeout.
    /// Upgraded connections are awaited for the same time; they belong to the service, which must
    /// end them.
    pub async fn serve<S>(self, service: S, stop: CancellationToken)
    where
        TowerAdapter<S>: HttpService,
    {
        self.serve_http(None, TowerAdapter(service), stop).await;
    }

    /// Serves in the same way as [`Listener::serve`], with a service that needs no extensions, on
    /// the threads of `workers`, or without workers on the threads of the current runtime.
    ///
    /// If all threads end, `stop` is cancelled.
    pub async fn serve_http<S: HttpService>(
        self,
        workers: Option<&Workers>,
        service: S,
        stop: CancellationToken,
    ) {
        let runtimes = workers.map_or_else(Runtimes::current, Workers::runtimes);
        let tls = self.settings.tls.clone();
        let shared = Arc::new(Shared {
            trusted_proxies: Arc::new(self.settings.trusted_proxies.clone()),
            forwarding_proxies: PeerTable::default(),
            has_warned_of_ambiguous: AtomicBool::new(false),
            addresses: Arc::new(AddressLimits::new(
                self.settings.max_connections_per_address,
            )),
            settings: self.settings,
            counts: self.counts,
            stop,
            cut: CancellationToken::new(),
            tasks: TaskTracker::new(),
            has_warned_of_untrusted: AtomicBool::new(false),
            refusal_observer: self.refusal_observer,
        });
        let max_connections = shared
            .settings
            .max_connections
            // Draining acquires all permits together, and tokio counts them in a `u32`.
            .clamp(1, u32::MAX as usize)
            .min(Semaphore::MAX_PERMITS);
        let permits = Arc::new(Semaphore::new(max_connections));
        let accept_loop = AcceptLoop {
            socket: Arc::new(self.socket),
            runtimes,
            shared: Arc::clone(&shared),
            permits: Arc::clone(&permits),
            shared_permits: self.shared_permits,
        };
        let watching = async {
            match tls {
                Some(tls) => tls.watch().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = accept_loop.on_all(service) => {}
            () = watching => {}
        }
        drain(&shared, &permits, max_connections).await;
    }
}

async fn drain(shared: &Shared, permits: &Semaphore, max_connections: usize) {
    shared.tasks.close();
    let all = u32::try_from(max_connections).unwrap_or(u32::MAX);
    let drained = async {
        shared.tasks.wait().await;
        // A tunnel still holds the permit of its connection, whose task has ended.
        let _ = permits.acquire_many(all).await;
    };
    let drain_timeout = shared.settings.drain_timeout;
    if time::timeout(drain_timeout, drained).await.is_err() {
        let left = max_connections.saturating_sub(permits.available_permits());
        warn!(
            connections = left,
            "closed {left} connections that were still open after {drain_timeout:?}"
        );
        shared.cut.cancel();
        shared.tasks.wait().await;
    }
}
