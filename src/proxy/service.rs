use std::{
    collections::hash_map::RandomState,
    convert::Infallible,
    error::Error,
    fmt,
    hash::BuildHasher as _,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode};
use hyper::{
    body::{Body, Incoming},
    upgrade::OnUpgrade,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, warn};

use crate::listen::ClientAddr;

use super::{
    body::{Lease, ProxyBody, RequestBody},
    connect::{ConnectError, Connector},
    error::{ProxyError, chain},
    exchange::{self, Failure},
    page::{self, Page},
    pool::Pool,
    request::{self, Rules, Traits, Via},
    response, tunnel,
    upstream::Upstream,
};

/// Time that a response may stand still, unless set.
const IDLE_TIMEOUT: Duration = Duration::from_mins(5);

/// Settings of a proxy.
#[derive(Clone, Debug)]
pub struct ProxySettings {
    /// URL of the upstream: `http(s)://host[:port]`, optionally with a path
    /// that goes before the path of each request.
    pub upstream: String,
    /// Time for a connection, with its TLS handshake.
    pub connect_timeout: Duration,
    /// Time for the response's head, from the end of the request. The
    /// request's body may not stand still for longer than that.
    pub response_timeout: Duration,
    /// Keep the client's `Host`, or send the upstream's.
    pub preserve_host: bool,
}

/// Service that forwards requests to one upstream.
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
    connector: Connector,
    pool: Arc<Pool>,
    response_timeout: Duration,
    idle_timeout: Duration,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// Future of a forwarded request's response.
pub type ProxyFuture =
    Pin<Box<dyn Future<Output = Result<Response<ProxyBody>, Infallible>> + Send>>;

