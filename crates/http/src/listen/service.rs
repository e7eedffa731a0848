use std::{
    convert::{Infallible, identity},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use http::{
    HeaderValue, Request, Response, StatusCode, Version,
    header::{CONNECTION, CONTENT_LENGTH},
};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use pin_project_lite::pin_project;
use tokio::time::Instant;

use super::{
    client_addr::Origin,
    connection::{RefusedRequest, Shared},
    fast_path::RequestNotes,
    fields,
    guard::BodyGuard,
    http_service::HttpService,
    idle::Activity,
    request_context::RequestContext,
};

const CLOSE: HeaderValue = HeaderValue::from_static("close");

/// The service for one connection, which counts requests and adds their client addresses.
#[derive(Clone, Debug)]
pub(super) struct ConnectionService<S> {
    pub(super) service: S,
    pub(super) origin: Origin,
    pub(super) shared: Arc<Shared>,
    pub(super) activity: Arc<Activity>,
}

impl<S> ConnectionService<S> {
    /// Returns the status of the response if the request exceeds a limit or is ambiguous.
    fn refusal(&self, request: &Request<Incoming>) -> Option<StatusCode> {
        let settings = &self.shared.settings;
        // RFC 6585 §5; hyper's own limit applies only to HTTP/1.
        if request.headers().len() > settings.max_headers {
            return Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
        }
        // Lines of HTTP/1 were measured while they were read. Lines of HTTP/2 arrive compressed
        // (RFC 9113 §4.3), so they are measured here.
        if self.activity.head_flags.is_long() || request.version() == Version::HTTP_2 {
            let too_long = too_long_line(request, settings.max_header_line_bytes);
            if too_long.is_some() {
                return too_long;
            }
        }
        let heads = &self.activity.head_flags;
        // Ambiguous requests enable request smuggling (RFC 9112 §6.1, §11.2).
        if request.version() < Version::HTTP_2 && heads.is_ambiguous(self.activity.requests()) {
            return Some(StatusCode::BAD_REQUEST);
        }
        if fields::hides_identity(request.headers().get_all(CONNECTION).iter()) {
            return Some(StatusCode::BAD_REQUEST);
        }
        if request.body().is_end_stream() {
            return None;
        }
        let length = request.body().size_hint();
        let max = settings.max_body_bytes;
        // RFC 9110 §15.5.14. A chunked body has no known length, so `BodyGuard` counts its bytes.
        (max > 0 && length.lower() > max).then_some(StatusCode::PAYLOAD_TOO_LARGE)
    }

    fn observe_refusals(&self, request: &Request<Incoming>, status: StatusCode) {
        let trusted_proxies = &self.shared.trusted_proxies;
        let client = trusted_proxies.resolve_from(self.origin, request.headers(), None);
        self.shared.report_refusal(&RefusedRequest {
            client: client.client,
            status,
            request: Some(request),
        });
    }

    /// Records whether the connection's first request is the only one and its response ends the
    /// connection.
    fn note_last_request(&self, request: &Request<Incoming>) {
        if self.activity.requests() == 1 && is_last_request(request) {
            self.activity.mark_last_response();
        }
    }

    /// Adds the client's address to a request, and cleans the request's headers.
    fn request_context(&self, mut request: Request<Incoming>) -> Request<RequestContext> {
        let trusted_proxies = &self.shared.trusted_proxies;
        // The address is determined before the headers are cleaned, because a misspelt forwarding
        // header also shows that the peer is not the client.
        let learnt = Some(&self.shared.forwarding_proxies);
        let client = trusted_proxies.resolve_from(self.origin, request.headers(), learnt);
        let trusted = self.origin.trusted;
        let is_forged = trusted_proxies.clean_client_header(trusted, request.headers_mut());
        let is_forged = fields::clean(&mut request) || is_forged;
        let guard = (!request.body().is_end_stream()).then(|| {
            let max_bytes = self.shared.settings.max_body_bytes;
            BodyGuard::new(Arc::clone(&self.activity), max_bytes)
        });
        request.map(|body| RequestContext {
            body: Some(body),
            client,
            is_forged: self.shared.is_forged(client, is_forged),
            guard,
            started_at: Instant::now(),
        })
    }

    /// Adds the client's address to a request without a body.
    pub(super) fn bodiless_context(
        &self,
        mut request: Request<()>,
        notes: RequestNotes,
    ) -> Request<RequestContext> {
        let trusted_proxies = &self.shared.trusted_proxies;
        let forwards = notes.forwards || trusted_proxies.has_client_header(request.headers());
        let headers = forwards.then(|| request.headers());
        let learnt = Some(&self.shared.forwarding_proxies);
        let client = trusted_proxies.resolve_forwarded(self.origin, headers, learnt);
        let trusted = self.origin.trusted;
        let is_forged = trusted_proxies.clean_client_header(trusted, request.headers_mut());
        request.map(|()| RequestContext {
            body: None,
            client,
            is_forged: self.shared.is_forged(client, is_forged),
            guard: None,
            started_at: Instant::now(),
        })
    }

    /// Counts a request without a body as in flight.
    pub(super) fn begin_bodiless(
        &self,
        request: &Request<RequestContext>,
        notes: RequestNotes,
    ) -> InFlightGuard {
        let in_flight = InFlightGuard::new(&self.activity, request.version());
        if notes.closes && self.activity.requests() == 1 {
            self.activity.mark_last_response();
        }
        in_flight
    }
}

impl<S: HttpService> ConnectionService<S> {
    fn take(&self, request: Request<Incoming>) -> CountedFuture<S::ResponseBody, S::Future> {
        let mut in_flight = InFlightGuard::new(&self.activity, request.version());
        let has_body = !request.body().is_end_stream();
        if has_body {
            self.activity.begin_body();
            in_flight.has_body = in_flight.waits.is_none();
        }
        if let Some(status) = self.refusal(&request) {
            self.observe_refusals(&request, status);
            return CountedFuture::ready(in_flight.answer(refuse(status, request.version())));
        }
        if !has_body {
            self.note_last_request(&request);
        }
        let mut request = self.request_context(request);
        let response = self.service.respond(&mut request);
        match response.into_response(request.headers_mut(), identity) {
            Ok(response) => CountedFuture::ready(in_flight.answer(response)),
            Err(future) => in_flight.later(future),
        }
    }
}

impl<S: HttpService> hyper::service::Service<Request<Incoming>> for ConnectionService<S> {
    type Response = Response<CountedBody<S::ResponseBody>>;
    type Error = Infallible;
    type Future = CountedFuture<S::ResponseBody, S::Future>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        self.take(request)
    }
}

