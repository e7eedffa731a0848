//! A server of an upstream, with its address, health and connections.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    task::JoinHandle,
    time::{self, Instant},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    connect::{ConnectError, Connector, NewConnection},
    health::Health,
    http1::Connection,
    pool::{Pool, SWEEP_EVERY},
    sender::Sender,
    upstream::{Protocol, Upstream},
};

/// The delay before the next connection attempt if the process cannot open more files.
const OUT_OF_FILES_PAUSE: Duration = Duration::from_millis(20);

/// An upstream server, to which requests can be sent.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) upstream: Upstream,
    pub(super) health: Health,
    pub(super) pool: Pool,
    connector: Connector,
    /// Whether the server uses HTTP/2, or, until the first handshake (ALPN), whether it is expected
    /// to use HTTP/2.
    is_http2: AtomicBool,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// A slot that a request occupies at a server until the response has ended.
#[derive(Debug)]
pub(super) struct ServerSlot {
    pub(super) server: Arc<Server>,
    shard: usize,
}

impl Server {
    pub(super) fn new(
        upstream: Upstream,
        connector: Connector,
        has_others: bool,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        let is_http2 = match upstream.protocol {
            Protocol::Http1 => false,
            Protocol::H2c => true,
            Protocol::Tls => connector.offers_http2(),
        };
        Self {
            health: Health::new(Arc::clone(&upstream.name), has_others),
            pool: Pool::new(),
            upstream,
            connector,
            is_http2: AtomicBool::new(is_http2),
            tasks,
            stop,
        }
    }

    pub(super) fn is_http2(&self) -> bool {
        self.is_http2.load(Ordering::Relaxed)
    }

    /// Returns `true` if the server can switch protocols, which requires HTTP/1.1.
    pub(super) fn can_switch(&self) -> bool {
        self.upstream.protocol != Protocol::H2c
    }

    /// Checks whether the server accepts a connection.
    pub(super) async fn check(&self) -> Result<(), ConnectError> {
        let connecting = self.connector.stream(&self.upstream, false);
        connecting.await.map(|_| ())
    }

    /// Opens a connection to the server that does not belong to the pool.
    pub(super) async fn connect_alone(&self) -> Result<Sender, ConnectError> {
        let connecting = self.connector.connect(&self.upstream, false);
        Ok(match connecting.await? {
            NewConnection::Http1(http1) => Sender::Http1(http1),
            NewConnection::Http2(shared) => Sender::Http2(shared.stream()),
        })
    }

    /// Spawns a task that may outlive the response of its request.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        self.tasks.spawn(task)
    }

    fn sweeps(self: &Arc<Self>, number: usize) {
        let sweeping = sweep(Arc::downgrade(self), number, self.stop.clone());
        self.tasks.spawn(sweeping);
    }
}

impl ServerSlot {
    pub(super) fn new(server: Arc<Server>) -> Self {
        let shard = server.pool.current_shard();
        if let Some(shard) = server.pool.shard(shard) {
            shard.begin();
        }
        Self { server, shard }
    }

    /// Returns the name of the upstream server for log messages.
    pub(super) fn name(&self) -> &str {
        &self.server.upstream.name
    }

    /// Takes an existing connection from the pool, if there is one.
    pub(super) fn take(&self, switches: bool, now: Instant) -> Option<Sender> {
        let shard = self.server.pool.shard(self.shard)?;
        if !switches && self.server.is_http2() {
            return shard.stream(now).map(Sender::Http2);
        }
        shard.take(now).map(Sender::Http1)
    }

    /// Takes an existing HTTP/1.1 connection from the pool, if the server uses that protocol.
    pub(super) fn take_http1(&self, switches: bool, now: Instant) -> Option<Box<Connection>> {
        if !switches && self.server.is_http2() {
            return None;
        }
        self.server.pool.shard(self.shard)?.take(now)
    }

    /// Opens a connection to the server; an HTTP/2 connection is then shared with other requests.
    ///
    /// If the process cannot open more files, this method waits for a free descriptor or for a
    /// connection that another request returns.
    pub(super) async fn connect(&self, switches: bool) -> Result<Sender, ConnectError> {
        let deadline = Instant::now() + self.server.connector.timeout();
        loop {
            match self.connect_once(switches).await {
                Err(error) if error.is_out_of_files() && Instant::now() < deadline => {
                    time::sleep(OUT_OF_FILES_PAUSE).await;
                    if let Some(sender) = self.take(switches, Instant::now()) {
                        return Ok(sender);
                    }
                }
                tried => return tried,
            }
        }
    }

    async fn connect_once(&self, switches: bool) -> Result<Sender, ConnectError> {
        let server = &self.server;
        if switches || !server.is_http2() {
            return self.connect_now(switches).await;
        }
        let Some(shard) = server.pool.shard(self.shard) else {
            return self.connect_now(switches).await;
        };
        let timeout = server.connector.timeout();
        // Waiting for another request's handshake is part of connecting and has the same timeout.
        let Ok(_turn) = time::timeout(timeout, shard.connecting.lock()).await else {
            return Err(ConnectError::Timeout(timeout));
        };
        // Another request has opened a connection in the meantime.
        if let Some(stream) = shard.stream(Instant::now()) {
            return Ok(Sender::Http2(stream));
        }
        self.connect_now(switches).await
    }

    async fn connect_now(&self, switches: bool) -> Result<Sender, ConnectError> {
        let server = &self.server;
        match server.connector.connect(&server.upstream, switches).await? {
            NewConnection::Http1(http1) => {
                // For a protocol switch, only HTTP/1.1 is offered, so the result does not show
                // whether the server supports HTTP/2.
                if !switches {
                    server.is_http2.store(false, Ordering::Relaxed);
                }
                Ok(Sender::Http1(http1))
            }
            NewConnection::Http2(shared) => {
                server.is_http2.store(true, Ordering::Relaxed);
                let stream = shared.stream();
                if server.pool.share(self.shard, shared) {
                    server.sweeps(self.shard);
                }
                Ok(Sender::Http2(stream))
            }
        }
    }

    /// Keeps a connection in the pool for the next request.
    pub(super) fn return_connection(&self, connection: Box<Connection>) {
        if self.server.pool.store(self.shard, connection) {
            self.server.sweeps(self.shard);
        }
    }
}

impl Drop for ServerSlot {
    fn drop(&mut self) {
        if let Some(shard) = self.server.pool.shard(self.shard) {
            shard.end();
        }
    }
}

/// Sweeps a shard of the pool periodically as long as the shard contains connections.
async fn sweep(server: Weak<Server>, number: usize, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = time::sleep(SWEEP_EVERY) => {}
            () = stop.cancelled() => return,
        }
        // The task must not keep the server alive, or the connections of a dropped proxy would stay
        // open until they expire.
        if !server
            .upgrade()
            .is_some_and(|server| server.pool.sweep(number))
        {
            return;
        }
    }
}