impl Proxy {
    /// Creates a proxy; nothing is connected yet.
    ///
    /// # Errors
    ///
    /// Fails when the upstream is not a URL that requests can be sent to (a
    /// user name, a query or another scheme in it), or is HTTPS and the system
    /// has no trusted certificates.
    pub fn new(settings: ProxySettings) -> Result<Self, ProxyError> {
        let upstream = Upstream::parse(&settings.upstream)?;
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let connector = Connector::new(upstream.is_https, settings.connect_timeout, tasks.clone())
            .map_err(|error| ProxyError::Upstream {
                url: settings.upstream,
                reason: format!("no trusted certificates: {error}; install ca-certificates"),
            })?;
        let id = RandomState::new().hash_one(upstream.uri.to_string());
        let inner = Inner {
            rules: Rules {
                upstream,
                preserve_host: settings.preserve_host,
                kept: Vec::new(),
                via: Via::new(id),
            },
            connector,
            pool: Arc::new(Pool::new(tasks.clone(), stop.clone())),
            response_timeout: settings.response_timeout,
            idle_timeout: IDLE_TIMEOUT,
            tasks,
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

    /// Sets how long a response may stand still once it has begun; five minutes by default.
    #[must_use]
    pub fn idle_timeout(self, timeout: Duration) -> Self {
        self.with(|inner| inner.idle_timeout = timeout)
    }

    /// Tells whether the upstream accepts a connection.
    ///
    /// # Errors
    ///
    /// Fails with the reason when it does not, within the connect timeout.
    pub async fn check(&self) -> Result<(), ProxyError> {
        let inner = &self.inner;
        let url = || inner.rules.upstream.uri.to_string();
        match inner.connector.stream(&inner.rules.upstream).await {
            Ok(_) => Ok(()),
            Err(ConnectError::Timeout(after)) => {
                Err(ProxyError::ConnectTimeout { url: url(), after })
            }
            Err(ConnectError::Failed(source)) => Err(ProxyError::Connect { url: url(), source }),
        }
    }

    /// Ends tunnels and kept connections, and waits for them.
    ///
    /// To be called once the listener has drained; a request after it still
    /// gets an answer, over a connection of its own.
    pub async fn close(&self) {
        self.inner.stop.cancel();
        self.inner.pool.clear();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
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
        let inner = Arc::clone(&self.inner);
        let request = request.map(RequestBody::new);
        Box::pin(async move {
            let is_html = page::accepts_html(request.headers());
            let response = inner.forward(request).await;
            Ok(response.unwrap_or_else(|page| page.response(is_html)))
        })
    }
}

impl Inner {
    async fn forward(&self, request: Request<RequestBody>) -> Result<Response<ProxyBody>, Page> {
        let (mut parts, mut body) = request.into_parts();
        let client = parts.extensions.get::<ClientAddr>().copied();
        body.strips_forwarding = client.is_none_or(|client| !client.trusted);
        let upgrade = parts.extensions.remove::<OnUpgrade>();
        let traits = Traits {
            is_empty: body.is_empty(),
            has_known_length: body.size_hint().exact().is_some(),
            can_upgrade: upgrade.is_some(),
        };
        let asked = request::rewrite(&self.rules, &mut parts, client.as_ref(), traits)?;
        let switch = asked.zip(upgrade);
        parts.extensions.clear();
        let request = Request::from_parts(parts, body);
        let (method, path) = (request.method().clone(), request.uri().clone());
        let (response, lease) = self.exchange(request).await.map_err(|failure| {
            self.log(&failure, method.as_str(), path.path());
            failure.page()
        })?;
        self.answer(response, lease, switch)
    }

    async fn exchange(
        &self,
        request: Request<RequestBody>,
    ) -> Result<(Response<Incoming>, Lease), Failure> {
        exchange::exchange(
            &self.pool,
            &self.connector,
            &self.rules.upstream,
            self.response_timeout,
            request,
        )
        .await
    }

    fn answer(
        &self,
        mut response: Response<Incoming>,
        mut lease: Lease,
        switch: Option<(HeaderValue, OnUpgrade)>,
    ) -> Result<Response<ProxyBody>, Page> {
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            return self.switch(response, switch);
        }
        let Some(closes) = response::clean(&mut response) else {
            warn!(upstream = %self.rules.upstream.uri, "the upstream's response has a transfer coding that was not asked for");
            return Err(Page::BadGateway);
        };
        lease.closes = closes;
        response.extensions_mut().clear();
        Ok(response.map(|body| ProxyBody::upstream(body, lease, self.idle_timeout)))
    }

    fn switch(
        &self,
        mut response: Response<Incoming>,
        switch: Option<(HeaderValue, OnUpgrade)>,
    ) -> Result<Response<ProxyBody>, Page> {
        let accepted = switch
            .and_then(|(asked, client)| response::switched_to(&response, &asked).zip(Some(client)));
        let Some((protocol, client)) = accepted else {
            warn!(upstream = %self.rules.upstream.uri, "the upstream switched to a protocol that was not asked for");
            return Err(Page::BadGateway);
        };
        let upstream = hyper::upgrade::on(&mut response);
        response::clean(&mut response).ok_or(Page::BadGateway)?;
        response::set_upgrade(&mut response, protocol);
        self.tasks
            .spawn(tunnel::run(client, upstream, self.stop.clone()));
        Ok(response.map(|_| ProxyBody::page(Bytes::new())))
    }

    fn log(&self, failure: &Failure, method: &str, path: &str) {
        let upstream = &self.rules.upstream.uri;
        let reason = match failure {
            Failure::Connect(ConnectError::Timeout(after)) => {
                format!("no connection after {after:?}")
            }
            Failure::Connect(ConnectError::Failed(error)) => chain(error.as_ref()),
            Failure::Response(error) | Failure::NoResponse(error) => chain(error),
            Failure::Timeout(after) => format!("no response after {after:?}"),
            Failure::ClientSilent | Failure::ClientBroke => {
                debug!(
                    method,
                    path, "the client did not send its whole request: {failure:?}"
                );
                return;
            }
        };
        warn!(%upstream, method, path, "the upstream {upstream} did not answer: {reason}");
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner")
            .field("rules", &self.rules)
            .field("connector", &self.connector)
            .field("response_timeout", &self.response_timeout)
            .field("idle_timeout", &self.idle_timeout)
            .finish_non_exhaustive()
    }
}
