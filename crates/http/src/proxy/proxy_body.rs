use std::{
    error::Error,
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

use super::{
    http1::{Connection, Download, PendingBody},
    sender::Http2Stream,
    server::ServerSlot,
    trailers,
};

/// The body of a response, which is streamed from the upstream or is one of the proxy's own pages.
pub struct ProxyBody {
    kind: Kind,
}

enum Kind {
    BufferedBody(BufferedBody),
    Http1(Box<Download>),
    Http2(Box<Http2Body>),
}

/// A response body that is entirely in memory.
struct BufferedBody {
    data: Option<Bytes>,
    /// Whether the length is announced; if not, the body is sent in chunks, in the same way as it
    /// was received.
    has_length: bool,
}

/// An error for a response body that ended too early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyBodyError {
    /// The connection to the upstream failed, or the response body is malformed.
    #[error("the upstream's response ended too early")]
    Upstream(#[source] Box<dyn Error + Send + Sync>),
    /// The upstream sent no data for the duration of the idle timeout.
    #[error("the upstream's response stalled for {0:?}")]
    Idle(Duration),
}

impl ProxyBodyError {
    /// Logs that a response has been truncated because the upstream stalled, and returns the error.
    pub(super) fn timed_out(timeout: Duration) -> Self {
        tracing::warn!("response truncated: the upstream sent nothing for {timeout:?}");
        Self::Idle(timeout)
    }
}

impl ProxyBody {
    pub(super) fn page(page: impl Into<Bytes>) -> Self {
        Self::whole(Some(page.into()), true)
    }

    pub(super) fn http1(
        connection: Box<Connection>,
        slot: ServerSlot,
        mut rest: PendingBody,
        idle_timeout: Duration,
    ) -> Self {
        if let Some((data, has_length)) = rest.complete_body() {
            rest.release(connection, &slot);
            return Self::whole(data, has_length);
        }
        let download = Download::new(connection, slot, rest, idle_timeout);
        Self {
            kind: Kind::Http1(Box::new(download)),
        }
    }

    pub(super) fn http2(
        body: Incoming,
        stream: Box<Http2Stream>,
        slot: ServerSlot,
        idle_timeout: Duration,
    ) -> Self {
        if body.is_end_stream() {
            // There is nothing left to wait for, so the stream and the slot are freed before the
            // client gets the head.
            return Self::whole(None, true);
        }
        let streamed = Http2Body {
            body,
            loan: Some((stream, slot)),
            idle_timeout,
            timer: None,
            is_timed: false,
        };
        Self {
            kind: Kind::Http2(Box::new(streamed)),
        }
    }

    fn whole(data: Option<Bytes>, has_length: bool) -> Self {
        let data = data.filter(|data| !data.is_empty());
        Self {
            kind: Kind::BufferedBody(BufferedBody { data, has_length }),
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
            Kind::BufferedBody(whole) => {
                Poll::Ready(whole.data.take().map(|data| Ok(Frame::data(data))))
            }
            Kind::Http1(download) => download.poll_frame(cx),
            Kind::Http2(streamed) => streamed.poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::BufferedBody(whole) => whole.data.is_none(),
            Kind::Http1(download) => download.is_end(),
            Kind::Http2(streamed) => streamed.body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::BufferedBody(whole) if whole.has_length => {
                SizeHint::with_exact(whole.data.as_ref().map_or(0, |data| data.len() as u64))
            }
            Kind::BufferedBody(_) => SizeHint::default(),
            Kind::Http1(download) => download.size_hint(),
            Kind::Http2(streamed) => streamed.body.size_hint(),
        }
    }
}

impl fmt::Debug for ProxyBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxyBody").finish_non_exhaustive()
    }
}

/// A response body that is streamed over HTTP/2.
struct Http2Body {
    body: Incoming,
    /// The stream and the slot, which are dropped at the end of the body or earlier.
    loan: Option<(Box<Http2Stream>, ServerSlot)>,
    idle_timeout: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    /// Whether the timer is running for the current wait.
    is_timed: bool,
}

impl Http2Body {
    fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ProxyBodyError>>> {
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Pending => self.poll_idle(cx),
            Poll::Ready(Some(Ok(mut frame))) => {
                self.is_timed = false;
                let is_nothing = frame.trailers_mut().is_some_and(|trailers| {
                    trailers::clean(trailers);
                    trailers.is_empty()
                });
                // hyper does not poll for the end of a body with a known length.
                if self.body.is_end_stream() {
                    self.loan = None;
                }
                Poll::Ready((!is_nothing).then_some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => {
                self.loan = None;
                Poll::Ready(Some(Err(ProxyBodyError::Upstream(error.into()))))
            }
            Poll::Ready(None) => {
                self.loan = None;
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
        self.loan = None;
        Poll::Ready(Some(Err(ProxyBodyError::timed_out(idle_timeout))))
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn page_is_one_frame_of_known_length() {
        let body = ProxyBody::page("gone");
        assert_eq!(body.size_hint().exact(), Some(4));
        assert_eq!(body.collect().await.unwrap().to_bytes(), "gone");
        assert!(ProxyBody::page("").is_end_stream());
    }
}
