//! A listener with the proxy behind it, as `serve` puts them together.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of a test cannot do fails the test"
)]

use std::{convert::Infallible, net::SocketAddr, time::Duration};

use http::{Request, Response};
use hyper::body::{Body, Incoming};
use robot_detection::{
    listen::{ListenSettings, Listener, TrustedProxies},
    proxy::{Proxy, ProxySettings},
};
use tokio::task::JoinHandle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// A running listener; it stops when dropped.
#[derive(Debug)]
pub(crate) struct Front {
    pub(crate) addr: SocketAddr,
    pub(crate) stop: CancellationToken,
    pub(crate) done: JoinHandle<()>,
}

impl Front {
    /// Serves a proxy in front of the upstream.
    pub(crate) async fn proxy(upstream: SocketAddr) -> Self {
        Self::serve(listen_settings(), proxy(upstream)).await
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
        let addr = listener.local_addr();
        let stop = CancellationToken::new();
        let serving = listener.serve(service, stop.clone());
        let done = TaskTracker::new().spawn(serving);
        Self { addr, stop, done }
    }
}

impl Drop for Front {
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
        ..ListenSettings::default()
    }
}

pub(crate) fn proxy_settings(upstream: SocketAddr) -> ProxySettings {
    ProxySettings {
        servers: vec![format!("http://{upstream}")],
        connect_timeout: Duration::from_secs(10),
        response_timeout: Duration::from_secs(10),
        ..ProxySettings::default()
    }
}

pub(crate) fn proxy(upstream: SocketAddr) -> Proxy {
    proxy_with(proxy_settings(upstream))
}

pub(crate) fn proxy_with(settings: ProxySettings) -> Proxy {
    Proxy::new(settings).unwrap()
}
