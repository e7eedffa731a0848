use std::{
    any::Any,
    error::Error,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::HeaderName;
use http_body_util::{BodyExt as _, combinators::UnsyncBoxBody};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::listen::{BodyError, BodyGuard, GuardedBody};

use super::trailers;

type BoxError = Box<dyn Error + Send + Sync>;

/// The body of a request on its way to the upstream.
#[derive(Debug, Default)]
pub(super) struct RequestBody {
    kind: RequestKind,
    progress: Option<Arc<Progress>>,
    /// The names of the trailers that are forwarded to the upstream.
    pub(super) trailers: Vec<HeaderName>,
}

#[derive(Debug, Default)]
enum RequestKind {
    #[default]
    Empty,
    Incoming(Incoming),
    Guarded(GuardedBody<Incoming>),
    Other(UnsyncBoxBody<Bytes, BoxError>),
}

impl RequestBody {
    /// Wraps a request's body; a body from hyper's server need not be boxed.
    pub(super) fn new<B>(body: B) -> Self
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let mut body = Some(body);
        let kind = if body.as_ref().is_none_or(Body::is_end_stream) {
            RequestKind::Empty
        } else if let Some(incoming) =
            // This is a runtime check instead of a type parameter, because the service is generic
            // and nearly all its bodies are `Incoming`.
            (&mut body as &mut dyn Any).downcast_mut::<Option<Incoming>>()
        {
            incoming
                .take()
                .map_or(RequestKind::Empty, RequestKind::Incoming)
        } else {
            body.map_or(RequestKind::Empty, |body| {
                RequestKind::Other(body.map_err(Into::into).boxed_unsync())
            })
        };
        let progress = (!matches!(kind, RequestKind::Empty)).then(Arc::default);
        Self {
            kind,
            progress,
            trailers: Vec::new(),
        }
    }

    /// Wraps the body in the listener's guard.
    pub(super) fn guarded(mut self, guard: Option<BodyGuard>) -> Self {
        self.kind = match (self.kind, guard) {
            (RequestKind::Incoming(body), Some(guard)) => RequestKind::Guarded(guard.watch(body)),
            (kind, _) => kind,
        };
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(self.kind, RequestKind::Empty)
    }

    /// Returns the progress of the body, or `None` if the body is empty.
    pub(super) fn progress(&self) -> Option<Arc<Progress>> {
        self.progress.clone()
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        let mut polled = match &mut this.kind {
            RequestKind::Empty => return Poll::Ready(None),
            RequestKind::Incoming(body) => Pin::new(body).poll_frame(cx).map_err(Into::into),
            RequestKind::Guarded(body) => Pin::new(body).poll_frame(cx).map_err(Into::into),
            RequestKind::Other(body) => Pin::new(body).poll_frame(cx),
        };
        if let Poll::Ready(Some(Ok(frame))) = &mut polled
            && let Some(trailers) = frame.trailers_mut()
        {
            trailers::retain_announced(trailers, &this.trailers);
            // If no trailers are left, the body has ended.
            if trailers.is_empty() {
                polled = Poll::Ready(None);
            }
        }
        let is_done = matches!(polled, Poll::Ready(None)) || this.is_end_stream();
        if let Some(progress) = &this.progress {
            progress.record_progress(match &polled {
                Poll::Ready(Some(Err(error))) if is_too_large(error) => Upload::TooLarge,
                Poll::Ready(Some(Err(_))) => Upload::Broken,
                _ if is_done => Upload::Done,
                Poll::Pending => Upload::AwaitsClient,
                Poll::Ready(_) => Upload::AwaitsUpstream,
            });
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            RequestKind::Empty => true,
            RequestKind::Incoming(body) => body.is_end_stream(),
            RequestKind::Guarded(body) => body.is_end_stream(),
            RequestKind::Other(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            RequestKind::Empty => SizeHint::with_exact(0),
            RequestKind::Incoming(body) => body.size_hint(),
            RequestKind::Guarded(body) => body.size_hint(),
            RequestKind::Other(body) => body.size_hint(),
        }
    }
}

fn is_too_large(error: &BoxError) -> bool {
    matches!(error.downcast_ref(), Some(BodyError::TooLarge(_)))
}

/// The progress of a request's body, on which timeouts are based.
#[derive(Debug)]
pub(super) struct Progress(Mutex<(Upload, Instant)>);

/// The party for which the transfer of a request's body is waiting.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Upload {
    AwaitsClient,
    AwaitsUpstream,
    Done,
    /// The client disconnected, or violated the framing of its request's body.
    Broken,
    /// The request's body exceeded the listener's size limit.
    TooLarge,
}

impl Progress {
    pub(super) fn state(&self) -> (Upload, Instant) {
        *self.0.lock()
    }

    pub(super) fn record_progress(&self, upload: Upload) {
        let mut state = self.0.lock();
        // Forwarding a piece is progress; being polled again while the client is silent is not.
        if state.0 != upload || upload == Upload::AwaitsUpstream {
            *state = (upload, Instant::now());
        }
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self(Mutex::new((Upload::AwaitsUpstream, Instant::now())))
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;

    #[tokio::test]
    async fn unannounced_trailers_are_removed() {
        for announced in [&[][..], &["x-checksum"]] {
            let mut trailers = HeaderMap::new();
            trailers.insert("x-forwarded-for", "192.0.2.1".parse().unwrap());
            trailers.insert("x-checksum", "abc".parse().unwrap());
            let body = http_body_util::Full::new(Bytes::from_static(b"data"))
                .with_trailers(async move { Some(Ok(trailers)) });
            let mut body = RequestBody::new(body);
            body.trailers = announced
                .iter()
                .copied()
                .map(HeaderName::from_static)
                .collect();
            let sent = body.collect().await.unwrap();
            let sent = sent.trailers().cloned().unwrap_or_default();
            assert!(sent.keys().eq(announced), "{sent:?}");
        }
    }

    #[tokio::test]
    async fn progress_shows_when_the_body_is_sent() {
        let body = RequestBody::new(http_body_util::Full::new(Bytes::from_static(b"data")));
        let progress = body.progress().unwrap();
        assert_ne!(progress.state().0, Upload::Done);
        body.collect().await.unwrap();
        assert_eq!(progress.state().0, Upload::Done);
        assert!(
            RequestBody::new(http_body_util::Empty::new())
                .progress()
                .is_none()
        );
    }
}
