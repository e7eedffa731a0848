//! Requests as a listener hands them over.

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

/// Body of a request, and what its listener knows of the client.
///
/// Beside the head, as extensions cost some allocations, which a request that is
/// answered at once need not pay.
#[derive(Debug)]
pub struct RequestContext {
    /// None: there is none, and hyper has not seen the request.
    pub(super) body: Option<Incoming>,
    pub(super) client: ClientAddr,
    pub(super) guard: Option<BodyGuard>,
    /// When its head had come, or when it had waited for what is decided by.
    pub(super) started_at: Instant,
}

/// Body of a request that may have none.
#[derive(Debug)]
pub struct OptionalBody(Option<Incoming>);

/// Service that finds in the extensions what the listener knows.
#[derive(Clone, Debug)]
pub(super) struct TowerAdapter<S>(pub(super) S);

impl RequestContext {
    /// Returns the address of the client.
    #[must_use]
    pub fn client(&self) -> ClientAddr {
        self.client
    }

    /// Returns when the request was taken up.
    #[must_use]
    pub fn started_at(&self) -> Instant {
        self.started_at
    }

    /// Takes note that the request has waited, and is taken up now.
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

    /// Takes a request out of its place.
    pub fn take(request: &mut Request<Self>) -> Request<Self> {
        let request_context = request.body_mut();
        let nothing = Self {
            body: None,
            client: request_context.client,
            guard: None,
            started_at: request_context.started_at,
        };
        mem::replace(request, Request::new(nothing))
    }

    /// Takes a request out, and puts what is known of the client into its extensions.
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

    /// Its requests have bodies of hyper, which nobody else can make.
    const TAKES_BODILESS: bool = false;

    fn respond(
        &self,
        request: &mut Request<RequestContext>,
    ) -> ServiceResponse<B, Infallible, Self::Future> {
        let (parts, Some(body)) = RequestContext::extended(request) else {
            return ServiceResponse::Later(AdapterFuture::Never);
        };
        let request = Request::from_parts(parts, body);
        let mut service = self.0.clone();
        // Most services are always ready: what they hold is not moved once more then.
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
        /// The service was ready.
        Calling {
            #[pin]
            future: F,
        },
        /// It waits until the service is ready.
        AwaitingReady {
            #[pin]
            future: W,
        },
        /// There was nothing to ask about.
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
