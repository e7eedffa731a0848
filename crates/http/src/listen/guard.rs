//! Limits on request bodies that can be checked only while the body is being read.

use std::{
    error::Error,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use hyper::body::{Body, Buf as _, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::idle::Activity;

/// A guard for a request's body, which limits the body's size and monitors its progress.
///
/// A listener adds a guard to the extensions of each request with a body. A service must read the
/// body through [`BodyGuard::watch`].
#[derive(Clone, Debug)]
pub struct BodyGuard {
    activity: Arc<Activity>,
    /// The maximum size of the body in bytes; `u64::MAX` means no limit.
    max_bytes: u64,
}

/// An error that occurs while a request's body is read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// The request's body exceeds the size limit.
    #[error("the request body is larger than {0} bytes")]
    TooLarge(u64),
    /// The client's connection failed, or the request's body was malformed.
    #[error(transparent)]
    Client(Box<dyn Error + Send + Sync>),
}

pin_project! {
    /// A request body that returns an error beyond its size limit, and reports when it waits for
    /// the client.
    #[derive(Debug)]
    pub struct GuardedBody<B> {
        #[pin]
        body: B,
        left: u64,
        max_bytes: u64,
        waiting: WaitGuard,
    }
}

/// A guard that counts a body while the body waits for the client. It is dropped with the body, so
/// that the count stays correct.
#[derive(Debug)]
struct WaitGuard {
    activity: Arc<Activity>,
    is_waiting: bool,
}

impl BodyGuard {
    pub(super) fn new(activity: Arc<Activity>, max_bytes: u64) -> Self {
        Self {
            activity,
            // "No limit" is represented by the largest number, so that each frame needs only one
            // subtraction.
            max_bytes: if max_bytes == 0 { u64::MAX } else { max_bytes },
        }
    }

    /// Wraps a request body in the guard.
    pub fn watch<B>(self, body: B) -> GuardedBody<B> {
        GuardedBody {
            body,
            left: self.max_bytes,
            max_bytes: self.max_bytes,
            waiting: WaitGuard {
                activity: self.activity,
                is_waiting: false,
            },
        }
    }
}

impl WaitGuard {
    fn set(&mut self, is_waiting: bool) {
        if self.is_waiting != is_waiting {
            self.is_waiting = is_waiting;
            self.activity.set_body_waiting(is_waiting);
        }
    }
}

impl Drop for WaitGuard {
    fn drop(&mut self) {
        self.set(false);
    }
}

impl<B> Body for GuardedBody<B>
where
    B: Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Data = B::Data;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, BodyError>>> {
        let this = self.project();
        let mut body = this.body;
        let polled = body.as_mut().poll_frame(cx);
        let is_end = body.is_end_stream();
        this.waiting.set(polled.is_pending());
        let frame = match ready!(polled) {
            Some(Ok(frame)) => frame,
            Some(Err(error)) => return Poll::Ready(Some(Err(BodyError::Client(error.into())))),
            None => {
                this.waiting.activity.end_body();
                return Poll::Ready(None);
            }
        };
        // A reader may stop after the last frame without polling for the end of the body.
        if is_end || frame.is_trailers() {
            this.waiting.activity.end_body();
        }
        if let Some(data) = frame.data_ref() {
            let len = data.remaining();
            this.waiting.activity.record_body_bytes(len);
            match this.left.checked_sub(len as u64) {
                Some(left) => *this.left = left,
                None => return Poll::Ready(Some(Err(BodyError::TooLarge(*this.max_bytes)))),
            }
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use bytes::Bytes;
    use http_body_util::{BodyExt as _, StreamBody};

    use super::*;

    fn body(parts: &[&'static str]) -> impl Body<Data = Bytes, Error = Infallible> {
        let frames = parts
            .iter()
            .map(|part| Ok(Frame::data(Bytes::from_static(part.as_bytes()))));
        StreamBody::new(futures_util::stream::iter(frames.collect::<Vec<_>>()))
    }

    #[tokio::test]
    async fn body_is_cut_at_its_limit() {
        for (limit, fits) in [(0, true), (5, true), (4, false), (1, false)] {
            let guard = BodyGuard::new(Arc::default(), limit);
            let read = guard.watch(body(&["ab", "cde"])).collect().await;
            assert_eq!(read.is_ok(), fits, "{limit}");
            if let Err(error) = read {
                assert!(matches!(error, BodyError::TooLarge(bytes) if bytes == limit));
            }
        }
    }
}
