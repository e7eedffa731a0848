use std::{
    collections::hash_map::RandomState,
    convert::Infallible,
    error::Error,
    hash::BuildHasher as _,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderName, Request, Response, Version};
use hyper::body::Body;
use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::listen::{BodyGuard, ClientAddr, RequestContext, clean_headers};

use super::{
    body::RequestBody,
    check,
    connect::{ConnectError, Connector, http_connector},
    error::ProxyError,
    forward_future::ForwardFuture,
    inner::Inner,
    proxy_body::ProxyBody,
    request::{Rules, Via},
    round_trip::RoundTrip,
    server::Server,
    servers::{MAX_SERVERS, Servers},
    settings::{HealthCheck, ProxySettings, ServerState},
    tls::Tls,
    upstream::{Protocol, Upstream},
};

/// A service that forwards requests to the servers of one upstream.
///
/// Forwarding headers report the [`ClientAddr`] in the request's extensions to the upstream;
/// without this extension, they contain no client address, and headers sent by the client are
/// removed. Clones of the proxy share their connections. The service never returns an error: a
/// failure becomes an error page with status 400, 408, 413, 501, 502, 504 or 508.
#[derive(Clone, Debug)]
pub struct Proxy {
    inner: Arc<Inner>,
}

#[derive(Clone, Debug)]
pub(super) struct Checks {
    check: HealthCheck,
    are_running: Arc<AtomicBool>,
}

/// A future that resolves to the response to a forwarded request.
pub type ProxyFuture =
    Pin<Box<dyn Future<Output = Result<Response<ProxyBody>, Infallible>> + Send>>;

impl Proxy {
    /// Creates a proxy without opening any connections.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no server, if a server's URL cannot be used for requests
    /// (because of a user name, a query or another scheme), if the paths of the servers differ, or
    /// if a server uses HTTPS and there are no trusted certificates.
    pub fn new(settings: ProxySettings) -> Result<Self, ProxyError> {
        let upstreams = upstreams(&settings.servers)?;
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        // The certificate file is read even if no server needs it, so that a wrong path is
        // detected.
        let has_tls = upstreams.iter().any(|one| one.protocol == Protocol::Tls);
        let tls = (has_tls || settings.ca_file.is_some())
            .then(|| {
                Tls::new(
                    settings.ca_file.as_deref(),
                    settings.http2,
                    &http_connector(),
                )
            })
            .transpose()?;
        let connector = Connector::new(&settings, tls, tasks.clone());
        let first = upstreams.first().cloned().ok_or(ProxyError::NoServer)?;
        let has_others = upstreams.len() > 1;
        let servers = upstreams.into_iter().map(|upstream| {
            let (connector, tasks, stop) = (connector.clone(), tasks.clone(), stop.clone());
            Arc::new(Server::new(upstream, connector, has_others, tasks, stop))
        });
        let servers = Servers::new(servers.collect()).ok_or(ProxyError::NoServer)?;
        // Random keys distinguish instances with the same upstream. Otherwise, an instance behind
        // another instance would treat its requests as a loop.
        let id = RandomState::new().hash_one(&first.name);
        let inner = Inner {
            rules: Rules {
                upstream: first,
                preserve_host: settings.preserve_host,
                kept: Vec::new(),
                hidden: None,
                via: Via::new(id),
            },
            servers,
            response_timeout: settings.response_timeout,
            idle_timeout: settings.idle_timeout,
            checks: settings.health_check.map(|check| Checks {
                check,
                are_running: Arc::default(),
            }),
            tasks,
            tunnels: TaskTracker::new(),
            stop,
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Adds a header that a client's `Connection` header cannot remove.
    #[must_use]
    pub fn keep_header(self, name: HeaderName) -> Self {
        self.with(|inner| inner.rules.kept.push(name))
    }

    /// Sets the name prefix of headers that are not sent to the servers; [kept](Self::keep_header)
    /// headers are still sent.
    #[must_use]
    pub fn hide_headers(self, prefix: &'static str) -> Self {
        self.with(|inner| inner.rules.hidden = Some(prefix))
    }

    /// Sets the maximum time for which a response may stall once it has begun.
    #[must_use]
    pub fn idle_timeout(self, timeout: Duration) -> Self {
        self.with(|inner| inner.idle_timeout = timeout)
    }

    /// Starts the health checks, if they are configured. If this method is not called, the first
    /// request starts them.
    ///
    /// This method must be called on a runtime. The checks end with [`Proxy::close`], or when the
    /// last clone of the proxy is dropped.
    pub fn start_checks(&self) {
        let inner = &self.inner;
        let Some(checks) = &inner.checks else { return };
        // Each request calls this method too, but only a single task may check each server.
        if checks.are_running.swap(true, Ordering::Relaxed) {
            return;
        }
        for server in inner.servers.iter() {
            let (server, check) = (Arc::downgrade(server), checks.check.clone());
            let stop = inner.stop.clone();
            let running = check::run(server, check, inner.response_timeout, stop);
            inner.tasks.spawn(running);
        }
    }

    /// Checks whether the servers accept connections and pass their health check, if one is
    /// configured.
    ///
    /// # Errors
    ///
    /// Returns the error of the first server that fails or times out.
    pub async fn check(&self) -> Result<(), ProxyError> {
        for server in self.inner.servers.iter() {
            self.inner.check(server).await?;
        }
        Ok(())
    }

    /// Checks each server like [`Proxy::check`], and returns the URL and the result for each
    /// server.
    pub async fn check_servers(&self) -> Vec<(String, Result<(), ProxyError>)> {
        let mut checked = Vec::new();
        for server in self.inner.servers.iter() {
            let result = self.inner.check(server).await;
            checked.push((server.upstream.name.to_string(), result));
        }
        checked
    }

    /// Returns the state of each server, in the order of the settings.
    pub fn servers(&self) -> Vec<ServerState> {
        let states = self.inner.servers.iter().map(|server| ServerState {
            url: server.upstream.name.to_string(),
            is_healthy: server.health.is_healthy(),
            in_flight: server.pool.in_flight(),
            requests: server.pool.started_requests(),
            failures: server.health.failures(),
            kept_connections: server.pool.idle_count(),
            last_error: server.health.last_error().map(|error| error.to_string()),
        });
        states.collect()
    }

    /// Forwards a request to the upstream. Returns the response, or an error page if there is no
    /// response.
    ///
    /// This is equivalent to calling the service, but the thread reuses the box of the future. The
    /// method must be called on a runtime.
    pub fn forward<B>(
        &self,
        mut request: Request<B>,
    ) -> impl Future<Output = Response<ProxyBody>> + Send + use<B>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        clean_headers(request.headers_mut());
        let client = request.extensions().get::<ClientAddr>().copied();
        let guard = request.extensions_mut().remove::<BodyGuard>();
        let round_trip = self.round_trip(&request, client, None);
        ForwardFuture::new(round_trip, false, |message| {
            message.take_head(&mut request);
            message.body = RequestBody::new(request.into_body()).guarded(guard);
        })
    }

    /// Forwards a request received from a [`Listener`](crate::listen::Listener).
    pub fn forward_incoming(&self, request: &mut Request<RequestContext>) -> ForwardFuture {
        let arrival = request.body();
        let (client, begun) = (arrival.client(), arrival.started_at());
        let is_plain = arrival.is_plain();
        let round_trip = self.round_trip(request, Some(client), Some(begun));
        ForwardFuture::new(round_trip, is_plain, |message| {
            message.take_head(request);
            if let (Some(body), guard) = request.body_mut().take_body() {
                message.body = RequestBody::new(body).guarded(guard);
            }
        })
    }

    fn round_trip<B>(
        &self,
        request: &Request<B>,
        client: Option<ClientAddr>,
        begun: Option<Instant>,
    ) -> RoundTrip {
        if self.inner.checks.is_some() {
            self.start_checks();
        }
        let is_http2 = request.version() == Version::HTTP_2;
        RoundTrip::new(Arc::clone(&self.inner), client, is_http2, begun)
    }

    /// Waits until all currently open tunnels have ended.
    pub async fn wait_for_tunnels(&self) {
        self.inner.tunnels.close();
        self.inner.tunnels.wait().await;
    }

    /// Ends all tunnels, health checks and kept connections, and waits until they have ended.
    ///
    /// Call this method after the listener has drained. Later requests are still forwarded, but
    /// over new connections.
    pub async fn close(&self) {
        self.inner.stop.cancel();
        for server in self.inner.servers.iter() {
            server.pool.close();
        }
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
        self.wait_for_tunnels().await;
    }

    fn with(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.inner));
        self
    }
}