/// Returns `true` if the client sends no more requests on the connection (RFC 9112 §9.3, §9.6).
fn is_last_request<B>(request: &Request<B>) -> bool {
    match request.headers().get(CONNECTION) {
        Some(told) => told.as_bytes().eq_ignore_ascii_case(b"close"),
        None => request.version() < Version::HTTP_11,
    }
}

/// Returns the status of the response if a line of the request head exceeds the limit (RFC 9110
/// §15.5.15, RFC 6585 §5).
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

/// A guard that counts a request as in flight until the guard is dropped.
#[derive(Debug)]
pub(super) struct InFlightGuard {
    activity: Arc<Activity>,
    answers: bool,
    /// Whether the request has a body and shares its connection with no other request.
    has_body: bool,
    /// Whether hyper has taken a piece of the response without requesting the next piece, which
    /// happens while the client's window is full (HTTP/2 only).
    waits: Option<bool>,
}

impl InFlightGuard {
    fn new(activity: &Arc<Activity>, version: Version) -> Self {
        activity.begin_request();
        Self {
            activity: Arc::clone(activity),
            answers: false,
            has_body: false,
            waits: (version == Version::HTTP_2).then_some(false),
        }
    }

    /// Records that the response has begun.
    pub(super) fn record_response<B>(&mut self, response: &mut Response<B>) {
        self.answers = true;
        self.activity.begin_response();
        let status = response.status();
        if status.is_informational() || status == StatusCode::NO_CONTENT {
            // These responses must not have a length (RFC 9110 §8.6), and both ways of writing a
            // response would keep the service's length.
            response.headers_mut().remove(CONTENT_LENGTH);
        }
        if status == StatusCode::SWITCHING_PROTOCOLS {
            self.activity.head_flags.end();
        } else if self.has_body && !self.activity.has_body_ended() {
            // hyper closes the connection after an early response without announcing the closure,
            // of which the client has to be informed (RFC 9112 §9.3, §9.6).
            response.headers_mut().insert(CONNECTION, CLOSE);
            self.activity.record_early_response();
        }
    }

