//! Incoming requests as a listener hands them to its service.

use std::{
    convert::Infallible,
    error::Error,
    mem,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use http::{Request, Response, request::Parts};
use hyper::body::{Body, Incoming};
use hyper::body::{Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::time::Instant;
use tower::util::Oneshot;
use tower_service::Service;

use super::{
    client_addr::ClientAddr,
    guard::BodyGuard,
    http_service::{HttpService, ServiceResponse},
};

/// Body of an incoming request, and what the listener knows about its client.
///
/// It stands in the place of the body, since extensions cost allocations that a request
/// which is answered at once need not pay.
#[derive(Debug)]
pub struct RequestContext {
    /// None: there is none, and hyper has not seen the request.
    pub(super) body: Option<Incoming>,
    pub(super) client: ClientAddr,
    pub(super) is_forged: bool,
    pub(super) guard: Option<BodyGuard>,
    /// When its head was complete, or when it had waited for the verdict that it is decided by.
    pub(super) started_at: Instant,
}

/// Body of a request that may have none.
#[derive(Debug)]
pub struct OptionalBody(Option<Incoming>);

/// Tower service that is served as an [`HttpService`]: the client is in the extensions.
#[derive(Clone, Debug)]
pub(super) struct TowerAdapter<S>(pub(super) S);

impl RequestContext {
    /// Returns the address of the client.
    #[must_use]
    pub fn client(&self) -> ClientAddr {
        self.client
    }

    /// Returns `true` if an untrusted client sent a misspelt form of an identity header, or the
    /// `X-Forwarded-For` and the `Forwarded` of a trusted proxy name different clients.
    ///
    /// CGI and its descendants read `X_Forwarded_For` as `X-Forwarded-For` (RFC 3875 §4.1.18). The
    /// listener has removed such headers: `Forwarded`, `X-Forwarded-*`, `X-Original-*`, `X-Real-IP`,
    /// `X-Robot-Detection*` and the [client header](super::TrustedProxies::client_header).
    #[must_use]
    pub fn is_forged(&self) -> bool {
        self.is_forged
    }

    /// Sets who the client is, where the request tells of one that another server has taken in.
    pub fn set_client(&mut self, client: ClientAddr) {
        self.client = client;
    }

    /// Returns when work on the request started.
    #[must_use]
    pub fn started_at(&self) -> Instant {
        self.started_at
    }

    /// Starts the clock anew, after a wait that is not the upstream's.
    pub fn restart_clock(&mut self) {
        self.started_at = Instant::now();
    }

    /// Returns `true` if there is no body, and hyper has not seen the request.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.body.is_none()
    }

    /// Takes body and guard out.
    pub fn take_body(&mut self) -> (Option<Incoming>, Option<BodyGuard>) {
        (self.body.take(), self.guard.take())
    }

    /// Takes a request out, and leaves an empty one.
    pub fn take(request: &mut Request<Self>) -> Request<Self> {
        let request_context = request.body_mut();
        // The request is behind a reference, so something has to stand in the place of what is
        // taken.
        let nothing = Self {
            body: None,
            client: request_context.client,
            is_forged: request_context.is_forged,
            guard: None,
            started_at: request_context.started_at,
        };
        mem::replace(request, Request::new(nothing))
    }

    /// Takes a request out, with client address and body guard in its extensions.
    pub fn take_with_extensions(request: &mut Request<Self>) -> Request<OptionalBody> {
        let (parts, body) = Self::extended(request);
        Request::from_parts(parts, OptionalBody(body))
    }

    fn extended(request: &mut Request<Self>) -> (Parts, Option<Incoming>) {
        let (mut parts, request_context) = Self::take(request).into_parts();
        parts.extensions.insert(request_context.client);
        if let Some(guard) = request_context.guard {
            parts.extensions.insert(guard);
        }
        (parts, request_context.body)
    }
}

impl Body for OptionalBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.0 {
            Some(body) => Pin::new(body).poll_frame(cx),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Some(body) => body.size_hint(),
            None => SizeHint::with_exact(0),
        }
    }
}

impl<S, B> HttpService for TowerAdapter<S>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible, Future: Send>
        + Clone
        + Send
        + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    type ResponseBody = B;
    type ReadyHead = Infallible;
    type Future = AdapterFuture<S::Future, Pin<Box<Oneshot<S, Request<Incoming>>>>>;

    /// Its requests have the body type of hyper, which only hyper can create.
    const TAKES_BODILESS: bool = false;

    fn respond(
        &self,
        request: &mut Request<RequestContext>,
    ) -> ServiceResponse<B, Infallible, Self::Future> {
        // Not reached: without `TAKES_BODILESS` every request comes from hyper, with a body.
        let (parts, Some(body)) = RequestContext::extended(request) else {
            return ServiceResponse::Later(AdapterFuture::Never);
        };
        let request = Request::from_parts(parts, body);
        let mut service = self.0.clone();
        // Most services are always ready; they are called without the box of a `Oneshot`.
        let ready = service.poll_ready(&mut Context::from_waker(Waker::noop()));
        ServiceResponse::Later(match ready {
            Poll::Ready(Ok(())) => AdapterFuture::Calling {
                future: service.call(request),
            },
            Poll::Ready(Err(_)) | Poll::Pending => AdapterFuture::AwaitingReady {
                future: Box::pin(Oneshot::new(service, request)),
            },
        })
    }
}

pin_project! {
    /// Future of a service's response.
    #[project = AdapterProjection]
    pub(super) enum AdapterFuture<F, W> {
        /// The service was ready, and has been called.
        Calling {
            #[pin]
            future: F,
        },
        /// The service is called once it is ready.
        AwaitingReady {
            #[pin]
            future: W,
        },
        /// There was no request to call it with.
        Never,
    }
}

impl<F, W> Future for AdapterFuture<F, W>
where
    F: Future,
    W: Future<Output = F::Output>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        match self.project() {
            AdapterProjection::Calling { future } => future.poll(cx),
            AdapterProjection::AwaitingReady { future } => future.poll(cx),
            AdapterProjection::Never => Poll::Pending,
        }
    }
}
