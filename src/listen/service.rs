use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use http::{HeaderValue, Request, Response, StatusCode, Version, header::CONNECTION};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use pin_project_lite::pin_project;
use tower::util::Oneshot;

use super::{client_addr::Origin, connection::Shared, guard::BodyGuard, idle::Activity};

/// The service as one connection sees it: requests are counted and know their client.
#[derive(Clone, Debug)]
pub(super) struct ConnectionService<S> {
    pub(super) service: S,
    pub(super) origin: Origin,
    pub(super) shared: Arc<Shared>,
    pub(super) activity: Arc<Activity>,
}

impl<S> ConnectionService<S> {
    /// Why the limits do not let the request pass.
    fn refusal(&self, request: &Request<Incoming>) -> Option<StatusCode> {
        let settings = &self.shared.settings;
        if request.headers().len() > settings.max_headers {
            return Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
        }
        let max = settings.max_body_bytes;
        (max > 0 && request.body().size_hint().lower() > max)
            .then_some(StatusCode::PAYLOAD_TOO_LARGE)
    }
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
        let in_flight = InFlight::new(&self.activity, request.version());
        if let Some(status) = self.refusal(&request) {
            return CountedFuture {
                in_flight: Some(in_flight),
                refusal: Some((status, request.version())),
                inner: None,
            };
        }
        let trusted_proxies = &self.shared.trusted_proxies;
        let addr = trusted_proxies.resolve_from(self.origin, request.headers());
        request.extensions_mut().insert(addr);
        if !request.body().is_end_stream() {
            let max_bytes = self.shared.settings.max_body_bytes;
            let guard = BodyGuard::new(Arc::clone(&self.activity), max_bytes);
            request.extensions_mut().insert(guard);
        }
        CountedFuture {
            in_flight: Some(in_flight),
            refusal: None,
            inner: Some(Oneshot::new(self.service.clone(), request)),
        }
    }
}

/// Counts a request as in flight until it is dropped.
#[derive(Debug)]
pub(super) struct InFlight {
    activity: Arc<Activity>,
    answers: bool,
    /// It shares its connection with others.
    is_stream: bool,
    /// A piece of the response was taken, and the next one is not asked for yet.
    waits: bool,
}

impl InFlight {
    fn new(activity: &Arc<Activity>, version: Version) -> Self {
        activity.request_begins();
        Self {
            activity: Arc::clone(activity),
            answers: false,
            is_stream: version == Version::HTTP_2,
            waits: false,
        }
    }

    fn answer_begins(&mut self) {
        self.answers = true;
        self.activity.answer_begins();
    }

    fn set_waits(&mut self, waits: bool) {
        if !self.is_stream || self.waits == waits {
            return;
        }
        self.waits = waits;
        if waits {
            self.activity.piece_waits();
        } else {
            self.activity.piece_goes();
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.set_waits(false);
        if self.answers {
            self.activity.answer_ends();
        }
        self.activity.request_ends();
    }
}

pin_project! {
    /// Future of a response whose body goes on counting.
    pub(super) struct CountedFuture<F> {
        in_flight: Option<InFlight>,
        refusal: Option<(StatusCode, Version)>,
        #[pin]
        inner: Option<F>,
    }
}

impl<F, B, E> Future for CountedFuture<F>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = Result<Response<CountedBody<B>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let response = match (this.inner.as_pin_mut(), this.refusal) {
            (Some(inner), _) => ready!(inner.poll(cx))?.map(Some),
            (None, refusal) => refuse(refusal.take()).map(|()| None),
        };
        let mut in_flight = this.in_flight.take();
        if let Some(in_flight) = &mut in_flight {
            in_flight.answer_begins();
        }
        Poll::Ready(Ok(response.map(|inner| CountedBody { in_flight, inner })))
    }
}

/// Answer to a request beyond a limit; what is left of it is not read.
fn refuse(refusal: Option<(StatusCode, Version)>) -> Response<()> {
    let mut response = Response::new(());
    if let Some((status, version)) = refusal {
        *response.status_mut() = status;
        if version < Version::HTTP_2 {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(CONNECTION, close);
        }
    }
    response
}

pin_project! {
    /// Body that keeps its request in flight.
    pub(super) struct CountedBody<B> {
        in_flight: Option<InFlight>,
        // None: empty.
        #[pin]
        inner: Option<B>,
    }
}

impl<B: Body> Body for CountedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = self.project();
        let Some(inner) = this.inner.as_pin_mut() else {
            return Poll::Ready(None);
        };
        if let Some(in_flight) = this.in_flight {
            in_flight.set_waits(false);
        }
        let polled = inner.poll_frame(cx);
        if let (Poll::Ready(Some(Ok(_))), Some(in_flight)) = (&polled, this.in_flight) {
            in_flight.set_waits(true);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.inner {
            Some(inner) => inner.size_hint(),
            None => SizeHint::with_exact(0),
        }
    }
}
