//! A layer that counts the requests to an application.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use axum::http::{Request, Response};
use bytes::Buf;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::time::Instant;
use tower::Service;
use tower_layer::Layer;

use robot_detection_layer::layer::Outcome;

use super::{SiteCounters, Ticket};

/// Status that is recorded if the client disconnected before the response; nginx logs the same
/// status.
const CLIENT_CLOSED_REQUEST: u16 = 499;

/// A layer that counts the requests to an application; see `RobotDetection::traffic_layer`.
#[derive(Clone, Debug)]
pub struct TrafficLayer {
    counters: Arc<SiteCounters>,
}

/// A service that counts each request when its response has ended.
#[derive(Clone, Debug)]
pub struct TrafficService<S> {
    inner: S,
    counters: Arc<SiteCounters>,
}

/// An active request, which is counted when this value is dropped.
#[derive(Debug)]
struct Counting {
    counters: Arc<SiteCounters>,
    begun: Instant,
    /// Ticket for the slot that stores the request's path.
    ticket: Option<Ticket>,
    outcome: Option<Outcome>,
    status: u16,
    bytes: u64,
}

pin_project! {
    /// The future of a counted response.
    #[derive(Debug)]
    pub struct TrafficFuture<F> {
        counting: Option<Counting>,
        #[pin]
        inner: F,
    }
}

pin_project! {
    /// A response body whose bytes are counted.
    #[derive(Debug)]
    pub struct TrafficBody<B> {
        counting: Option<Counting>,
        #[pin]
        inner: B,
    }
}

impl TrafficLayer {
    /// Creates a layer that counts the requests of one site.
    pub fn new(counters: Arc<SiteCounters>) -> Self {
        Self { counters }
    }
}

impl<S> Layer<S> for TrafficLayer {
    type Service = TrafficService<S>;

    fn layer(&self, inner: S) -> TrafficService<S> {
        TrafficService {
            inner,
            counters: Arc::clone(&self.counters),
        }
    }
}

impl<S, B, R> Service<Request<B>> for TrafficService<S>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    type Response = Response<TrafficBody<R>>;
    type Error = S::Error;
    type Future = TrafficFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        TrafficFuture {
            counting: Some(Counting {
                counters: Arc::clone(&self.counters),
                begun: Instant::now(),
                ticket: self.counters.record_path(request.uri().path()),
                outcome: None,
                status: CLIENT_CLOSED_REQUEST,
                bytes: 0,
            }),
            inner: self.inner.call(request),
        }
    }
}

impl<F, R, E> Future for TrafficFuture<F>
where
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = Result<Response<TrafficBody<R>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let mut response = ready!(this.inner.poll(cx))?;
        if let Some(counting) = this.counting {
            counting.status = response.status().as_u16();
            counting.outcome = response.extensions_mut().remove();
            if let (None, Some(ticket)) = (&counting.outcome, counting.ticket) {
                counting.counters.settle_path(ticket, counting.status);
                counting.ticket = None;
            }
        }
        let counting = this.counting.take();
        Poll::Ready(Ok(response.map(|inner| TrafficBody { counting, inner })))
    }
}

impl<B: Body> Body for TrafficBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let this = self.project();
        let frame = ready!(this.inner.poll_frame(cx));
        match (&frame, &mut *this.counting) {
            (Some(Ok(frame)), Some(counting)) => {
                let sent = frame.data_ref().map_or(0, Buf::remaining);
                counting.bytes = counting.bytes.saturating_add(sent as u64);
            }
            // The body has ended, and dropping `Counting` counts the request.
            (_, counting) => *counting = None,
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        let (outcome, duration) = (self.outcome.as_ref(), self.begun.elapsed());
        self.counters
            .count(outcome, self.status, self.bytes, duration, self.ticket);
    }
}
