use std::{
    convert::Infallible,
    error::Error,
    fmt, mem,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use http::{HeaderMap, Request, Response, StatusCode};
use hyper::body::{Body, Incoming};
use pin_project_lite::pin_project;
use tower::util::Oneshot;
use tower_service::Service;

use super::request_context::RequestContext;

/// A service that a listener serves. The service is called by reference, so it need not be cloned
/// for each request.
pub trait HttpService: Clone + Send + 'static {
    /// The body of the service's responses.
    type ResponseBody: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static;

    /// The type of the service's pre-encoded response heads.
    type ReadyHead: ReadyHead;

    /// The future of a response that is not immediately available.
    type Future: Future<Output = Result<Response<Self::ResponseBody>, Infallible>> + Send;

    /// Whether the service accepts bodiless requests that hyper has not parsed.
    const TAKES_BODILESS: bool;

    /// Responds to a request immediately or later.
    ///
    /// The request is passed by reference, because each move would copy a whole [`Request`]. A
    /// service takes out the parts of the request that it needs later.
    fn respond(
        &self,
        request: &mut Request<RequestContext>,
    ) -> ServiceResponse<Self::ResponseBody, Self::ReadyHead, Self::Future>;
}

/// The head of a response without a body, encoded once and sent many times.
///
/// The head contains no `Connection`, `Content-Length` or `Date` header, because the listener adds
/// these headers.
pub trait ReadyHead: fmt::Debug + Send + 'static {
    /// Returns the status of the response.
    fn status(&self) -> StatusCode;

    /// Returns the HTTP/1.1 status line and header lines of the response.
    fn lines(&self) -> &[u8];

    /// Creates a response with this head, whose header map reuses the memory of `reused`.
    fn response<B>(&self, body: B, reused: HeaderMap) -> Response<B>;
}

/// This implementation is for services that encode no heads in advance.
impl ReadyHead for Infallible {
    fn status(&self) -> StatusCode {
        match *self {}
    }

    fn lines(&self) -> &[u8] {
        match *self {}
    }

    fn response<B>(&self, _: B, _: HeaderMap) -> Response<B> {
        match *self {}
    }
}

/// The response of an [`HttpService`], or a future that resolves to the response.
#[derive(Debug)]
pub enum ServiceResponse<B, H, F> {
    /// The response is available immediately.
    Now(Response<B>),
    /// The response has no body and a head that was encoded in advance.
    Ready(H),
    /// The response is not available yet.
    Later(F),
}

impl<B, H: ReadyHead, F> ServiceResponse<B, H, F> {
    /// Returns the response if it is available; its headers may reuse the memory of `reused`.
    ///
    /// `body` creates the body; its argument is `None` for a head that was encoded in advance.
    ///
    /// # Errors
    ///
    /// Returns the future of the response if the response is not available yet.
    pub fn into_response<C>(
        self,
        reused: &mut HeaderMap,
        body: impl FnOnce(Option<B>) -> C,
    ) -> Result<Response<C>, F> {
        match self {
            Self::Now(response) => Ok(response.map(|inner| body(Some(inner)))),
            Self::Ready(head) => Ok(head.response(body(None), mem::take(reused))),
            Self::Later(future) => Err(future),
        }
    }
}

/// An adapter that serves a Tower service as an [`HttpService`], and adds the client's address to
/// each request's extensions.
#[derive(Clone, Debug)]
pub struct TowerAdapter<S>(pub S);

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

    /// This is `false`, because requests have hyper's body type, which only hyper can create.
    const TAKES_BODILESS: bool = false;

    fn respond(
        &self,
        request: &mut Request<RequestContext>,
    ) -> ServiceResponse<B, Infallible, Self::Future> {
        // This is unreachable: without `TAKES_BODILESS`, every request comes from hyper and has a
        // body.
        let (parts, Some(body)) = RequestContext::extended(request) else {
            return ServiceResponse::Later(AdapterFuture::Never);
        };
        let request = Request::from_parts(parts, body);
        let mut service = self.0.clone();
        // Most services are always ready and are called without the box of a `Oneshot`.
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
    /// A future that resolves to a service's response.
    #[project = AdapterProjection]
    pub enum AdapterFuture<F, W> {
        /// The service was ready and has been called with the request.
        Calling {
            #[pin]
            future: F,
        },
        /// The service will be called once it is ready.
        AwaitingReady {
            #[pin]
            future: W,
        },
        /// There is no request to pass to the service.
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
