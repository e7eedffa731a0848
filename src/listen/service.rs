use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker, ready},
};

use http::{HeaderValue, Request, Response, StatusCode, Version, header::CONNECTION};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use pin_project_lite::pin_project;
use tower::util::Oneshot;

use super::{
    arrival::Arrival, client_addr::Origin, connection::Shared, guard::BodyGuard, idle::Activity,
    refused::Refused,
};

const CLOSE: HeaderValue = HeaderValue::from_static("close");

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
        // By HTTP/2 nobody tells how long the head is.
        if self.activity.heads.is_long() || request.version() == Version::HTTP_2 {
            let too_long = too_long_line(request, settings.max_header_line_bytes);
            if too_long.is_some() {
                return too_long;
            }
        }
        if request.body().is_end_stream() {
            return None;
        }
        let length = request.body().size_hint();
        if length.upper().is_none() && self.has_two_lengths(request) {
            return Some(StatusCode::BAD_REQUEST);
        }
        let max = settings.max_body_bytes;
        (max > 0 && length.lower() > max).then_some(StatusCode::PAYLOAD_TOO_LARGE)
    }

    /// Chunks, and a `Content-Length` beside them (RFC 9112 §6.1): somebody else
    /// may read another request than we do.
    fn has_two_lengths(&self, request: &Request<Incoming>) -> bool {
        request.version() < Version::HTTP_2
            && (self.activity.heads).has_length_beside_chunks(request.method(), request.uri())
    }

    fn tell_of_refused(&self, request: &Request<Incoming>, status: StatusCode) {
        let trusted_proxies = &self.shared.trusted_proxies;
        let client = trusted_proxies.resolve_from(self.origin, request.headers());
        self.shared.refused(&Refused {
            client: client.client,
            status,
            request: Some(request),
        });
    }

    /// Adds what is known of the client.
    fn arrival(&self, request: Request<Incoming>) -> Request<Arrival> {
        let trusted_proxies = &self.shared.trusted_proxies;
        let client = trusted_proxies.resolve_from(self.origin, request.headers());
        let guard = (!request.body().is_end_stream()).then(|| {
            let max_bytes = self.shared.settings.max_body_bytes;
            BodyGuard::new(Arc::clone(&self.activity), max_bytes)
        });
        request.map(|body| Arrival {
            body,
            client,
            guard,
        })
    }
}

impl<S, B> hyper::service::Service<Request<Incoming>> for ConnectionService<S>
where
    S: tower_service::Service<Request<Arrival>, Response = Response<B>> + Clone,
    B: Body,
{
    type Response = Response<CountedBody<B>>;
    type Error = S::Error;
    type Future = CountedFuture<S::Future, Pin<Box<Oneshot<S, Request<Arrival>>>>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let in_flight = InFlight::new(&self.activity, request.version());
        let is_stream = in_flight.is_stream;
        let in_flight = Some(in_flight);
        if let Some(status) = self.refusal(&request) {
            self.tell_of_refused(&request, status);
            return CountedFuture {
                in_flight,
                has_body: false,
                answer: Answer::Refused {
                    status,
                    version: request.version(),
                },
            };
        }
        let has_body = !request.body().is_end_stream();
        if has_body {
            self.activity.body_begins();
        }
        let request = self.arrival(request);
        let mut service = self.service.clone();
        // Most services are always ready: what they hold is not moved once more then.
        let answer = match service.poll_ready(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(())) => Answer::Called {
                future: service.call(request),
            },
            Poll::Ready(Err(_)) | Poll::Pending => Answer::Waiting {
                future: Box::pin(Oneshot::new(service, request)),
            },
        };
        CountedFuture {
            has_body: has_body && !is_stream,
            in_flight,
            answer,
        }
    }
}

/// Status for a head with a line beyond the limit.
fn too_long_line<B>(request: &Request<B>, max_bytes: usize) -> Option<StatusCode> {
    let target = request.uri().path_and_query();
    if target.is_some_and(|target| target.as_str().len() > max_bytes) {
        return Some(StatusCode::URI_TOO_LONG);
    }
    let mut lines = request.headers().iter();
    lines
        .any(|(name, value)| name.as_str().len() + ": ".len() + value.len() > max_bytes)
        .then_some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE)
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
    pub(super) struct CountedFuture<F, W> {
        in_flight: Option<InFlight>,
        // It has one, and its connection to itself.
        has_body: bool,
        #[pin]
        answer: Answer<F, W>,
    }
}

pin_project! {
    #[project = AnswerProjection]
    enum Answer<F, W> {
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
        Refused {
            status: StatusCode,
            version: Version,
        },
    }
}

impl<F, W, B, E> Future for CountedFuture<F, W>
where
    F: Future<Output = Result<Response<B>, E>>,
    W: Future<Output = Result<Response<B>, E>>,
{
    type Output = Result<Response<CountedBody<B>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let mut response = match this.answer.project() {
            AnswerProjection::Called { future } => ready!(future.poll(cx))?.map(Some),
            AnswerProjection::Waiting { future } => ready!(future.poll(cx))?.map(Some),
            AnswerProjection::Refused { status, version } => {
                refuse(*status, *version).map(|()| None)
            }
        };
        let mut in_flight = this.in_flight.take();
        if let Some(in_flight) = &mut in_flight {
            in_flight.answer_begins();
            if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                in_flight.activity.heads.end();
            } else if *this.has_body && !in_flight.activity.has_body_ended() {
                // hyper closes the connection then, and would not say so.
                response.headers_mut().insert(CONNECTION, CLOSE);
            }
        }
        Poll::Ready(Ok(response.map(|inner| CountedBody { in_flight, inner })))
    }
}

/// Answer to a request beyond a limit; what is left of it is not read.
fn refuse(status: StatusCode, version: Version) -> Response<()> {
    let mut response = Response::new(());
    *response.status_mut() = status;
    if version < Version::HTTP_2 {
        response.headers_mut().insert(CONNECTION, CLOSE);
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