impl<B> tower_service::Service<Request<B>> for Proxy
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<ProxyBody>;
    type Error = Infallible;
    type Future = ProxyFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> ProxyFuture {
        let response = self.forward(request);
        Box::pin(async move { Ok(response.await) })
    }
}

fn upstreams(urls: &[String]) -> Result<Vec<Upstream>, ProxyError> {
    if urls.len() > MAX_SERVERS {
        return Err(ProxyError::TooManyServers(urls.len()));
    }
    let upstreams: Vec<_> = urls
        .iter()
        .map(|url| Upstream::parse(url))
        .collect::<Result<_, _>>()?;
    let first = upstreams.first().ok_or(ProxyError::NoServer)?;
    // Requests are rewritten once, before a server is chosen, and a retry may go to any of them.
    let other = upstreams.iter().find(|one| one.prefix() != first.prefix());
    match other {
        Some(other) => Err(ProxyError::Prefix(other.name.to_string())),
        None => Ok(upstreams),
    }
}

impl Inner {
    async fn check(&self, server: &Arc<Server>) -> Result<(), ProxyError> {
        let url = || server.upstream.name.to_string();
        server.check().await.map_err(|error| match error {
            ConnectError::Timeout(after) => ProxyError::ConnectTimeout { url: url(), after },
            ConnectError::Failed(source) => ProxyError::Connect { url: url(), source },
        })?;
        if let Some(checks) = &self.checks {
            let checking = check::check_once(server, &checks.check.path, self.response_timeout);
            let unhealthy = |reason| ProxyError::Unhealthy { url: url(), reason };
            checking.await.map_err(unhealthy)?;
        }
        Ok(())
    }
}
