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
    HeaderName, HeaderValue, Method, Request, Response, StatusCode, Version,
    header::{ACCEPT, CONNECTION},
    uri::PathAndQuery,
};
use hyper::{body::Body, upgrade::OnUpgrade};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, warn};

#[cfg(feature = "server")]
use crate::listen::Arrival;
use crate::listen::{BodyGuard, ClientAddr};

use super::{
    body::RequestBody,
    check,
    connect::{ConnectError, Connector, http_connector},
    error::ProxyError,
    exchange::{self, Answer, Failure, Manner, Message, Source},
    headers,
    page::{self, Page},
    proxy_body::ProxyBody,
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
    message: Message,
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
        for server in self.inner.servers.iter() {
            self.inner.check(server).await?;
        }
        Ok(())
    }

    /// Checks each server as [`Proxy::check`] does; returns its URL and the result.
    pub async fn check_servers(&self) -> Vec<(String, Result<(), ProxyError>)> {
        let mut checked = Vec::new();
        for server in self.inner.servers.iter() {
            let result = self.inner.check(server).await;
            checked.push((server.upstream.name.to_string(), result));
        }
        checked
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
        let client = request.extensions().get::<ClientAddr>().copied();
        let guard = request.extensions_mut().remove::<BodyGuard>();
        let request = request.map(|body| RequestBody::new(body).guarded(guard));
        self.send(request, client)
    }

    /// Forwards a request as a listener of this house hands it over.
    #[cfg(feature = "server")]
    pub(crate) fn forward_arrival(
        &self,
        request: Request<Arrival>,
    ) -> impl Future<Output = Response<ProxyBody>> + Send + use<> {
        let (parts, arrival) = request.into_parts();
        let (body, client, guard) = arrival.into_parts();
        let body = RequestBody::new(body).guarded(guard);
        self.send(Request::from_parts(parts, body), Some(client))
    }

    fn send(
        &self,
        request: Request<RequestBody>,
        client: Option<ClientAddr>,
    ) -> impl Future<Output = Response<ProxyBody>> + Send + use<> {
        if self.inner.checks.is_some() {
            self.start_checks();
        }
        let accept = request.headers().get(ACCEPT).cloned();
        let is_http2 = request.version() == Version::HTTP_2;
        let inner = Arc::clone(&self.inner);
        // Before the future, which has less to hold then.
        let mut outgoing = inner.prepare(request, client);
        async move {
            let response = match &mut outgoing {
                Ok(outgoing) => inner.forward(outgoing).await,
                Err(page) => Err(*page),
            };
            response.unwrap_or_else(|page| {
                let mut response = page.response(accept.as_ref().is_some_and(page::accepts_html));
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
    async fn check(&self, server: &Arc<Server>) -> Result<(), ProxyError> {
        let url = || server.upstream.name.to_string();
        server.check().await.map_err(|error| match error {
            ConnectError::Timeout(after) => ProxyError::ConnectTimeout { url: url(), after },
            ConnectError::Failed(source) => ProxyError::Connect { url: url(), source },
        })?;
        if let Some(checks) = &self.checks {
            let checking = check::once(server, &checks.check.path, self.response_timeout);
            let unhealthy = |reason| ProxyError::Unhealthy { url: url(), reason };
            checking.await.map_err(unhealthy)?;
        }
        Ok(())
    }

    /// Rewrites a request for the upstream.
    fn prepare(
        &self,
        request: Request<RequestBody>,
        client: Option<ClientAddr>,
    ) -> Result<Outgoing, Page> {
        let (mut parts, mut body) = request.into_parts();
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
        let rewritten = request::rewrite(&self.rules, &mut parts, client.as_ref(), traits)?;
        let switch = rewritten
            .protocol
            .zip(upgrade)
            .map(|(asked, client)| Switch { asked, client, key });
        parts.extensions.clear();
        Ok(Outgoing {
            manner: Manner {
                response_timeout: self.response_timeout,
                sets_host: !self.rules.preserve_host,
                switches: switch.is_some(),
            },
            message: Message {
                request: Request::from_parts(parts, body),
                added: Some(rewritten.added),
            },
            switch,
        })
    }

    async fn forward(&self, outgoing: &mut Outgoing) -> Result<Response<ProxyBody>, Page> {
        let Outgoing {
            message,
            manner,
            switch,
        } = outgoing;
        let (method, target) = (
            message.request.method().clone(),
            message.request.uri().path_and_query().cloned(),
        );
        let answered = exchange::exchange(&self.servers, manner, message).await;
        let answer = answered.map_err(|(failure, server)| {
            let path = target.as_ref().map_or("", PathAndQuery::path);
            log(&failure, &server, method.as_str(), path);
            failure.page()
        })?;
        self.answer(answer, switch.take())
    }

    fn answer(&self, answer: Answer, switch: Option<Switch>) -> Result<Response<ProxyBody>, Page> {
        let status = answer.response.status();
        if status == StatusCode::SWITCHING_PROTOCOLS {
            return self.switch(answer, switch);
        }
        let Answer {
            mut response,
            source,
            place,
        } = answer;
        if status.is_success() && switch.is_some_and(|switch| switch.key.is_some()) {
            // By HTTP/2 it would mean that the protocols have been switched.
            warn!(
                upstream = place.name(),
                "the upstream answers a WebSocket's handshake without switching"
            );
            return Err(Page::BadGateway);
        }
        // Of an answer of HTTP/1.1 most have been read so that nothing is left to remove.
        let is_clean = matches!(&source, Source::Http1(_, rest) if !rest.is_for_hop);
        if !is_clean && !response::clean(&mut response) {
            warn!(
                upstream = place.name(),
                "the upstream's response has a transfer coding that was not asked for, or a length that is no number"
            );
            return Err(Page::BadGateway);
        }
        let idle_timeout = self.idle_timeout;
        let body = match source {
            Source::Http1(connection, rest) => {
                ProxyBody::http1(connection, place, rest, idle_timeout)
            }
            Source::Http2(stream, body) => {
                response.extensions_mut().clear();
                ProxyBody::http2(body, stream, place, idle_timeout)
            }
        };
        Ok(response.map(|()| body))
    }

    fn switch(&self, answer: Answer, switch: Option<Switch>) -> Result<Response<ProxyBody>, Page> {
        let Answer {
            mut response,
            source,
            place,
        } = answer;
        let accepted = switch
            .and_then(|switch| response::switched_to(&response, &switch.asked).zip(Some(switch)));
        let (Some((protocol, switch)), Source::Http1(connection, _)) = (accepted, source) else {
            warn!(
                upstream = place.name(),
                "the upstream switched to a protocol that was not asked for"
            );
            return Err(Page::BadGateway);
        };
        if !response::clean(&mut response) {
            return Err(Page::BadGateway);
        }
        match &switch.key {
            None => response::set_upgrade(&mut response, protocol),
            Some(key) if key.accepts(response.headers_mut()) => {
                *response.status_mut() = StatusCode::OK;
            }
            Some(_) => {
                warn!(
                    upstream = place.name(),
                    "the upstream switched without the answer to the WebSocket's key"
                );
                return Err(Page::BadGateway);
            }
        }
        let upstream = connection.into_stream();
        let tunnel = tunnel::run(switch.client, upstream, self.stop.clone());
        self.tunnels.spawn(async move {
            tunnel.await;
            drop(place);
        });
        Ok(response.map(|()| ProxyBody::page(Bytes::new())))
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
