use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Buf;
use hyper::body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::observation::Observation;

/// A response body that may come from the upstream.
pub(crate) trait FromUpstream {
    /// Returns `true` if the upstream was queried, even if the response is our error page.
    fn is_from_upstream(&self) -> bool;
}

pin_project! {
    /// A response body that counts its bytes until the body ends or is dropped.
    ///
    /// Responses have this body type from the start, so that the body need not be moved to be
    /// observed.
    #[derive(Debug, Default)]
    pub(crate) struct ObservedBody<B> {
        observation: Option<Observation>,
        #[pin]
        inner: B,
    }
}

impl<B> ObservedBody<B> {
    pub(super) fn observe(&mut self, observation: Observation) {
        self.observation = Some(observation);
    }
}

impl<B> From<B> for ObservedBody<B> {
    /// Creates a response body that is not observed.
    fn from(inner: B) -> Self {
        Self {
            observation: None,
            inner,
        }
    }
}

impl<B: FromUpstream> FromUpstream for ObservedBody<B> {
    fn is_from_upstream(&self) -> bool {
        self.inner.is_from_upstream()
    }
}

impl<B: Body> Body for ObservedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = self.project();
        let frame = ready!(this.inner.poll_frame(cx));
        match (&frame, &mut *this.observation) {
            (Some(Ok(frame)), Some(observation)) => {
                observation.record_sent_bytes(frame.data_ref().map_or(0, Buf::remaining));
            }
            // The body has ended: dropping the observation counts and logs the request.
            (_, observation) => *observation = None,
        }
        Poll::Ready(frame)
    }

    // hyper does not poll again once this is true; the observation then ends when the body is
    // dropped.
    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
