//! A listener with the proxy behind it, combined as `serve` does.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of a test cannot do fails the test"
)]

use std::{convert::Infallible, net::SocketAddr, time::Duration};

use futures_util::{FutureExt as _, future::Map};
use http::{Request, Response};
use hyper::body::{Body, Incoming};
use robot_detection::{
    listen::{
        HttpService, ListenSettings, Listener, RequestContext, ServiceResponse, TrustedProxies,
    },
    proxy::{ForwardFuture, Proxy, ProxyBody, ProxySettings},
};
use tokio::task::JoinHandle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::program::fast_path;

/// A running listener; it stops when dropped.
#[derive(Debug)]
pub(crate) struct ProxyServer {
    pub(crate) addr: SocketAddr,
    pub(crate) stop: CancellationToken,
    pub(crate) done: JoinHandle<()>,
}

impl ProxyServer {
    /// Serves a proxy in front of the upstream.
    pub(crate) async fn proxy(upstream: SocketAddr) -> Self {
        Self::serve_proxy(listen_settings(), proxy(upstream)).await
    }

    /// Serves a proxy as the program does, on the fast path if it is enabled.
    pub(crate) async fn serve_proxy(settings: ListenSettings, proxy: Proxy) -> Self {
        let listener = Listener::bind(settings).await.unwrap();
        Self::run(listener, |listener, stop| {
            listener.serve_http(None, Forward(proxy), stop)
        })
    }

    pub(crate) async fn serve<S, B>(settings: ListenSettings, service: S) -> Self
    where
        S: tower::Service<Request<Incoming>, Response = Response<B>, Error = Infallible>
            + Clone
            + Send
            + 'static,
        S::Future: Send,
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let listener = Listener::bind(settings).await.unwrap();
        Self::with(listener, service)
    }

    pub(crate) fn with<S, B>(listener: Listener, service: S) -> Self
    where
        S: tower::Service<Request<Incoming>, Response = Response<B>, Error = Infallible>
            + Clone
            + Send
            + 'static,
        S::Future: Send,
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        Self::run(listener, |listener, stop| listener.serve(service, stop))
    }

    fn run<F>(listener: Listener, serve: impl FnOnce(Listener, CancellationToken) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (addr, stop) = (listener.local_addr(), CancellationToken::new());
        let done = TaskTracker::new().spawn(serve(listener, stop.clone()));
        Self { addr, stop, done }
    }
}

/// The proxy as the service of a listener.
#[derive(Clone)]
struct Forward(Proxy);

type Forwarded = fn(Response<ProxyBody>) -> Result<Response<ProxyBody>, Infallible>;

impl HttpService for Forward {
    type ResponseBody = ProxyBody;
    type ReadyHead = Infallible;
    type Future = Map<ForwardFuture, Forwarded>;

    const TAKES_BODILESS: bool = true;

    fn respond(
        &self,
        request: &mut Request<RequestContext>,
    ) -> ServiceResponse<ProxyBody, Infallible, Self::Future> {
        let forwarded: Forwarded = Ok;
        ServiceResponse::Later(self.0.forward_incoming(request).map(forwarded))
    }
}

impl Drop for ProxyServer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

pub(crate) fn listen_settings() -> ListenSettings {
    ListenSettings {
        addr: "127.0.0.1:0".parse().unwrap(),
        trusted_proxies: TrustedProxies::default(),
        header_timeout: Duration::from_secs(10),
        idle_timeout: Duration::from_mins(1),
        max_connections: 1000,
        drain_timeout: Duration::from_secs(10),
        fast_path: fast_path(),
        ..ListenSettings::default()
    }
}

pub(crate) fn proxy_settings(upstream: SocketAddr) -> ProxySettings {
    ProxySettings {
        servers: vec![format!("http://{upstream}")],
        connect_timeout: Duration::from_secs(10),
        response_timeout: Duration::from_secs(10),
        fast_path: fast_path(),
        ..ProxySettings::default()
    }
}

pub(crate) fn proxy(upstream: SocketAddr) -> Proxy {
    proxy_with(proxy_settings(upstream))
}

pub(crate) fn proxy_with(settings: ProxySettings) -> Proxy {
    Proxy::new(settings).unwrap()
}
