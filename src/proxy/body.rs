use std::{
    any::Any,
    error::Error,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, combinators::UnsyncBoxBody};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

use crate::listen::{BodyGuard, GuardedBody};

use super::{headers, sender::Sender, server::Place};

type BoxError = Box<dyn Error + Send + Sync>;

/// Body of a request on its way to the upstream.
#[derive(Debug, Default)]
pub(super) struct RequestBody {
    kind: RequestKind,
    progress: Option<Arc<Progress>>,
    /// The client's forwarding headers are not believed, in trailers neither.
    pub(super) strips_forwarding: bool,
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
    /// Takes a body; that of a server's request is not boxed.
    pub(super) fn new<B>(body: B) -> Self
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let mut body = Some(body);
        let kind = if body.as_ref().is_none_or(Body::is_end_stream) {
            RequestKind::Empty
        } else if let Some(incoming) =
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
            strips_forwarding: true,
        }
    }

    /// Reads a server's request under its listener's guard.
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

    /// How far the body is; nothing for an empty one.
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
            headers::clean_trailers(trailers, this.strips_forwarding);
        }
        let is_done = matches!(polled, Poll::Ready(None)) || this.is_end_stream();
        if let Some(progress) = &this.progress {
            progress.moved(match polled {
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

/// How far a request's body is, for the time limits.
#[derive(Debug)]
pub(super) struct Progress(Mutex<(Upload, Instant)>);

/// What the body of a request waits for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Upload {
    AwaitsClient,
    AwaitsUpstream,
    Done,
    /// The client went away, or broke its framing.
    Broken,
}

impl Progress {
    pub(super) fn state(&self) -> (Upload, Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_done(&self) -> bool {
        self.state().0 == Upload::Done
    }

    pub(super) fn is_broken(&self) -> bool {
        self.state().0 == Upload::Broken
    }

    pub(super) fn moved(&self, upload: Upload) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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

/// Body of a response: the upstream's, streamed, or a page of the proxy's own.
#[derive(Debug)]
pub struct ProxyBody {
    kind: ProxyKind,
}

#[derive(Debug)]
enum ProxyKind {
    Page(Option<Bytes>),
    Upstream(Download),
}

/// Error of a response's body that ended too early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyBodyError {
    /// The connection to the upstream broke.
    #[error("the upstream's response ended too early")]
    Upstream(#[source] hyper::Error),
    /// The upstream sent nothing more.
    #[error("the upstream's response stood still for {0:?}")]
    Idle(Duration),
}

impl ProxyBody {
    pub(super) fn page(page: impl Into<Bytes>) -> Self {
        let page = Some(page.into()).filter(|page| !page.is_empty());
        Self {
            kind: ProxyKind::Page(page),
        }
    }

    pub(super) fn upstream(body: Incoming, lease: Lease, idle_timeout: Duration) -> Self {
        if body.is_end_stream() {
            lease.end();
            return Self::page(Bytes::new());
        }
        Self {
            kind: ProxyKind::Upstream(Download {
                body,
                lease: Some(lease),
                idle_timeout,
                timer: None,
                is_timed: false,
            }),
        }
    }
}

impl Body for ProxyBody {
    type Data = Bytes;
    type Error = ProxyBodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ProxyBodyError>>> {
        match &mut self.get_mut().kind {
            ProxyKind::Page(page) => Poll::Ready(page.take().map(|page| Ok(Frame::data(page)))),
            ProxyKind::Upstream(download) => download.poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            ProxyKind::Page(page) => page.is_none(),
            ProxyKind::Upstream(download) => download.body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            ProxyKind::Page(page) => {
                SizeHint::with_exact(page.as_ref().map_or(0, |page| page.len() as u64))
            }
            ProxyKind::Upstream(download) => download.body.size_hint(),
        }
    }
}

#[derive(Debug)]
struct Download {
    body: Incoming,
    /// Given back at the end; dropped before it, the connection closes.
    lease: Option<Lease>,
    idle_timeout: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    /// The timer counts the present wait.
    is_timed: bool,
}

impl Download {
    fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ProxyBodyError>>> {
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Pending => self.poll_idle(cx),
            Poll::Ready(Some(Ok(mut frame))) => {
                self.is_timed = false;
                if let Some(trailers) = frame.trailers_mut() {
                    headers::clean_trailers(trailers, false);
                }
                // With a known length the end is not polled for.
                if self.body.is_end_stream() {
                    self.end();
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => {
                self.lease = None;
                Poll::Ready(Some(Err(ProxyBodyError::Upstream(error))))
            }
            Poll::Ready(None) => {
                self.end();
                Poll::Ready(None)
            }
        }
    }

    fn poll_idle(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ProxyBodyError>>> {
        let idle_timeout = self.idle_timeout;
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(sleep(idle_timeout)));
        if !std::mem::replace(&mut self.is_timed, true) {
            timer.as_mut().reset(Instant::now() + idle_timeout);
        }
        if timer.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        tracing::warn!("response cut: the upstream sent nothing for {idle_timeout:?}");
        self.lease = None;
        Poll::Ready(Some(Err(ProxyBodyError::Idle(idle_timeout))))
    }

    fn end(&mut self) {
        if let Some(lease) = self.lease.take() {
            lease.end();
        }
    }
}

/// Loan of a connection for one exchange.
#[derive(Debug)]
pub(super) struct Lease {
    sender: Sender,
    place: Place,
    upload: Option<Arc<Progress>>,
    /// The upstream says that it closes the connection.
    pub(super) closes: bool,
}

impl Lease {
    pub(super) fn new(sender: Sender, place: Place, upload: Option<Arc<Progress>>) -> Self {
        Self {
            sender,
            place,
            upload,
            closes: false,
        }
    }

    /// Returns the name of the server.
    pub(super) fn server(&self) -> &str {
        &self.place.server.upstream.name
    }

    /// Gives up the connection, which speaks another protocol now; the place is still taken.
    pub(super) fn into_place(self) -> Place {
        self.place
    }

    /// Keeps the connection when the exchange has left it clean.
    fn end(self) {
        let uploaded = self.upload.is_none_or(|upload| upload.is_done());
        if let Sender::Http1(http1) = self.sender
            && uploaded
            && !self.closes
        {
            self.place.keep(http1);
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;

    #[tokio::test]
    async fn a_page_is_one_frame_of_known_length() {
        let body = ProxyBody::page("gone");
        assert_eq!(body.size_hint().exact(), Some(4));
        assert_eq!(body.collect().await.unwrap().to_bytes(), "gone");
        assert!(ProxyBody::page("").is_end_stream());
    }

    #[tokio::test]
    async fn trailers_lose_what_is_not_for_trailers() {
        let mut trailers = HeaderMap::new();
        trailers.insert("x-forwarded-for", "192.0.2.1".parse().unwrap());
        trailers.insert("x-checksum", "abc".parse().unwrap());
        let body = http_body_util::Full::new(Bytes::from_static(b"data"))
            .with_trailers(async move { Some(Ok(trailers)) });
        let sent = RequestBody::new(body).collect().await.unwrap();
        let sent = sent.trailers().unwrap();
        assert_eq!(sent.len(), 1);
        assert_eq!(sent["x-checksum"], "abc");
    }

    #[tokio::test]
    async fn progress_tells_when_the_body_is_sent() {
        let body = RequestBody::new(http_body_util::Full::new(Bytes::from_static(b"data")));
        let progress = body.progress().unwrap();
        assert!(!progress.is_done());
        body.collect().await.unwrap();
        assert!(progress.is_done());
        assert!(
            RequestBody::new(http_body_util::Empty::new())
                .progress()
                .is_none()
        );
    }
}
