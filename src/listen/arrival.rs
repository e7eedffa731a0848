//! Requests as a listener hands them over.

use std::{
    convert::Infallible,
    error::Error,
    pin::Pin,
    task::{Context, Poll, Waker, ready},
};

#[cfg(feature = "server")]
use bytes::Bytes;
use http::{Request, Response, request::Parts};
use hyper::body::{Body, Incoming};
#[cfg(feature = "server")]
use hyper::body::{Frame, SizeHint};
use pin_project_lite::pin_project;
use tower::util::Oneshot;
use tower_service::Service;

use super::{
    client_addr::ClientAddr,
    guard::BodyGuard,
    http_service::{Answer, HttpService},
};

/// Body of a request, and what its listener knows of the client.
///
/// Beside the head, as extensions cost some allocations, which a request that is
/// answered at once need not pay.
#[derive(Debug)]
pub(crate) struct Arrival {
    /// None: there is none, and hyper has not seen the request.
    pub(super) body: Option<Incoming>,
    pub(super) client: ClientAddr,
    pub(super) guard: Option<BodyGuard>,
}

/// Body of a request that may have none.
#[cfg(feature = "server")]
#[derive(Debug)]
pub(crate) struct ArrivalBody(Option<Incoming>);

/// Service that finds in the extensions what the listener knows.
#[derive(Clone, Debug)]
pub(super) struct WithExtensions<S>(pub(super) S);

impl Arrival {
    /// Returns the address of the client.
    #[cfg(feature = "server")]
    pub(crate) fn client(&self) -> ClientAddr {
        self.client
    }

    /// Returns body, client and guard.
    #[cfg(feature = "server")]
    pub(crate) fn into_parts(self) -> (Option<Incoming>, ClientAddr, Option<BodyGuard>) {
        (self.body, self.client, self.guard)
    }

    /// Puts what is known of the client into the extensions of its request.
    #[cfg(feature = "server")]
    pub(crate) fn into_extensions(request: Request<Self>) -> Request<ArrivalBody> {
        let (parts, body) = Self::extended(request);
        Request::from_parts(parts, ArrivalBody(body))
    }

    fn extended(request: Request<Self>) -> (Parts, Option<Incoming>) {
        let (mut parts, arrival) = request.into_parts();
        parts.extensions.insert(arrival.client);
        if let Some(guard) = arrival.guard {
            parts.extensions.insert(guard);
        }
        (parts, arrival.body)
    }
}

#[cfg(feature = "server")]
impl Body for ArrivalBody {
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

impl<S, B> HttpService for WithExtensions<S>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible, Future: Send>
        + Clone
        + Send
        + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    type ResponseBody = B;
    type Future = Asked<S::Future, Pin<Box<Oneshot<S, Request<Incoming>>>>>;

    /// Its requests have bodies of hyper, which nobody else can make.
    const TAKES_BODILESS: bool = false;

    fn answer(&self, request: Request<Arrival>) -> Answer<B, Self::Future> {
        let (parts, Some(body)) = Arrival::extended(request) else {
            return Answer::Later(Asked::Never);
        };
        let request = Request::from_parts(parts, body);
        let mut service = self.0.clone();
        // Most services are always ready: what they hold is not moved once more then.
        let ready = service.poll_ready(&mut Context::from_waker(Waker::noop()));
        Answer::Later(match ready {
            Poll::Ready(Ok(())) => Asked::Called {
                future: service.call(request),
            },
            Poll::Ready(Err(_)) | Poll::Pending => Asked::Waiting {
                future: Box::pin(Oneshot::new(service, request)),
            },
        })
    }
}

pin_project! {
    /// Future of a service's response.
    #[project = AskedProjection]
    pub(super) enum Asked<F, W> {
        /// The service was ready.
        Called {
            #[pin]
            future: F,
        },
        /// It waits until the service is ready.
        Waiting {
            #[pin]
            future: W,
        },
        /// There was nothing to ask about.
        Never,
    }
}

impl<F, W, R> Future for Asked<F, W>
where
    F: Future<Output = Result<R, Infallible>>,
    W: Future<Output = Result<R, Infallible>>,
{
    type Output = R;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        let Ok(response) = ready!(match self.project() {
            AskedProjection::Called { future } => future.poll(cx),
            AskedProjection::Waiting { future } => future.poll(cx),
            AskedProjection::Never => return Poll::Pending,
        });
        Poll::Ready(response)
    }
}
