use std::{
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use http::{Request, Response};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use pin_project_lite::pin_project;
use tower::util::Oneshot;

use super::{client_addr::TrustedProxies, idle::Activity};

/// The service as one connection sees it: requests are counted and know their client.
#[derive(Clone, Debug)]
pub(super) struct ConnectionService<S> {
    pub(super) service: S,
    pub(super) peer: SocketAddr,
    pub(super) trusted_proxies: Arc<TrustedProxies>,
    pub(super) activity: Arc<Activity>,
}

impl<S, B> hyper::service::Service<Request<Incoming>> for ConnectionService<S>
where
    S: tower_service::Service<Request<Incoming>, Response = Response<B>> + Clone,
    B: Body,
{
    type Response = Response<CountedBody<B>>;
    type Error = S::Error;
    type Future = CountedFuture<Oneshot<S, Request<Incoming>>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        let addr = self.trusted_proxies.resolve(self.peer, request.headers());
        request.extensions_mut().insert(addr);
        CountedFuture {
            in_flight: Some(InFlight::new(&self.activity)),
            inner: Oneshot::new(self.service.clone(), request),
        }
    }
}

/// Counts a request as in flight until it is dropped.
#[derive(Debug)]
pub(super) struct InFlight(Arc<Activity>);

impl InFlight {
    fn new(activity: &Arc<Activity>) -> Self {
        activity.request_begins();
        Self(Arc::clone(activity))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.request_ends();
    }
}

pin_project! {
    /// Future of a response whose body goes on counting.
    pub(super) struct CountedFuture<F> {
        in_flight: Option<InFlight>,
        #[pin]
        inner: F,
    }
}

impl<F, B, E> Future for CountedFuture<F>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = Result<Response<CountedBody<B>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let response = ready!(this.inner.poll(cx))?;
        let in_flight = this.in_flight.take();
        Poll::Ready(Ok(response.map(|inner| CountedBody { in_flight, inner })))
    }
}

pin_project! {
    /// Body that keeps its request in flight.
    pub(super) struct CountedBody<B> {
        in_flight: Option<InFlight>,
        #[pin]
        inner: B,
    }
}

impl<B: Body> Body for CountedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        self.project().inner.poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
