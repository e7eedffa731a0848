//! Response bodies from all sources, without boxing.

use std::{
    error::Error,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};

use axum::{body, http::Response};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::canonical::{CanonicalBody, CanonicalReader};
use crate::observe::{FromUpstream, ObservedBody};
use crate::proxy::ProxyBody;

/// The response body of the server.
pub(super) type ServerBody = ObservedBody<Source>;

pin_project! {
    /// The source of a response body.
    #[derive(Debug)]
    #[project = SourceProjection]
    pub(super) enum Source {
        /// A short or empty body created by this program.
        Small {
            #[pin]
            body: Full<Bytes>,
        },
        /// A body from the upstream; the proxy counts as in use until the body ends.
        Proxy {
            #[pin]
            body: ProxyBody,
            used: Option<TaskTrackerToken>,
        },
        /// A body from the upstream; the body's beginning is analysed while the body is forwarded.
        Read {
            // Boxed, because this variant is rare.
            body: Pin<Box<CanonicalBody<ServerBody>>>,
        },
        /// The body of a page served by this program.
        Page {
            #[pin]
            body: body::Body,
        },
    }
}

impl ServerBody {
    /// Creates a response body from a short text.
    pub(super) fn from_text(bytes: Bytes) -> Self {
        Self::from(Source::Small {
            body: Full::new(bytes),
        })
    }

    /// Returns the bytes available without waiting; for a short body, all of its bytes.
    pub(super) fn into_bytes(mut self) -> Bytes {
        let mut frame = pin!(self.frame());
        match frame.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
            _ => Bytes::new(),
        }
    }

    /// Creates a body from the upstream; the token `used` is held until the body ends.
    pub(super) fn proxied(body: ProxyBody, used: Option<TaskTrackerToken>) -> Self {
        Self::from(Source::Proxy { body, used })
    }
}

/// Analyses the upstream's response while the response is forwarded.
pub(super) fn read_by(
    reading: CanonicalReader,
    response: Response<ServerBody>,
) -> Response<ServerBody> {
    if !response.body().is_from_upstream() {
        return response;
    }
    let (head, body) = response.into_parts();
    let body = Box::pin(reading.read(head.status, &head.headers, body));
    Response::from_parts(head, ServerBody::from(Source::Read { body }))
}

impl From<body::Body> for ServerBody {
    fn from(body: body::Body) -> Self {
        Self::from(Source::Page { body })
    }
}

impl From<String> for ServerBody {
    fn from(text: String) -> Self {
        Self::from_text(text.into())
    }
}

impl FromUpstream for Source {
    fn is_from_upstream(&self) -> bool {
        matches!(self, Self::Proxy { .. } | Self::Read { .. })
    }
}

impl Default for Source {
    fn default() -> Self {
        Self::Small {
            body: Full::default(),
        }
    }
}

impl Body for Source {
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match self.project() {
            SourceProjection::Small { body } => body.poll_frame(cx).map_err(Into::into),
            SourceProjection::Proxy { body, .. } => body.poll_frame(cx).map_err(Into::into),
            SourceProjection::Read { body } => body.as_mut().poll_frame(cx),
            SourceProjection::Page { body } => body.poll_frame(cx).map_err(Into::into),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Small { body } => body.is_end_stream(),
            Self::Proxy { body, .. } => body.is_end_stream(),
            Self::Read { body } => body.is_end_stream(),
            Self::Page { body } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Small { body } => body.size_hint(),
            Self::Proxy { body, .. } => body.size_hint(),
            Self::Read { body } => body.size_hint(),
            Self::Page { body } => body.size_hint(),
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn body_returns_the_bytes_it_was_made_from() {
        assert!(ServerBody::default().is_end_stream());
        let text = ServerBody::from("refused".to_owned());
        assert_eq!(text.size_hint().exact(), Some(7));
        assert_eq!(text.collect().await.unwrap().to_bytes(), "refused");
        let page = ServerBody::from(body::Body::from("page"));
        assert_eq!(page.size_hint().exact(), Some(4));
        assert_eq!(page.collect().await.unwrap().to_bytes(), "page");
    }
}
