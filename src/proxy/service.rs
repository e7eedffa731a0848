use std::{
    collections::hash_map::RandomState,
    convert::Infallible,
    error::Error,
    fmt,
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
use http::{
    HeaderName, HeaderValue, Method, Request, Response, StatusCode, Version, header::CONNECTION,
    uri::PathAndQuery,
};
use hyper::{
    body::{Body, Incoming},
    upgrade::OnUpgrade,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, warn};

use crate::listen::{BodyGuard, ClientAddr};

use super::{
    body::{Lease, ProxyBody, RequestBody},
    check,
    connect::{ConnectError, Connector, http_connector},
    error::ProxyError,
    exchange::{self, Failure, Manner},
    headers,
    page::{self, Page},
    request::{self, Rules, Traits, Via},
    response,
    server::Server,
    servers::{MAX_SERVERS, Servers},
    settings::{HealthCheck, ProxySettings, ServerState},
    tls::Tls,
    tunnel,
    upstream::{Protocol, Upstream},
    websocket,
};

/// Service that forwards requests to the servers of one upstream.
///
/// Forwarding headers tell the upstream the [`ClientAddr`] in the request's
/// extensions; without one the upstream is told no client, and no forwarding
/// header of any client passes. Clones share the connections. It never fails: what goes wrong becomes a
/// page with status 400, 408, 501, 502, 504 or 508.
#[derive(Clone, Debug)]
pub struct Proxy {
    inner: Arc<Inner>,
}

#[derive(Clone)]
struct Inner {
    rules: Rules,
    servers: Servers,
    response_timeout: Duration,
    idle_timeout: Duration,
    checks: Option<Checks>,
    tasks: TaskTracker,
    tunnels: TaskTracker,
    stop: CancellationToken,
}

#[derive(Clone, Debug)]
struct Checks {
    check: HealthCheck,
    are_running: Arc<AtomicBool>,
}

/// Protocol to switch to, when the upstream agrees.
struct Switch {
    asked: HeaderValue,
    client: OnUpgrade,
    /// The client asked by HTTP/2, and gets its answer so.
    key: Option<websocket::Key>,
}

/// Request that is ready to be sent.
struct Outgoing {
    request: Request<RequestBody>,
    manner: Manner,
    switch: Option<Switch>,
}

/// Future of a forwarded request's response.
pub type ProxyFuture =
    Pin<Box<dyn Future<Output = Result<Response<ProxyBody>, Infallible>> + Send>>;

impl Proxy {
    /// Creates a proxy; nothing is connected yet.
    ///
    /// # Errors
    ///
    /// Fails when there is no server, when one is no URL that requests can be
    /// sent to (a user name, a query or another scheme in it), when their paths
    /// differ, or when one is HTTPS and there are no trusted certificates.
    pub fn new(settings: ProxySettings) -> Result<Self, ProxyError> {
        let upstreams = upstreams(&settings.servers)?;
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
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
        let connector = Connector::new(settings.connect_timeout, tls, tasks.clone());
        let first = upstreams.first().cloned().ok_or(ProxyError::NoServer)?;
        let has_others = upstreams.len() > 1;
        let servers = upstreams.into_iter().map(|upstream| {
            let (connector, tasks, stop) = (connector.clone(), tasks.clone(), stop.clone());
            Arc::new(Server::new(upstream, connector, has_others, tasks, stop))
        });
        let servers = Servers::new(servers.collect()).ok_or(ProxyError::NoServer)?;
        let id = RandomState::new().hash_one(&first.name);
        let inner = Inner {
            rules: Rules {
                upstream: first,
                preserve_host: settings.preserve_host,
                kept: Vec::new(),
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

    /// Adds a header of this house, which a client's `Connection` cannot remove.
    #[must_use]
    pub fn keep_header(self, name: HeaderName) -> Self {
        self.with(|inner| inner.rules.kept.push(name))
    }

    /// Sets how long a response may stand still once it has begun.
    #[must_use]
    pub fn idle_timeout(self, timeout: Duration) -> Self {
        self.with(|inner| inner.idle_timeout = timeout)
    }

    /// Begins to check the servers, if that is set; else the first request does.
    ///
    /// To be called on a runtime. The checks end with [`Proxy::close`], or with
    /// the last clone of the proxy.
    pub fn start_checks(&self) {
        let inner = &self.inner;
        let Some(checks) = &inner.checks else { return };
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

    /// Tells whether the servers accept connections, and pass their check if there is one.
    ///
    /// # Errors
    ///
    /// Fails with the first that does not, within the time limits.
    pub async fn check(&self) -> Result<(), ProxyError> {
        let inner = &self.inner;
        for server in inner.servers.iter() {
            let url = || server.upstream.name.to_string();
            server.check().await.map_err(|error| match error {
                ConnectError::Timeout(after) => ProxyError::ConnectTimeout { url: url(), after },
                ConnectError::Failed(source) => ProxyError::Connect { url: url(), source },
            })?;
            if let Some(checks) = &inner.checks {
                let checking = check::once(server, &checks.check.path, inner.response_timeout);
                let unhealthy = |reason| ProxyError::Unhealthy { url: url(), reason };
                checking.await.map_err(unhealthy)?;
            }
        }
        Ok(())
    }

    /// Returns the state of each server, in the order of the settings.
    #[must_use]
    pub fn servers(&self) -> Vec<ServerState> {
        let states = self.inner.servers.iter().map(|server| ServerState {
            url: server.upstream.name.to_string(),
            is_healthy: server.health.is_good(),
            in_flight: server.pool.in_flight(),
            requests: server.pool.begun(),
            failures: server.health.failures(),
            kept_connections: server.pool.kept(),
            last_error: server.health.last_error().map(|error| error.to_string()),
        });
        states.collect()
    }

    /// Forwards a request, and returns the response or a page that says why there is none.
    ///
    /// The same as calling the service, without a box around the future. To be
    /// called on a runtime.
    pub fn forward<B>(
        &self,
        mut request: Request<B>,
    ) -> impl Future<Output = Response<ProxyBody>> + Send + use<B>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        if self.inner.checks.is_some() {
            self.start_checks();
        }
        let is_html = page::accepts_html(request.headers());
        let is_http2 = request.version() == Version::HTTP_2;
        let guard = request.extensions_mut().remove::<BodyGuard>();
        let request = request.map(|body| RequestBody::new(body).guarded(guard));
        let inner = Arc::clone(&self.inner);
        // Before the future, which has less to hold then.
        let mut outgoing = inner.prepare(request);
        async move {
            let response = match &mut outgoing {
                Ok(outgoing) => inner.forward(outgoing).await,
                Err(page) => Err(*page),
            };
            response.unwrap_or_else(|page| {
                let mut response = page.response(is_html);
                if page.is_last() && !is_http2 {
                    headers::set(response.headers_mut(), CONNECTION, "close");
                }
                response
            })
        }
    }

    /// Waits until the tunnels of now have ended by themselves.
    pub async fn tunnels_ended(&self) {
        self.inner.tunnels.close();
        self.inner.tunnels.wait().await;
    }

    /// Ends tunnels, checks and kept connections, and waits for them.
    ///
    /// To be called once the listener has drained; a request after it still
    /// gets an answer, over a connection of its own.
    pub async fn close(&self) {
        self.inner.stop.cancel();
        for server in self.inner.servers.iter() {
            server.pool.close();
        }
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
        self.tunnels_ended().await;
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
    let other = upstreams.iter().find(|one| one.prefix() != first.prefix());
    match other {
        Some(other) => Err(ProxyError::Prefix(other.name.to_string())),
        None => Ok(upstreams),
    }
}

impl Inner {
    /// Rewrites a request for the upstream.
    fn prepare(&self, request: Request<RequestBody>) -> Result<Box<Outgoing>, Page> {
        let (mut parts, mut body) = request.into_parts();
        let client = parts.extensions.get::<ClientAddr>().copied();
        body.strips_forwarding = client.is_none_or(|client| !client.trusted);
        let upgrade = parts.extensions.remove::<OnUpgrade>();
        let key = (parts.method == Method::CONNECT && upgrade.is_some())
            .then(|| websocket::from_connect(&mut parts))
            .flatten();
        let traits = Traits {
            is_empty: body.is_empty(),
            has_known_length: body.size_hint().exact().is_some(),
            can_upgrade: upgrade.is_some(),
        };
        let asked = request::rewrite(&self.rules, &mut parts, client.as_ref(), traits)?;
        let switch = asked
            .zip(upgrade)
            .map(|(asked, client)| Switch { asked, client, key });
        parts.extensions.clear();
        Ok(Box::new(Outgoing {
            manner: Manner {
                response_timeout: self.response_timeout,
                sets_host: !self.rules.preserve_host,
                switches: switch.is_some(),
            },
            request: Request::from_parts(parts, body),
            switch,
        }))
    }

    async fn forward(&self, outgoing: &mut Outgoing) -> Result<Response<ProxyBody>, Page> {
        let Outgoing {
            request,
            manner,
            switch,
        } = outgoing;
        let (method, target) = (
            request.method().clone(),
            request.uri().path_and_query().cloned(),
        );
        let answered = exchange::exchange(&self.servers, manner, request).await;
        let (response, lease) = answered.map_err(|(failure, server)| {
            let path = target.as_ref().map_or("", PathAndQuery::path);
            log(&failure, &server, method.as_str(), path);
            failure.page()
        })?;
        self.answer(response, lease, switch.take())
    }

    fn answer(
        &self,
        mut response: Response<Incoming>,
        mut lease: Lease,
        switch: Option<Switch>,
    ) -> Result<Response<ProxyBody>, Page> {
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            return self.switch(response, lease, switch);
        }
        if response.status().is_success() && switch.is_some_and(|switch| switch.key.is_some()) {
            // By HTTP/2 it would mean that the protocols have been switched.
            warn!(
                upstream = lease.server(),
                "the upstream answers a WebSocket's handshake without switching"
            );
            return Err(Page::BadGateway);
        }
        let Some(closes) = response::clean(&mut response) else {
            warn!(
                upstream = lease.server(),
                "the upstream's response has a transfer coding that was not asked for, or a length that is no number"
            );
            return Err(Page::BadGateway);
        };
        lease.closes = closes;
        response.extensions_mut().clear();
        Ok(response.map(|body| ProxyBody::upstream(body, lease, self.idle_timeout)))
    }

    fn switch(
        &self,
        mut response: Response<Incoming>,
        lease: Lease,
        switch: Option<Switch>,
    ) -> Result<Response<ProxyBody>, Page> {
        let accepted = switch
            .and_then(|switch| response::switched_to(&response, &switch.asked).zip(Some(switch)));
        let Some((protocol, switch)) = accepted else {
            warn!(
                upstream = lease.server(),
                "the upstream switched to a protocol that was not asked for"
            );
            return Err(Page::BadGateway);
        };
        let upstream = hyper::upgrade::on(&mut response);
        response::clean(&mut response).ok_or(Page::BadGateway)?;
        match &switch.key {
            None => response::set_upgrade(&mut response, protocol),
            Some(key) if key.accepts(response.headers_mut()) => {
                *response.status_mut() = StatusCode::OK;
            }
            Some(_) => {
                warn!(
                    upstream = lease.server(),
                    "the upstream switched without the answer to the WebSocket's key"
                );
                return Err(Page::BadGateway);
            }
        }
        let place = lease.into_place();
        let tunnel = tunnel::run(switch.client, upstream, self.stop.clone());
        self.tunnels.spawn(async move {
            tunnel.await;
            drop(place);
        });
        Ok(response.map(|_| ProxyBody::page(Bytes::new())))
    }
}

fn log(failure: &Failure, upstream: &str, method: &str, path: &str) {
    if let Some(reason) = failure.reason() {
        warn!(
            upstream,
            method, path, "the upstream {upstream} did not answer: {reason}"
        );
    } else {
        debug!(
            method,
            path, "the client did not send its whole request: {failure:?}"
        );
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner")
            .field("rules", &self.rules)
            .field("servers", &self.servers)
            .field("response_timeout", &self.response_timeout)
            .field("idle_timeout", &self.idle_timeout)
            .field("checks", &self.checks)
            .finish_non_exhaustive()
    }
}