    /// Counts the request as in flight until the body of the response ends.
    fn answer<B>(mut self, mut response: Response<Option<B>>) -> Response<CountedBody<B>> {
        self.record_response(&mut response);
        response.map(|inner| CountedBody {
            in_flight: self,
            inner,
        })
    }

    /// Counts the request as in flight until the response is available and its body has ended.
    fn later<B, F>(self, future: F) -> CountedFuture<B, F> {
        CountedFuture {
            answer: CountedState::Later {
                in_flight: Some(self),
                future,
            },
        }
    }

    fn set_waits(&mut self, waits: bool) {
        if self.waits.is_none_or(|before| before == waits) {
            return;
        }
        self.waits = Some(waits);
        if waits {
            self.activity.set_chunk_waiting();
        } else {
            self.activity.clear_chunk_waiting();
        }
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        self.set_waits(false);
        if self.answers {
            self.activity.end_response();
        }
        self.activity.end_request();
    }
}

pin_project! {
    /// The future of a response that counts as in flight until its body ends.
    pub(super) struct CountedFuture<B, F> {
        #[pin]
        answer: CountedState<B, F>,
    }
}

pin_project! {
    #[project = CountedStateProjection]
    enum CountedState<B, F> {
        Ready {
            response: Option<Response<CountedBody<B>>>,
        },
        Later {
            in_flight: Option<InFlightGuard>,
            #[pin]
            future: F,
        },
    }
}

impl<B, F> CountedFuture<B, F> {
    fn ready(response: Response<CountedBody<B>>) -> Self {
        let response = Some(response);
        Self {
            answer: CountedState::Ready { response },
        }
    }
}

impl<B, F> Future for CountedFuture<B, F>
where
    F: Future<Output = Result<Response<B>, Infallible>>,
{
    type Output = Result<Response<CountedBody<B>>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let response = match self.project().answer.project() {
            CountedStateProjection::Ready { response } => response.take(),
            CountedStateProjection::Later { in_flight, future } => {
                let Ok(response) = ready!(future.poll(cx));
                let in_flight = in_flight.take();
                in_flight.map(|in_flight| in_flight.answer(response.map(Some)))
            }
        };
        // A future is not polled again after it was ready; this future would wait forever.
        response.map_or(Poll::Pending, |response| Poll::Ready(Ok(response)))
    }
}

/// Creates the response to a request that exceeds a limit; the rest of the request is not read.
fn refuse<B>(status: StatusCode, version: Version) -> Response<Option<B>> {
    let mut response = Response::new(None);
    *response.status_mut() = status;
    if version < Version::HTTP_2 {
        // HTTP/2 has no `Connection` header (RFC 9113 §8.2.2), and only the stream ends.
        response.headers_mut().insert(CONNECTION, CLOSE);
    }
    response
}

pin_project! {
    /// A body that keeps its request counted as in flight.
    pub(super) struct CountedBody<B> {
        in_flight: InFlightGuard,
        // `None`: empty.
        #[pin]
        inner: Option<B>,
    }
}

impl<B> CountedBody<B> {
    pub(super) fn new(in_flight: InFlightGuard, inner: B) -> Self {
        Self {
            in_flight,
            inner: Some(inner),
        }
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
        this.in_flight.set_waits(false);
        let polled = inner.poll_frame(cx);
        if let Poll::Ready(Some(Ok(_))) = &polled {
            this.in_flight.set_waits(true);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_request_is_recognised_by_close_or_http_1_0() {
        for (version, connection, expected) in [
            (Version::HTTP_11, None, false),
            (Version::HTTP_11, Some("keep-alive"), false),
            (Version::HTTP_11, Some("Close"), true),
            (Version::HTTP_10, None, true),
            (Version::HTTP_10, Some("keep-alive"), false),
            (Version::HTTP_2, None, false),
        ] {
            let mut request = Request::new(());
            *request.version_mut() = version;
            if let Some(connection) = connection {
                let value = HeaderValue::from_static(connection);
                request.headers_mut().insert(CONNECTION, value);
            }
            assert_eq!(
                is_last_request(&request),
                expected,
                "{version:?} {connection:?}"
            );
        }
    }
}
