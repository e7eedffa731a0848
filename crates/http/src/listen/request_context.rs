//! Incoming requests in the form that a listener passes to its service.

use std::{
    mem,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{Request, request::Parts};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::Instant;

use super::{client_addr::ClientAddr, guard::BodyGuard};

/// The body of an incoming request, with the listener's information about the client.
///
/// This type is used as the request's body, because extensions would cost allocations that a
/// request with an immediate response does not need.
#[derive(Debug)]
pub struct RequestContext {
    /// The request's body; `None` if there is no body, in which case hyper has not seen the
    /// request.
    pub(super) body: Option<Incoming>,
    pub(super) client: ClientAddr,
    pub(super) is_forged: bool,
    pub(super) guard: Option<BodyGuard>,
    /// The time when the head was complete, or when the verdict was known on which the decision
    /// depends.
    pub(super) started_at: Instant,
}

/// The body of a request that may have no body.
#[derive(Debug)]
pub struct OptionalBody(Option<Incoming>);

impl RequestContext {
    /// Returns the address of the request's client.
    pub fn client(&self) -> ClientAddr {
        self.client
    }

    /// Returns `true` if an untrusted client sent a misspelt identity header, or if
    /// `X-Forwarded-For` and `Forwarded` from a trusted proxy contain different clients.
    ///
    /// CGI and its descendants read `X_Forwarded_For` as `X-Forwarded-For` (RFC 3875 §4.1.18). The
    /// listener has removed such headers: `Forwarded`, `X-Forwarded-*`, `X-Original-*`,
    /// `X-Real-IP`, `X-Robot-Detection*` and the [client
    /// header](super::TrustedProxies::client_header).
    pub fn is_forged(&self) -> bool {
        self.is_forged
    }

    /// Sets the client's address, for a request that describes a request received by a different
    /// server.
    pub fn set_client(&mut self, client: ClientAddr) {
        self.client = client;
    }

    /// Returns the time when processing of the request started.
    pub fn started_at(&self) -> Instant {
        self.started_at
    }

    /// Resets the start time of processing after a wait that the upstream did not cause.
    pub fn restart_clock(&mut self) {
        self.started_at = Instant::now();
    }

    /// Returns `true` if the request has no body and hyper has not seen it.
    pub fn is_plain(&self) -> bool {
        self.body.is_none()
    }

    /// Takes the body and its guard out of the request.
    pub fn take_body(&mut self) -> (Option<Incoming>, Option<BodyGuard>) {
        (self.body.take(), self.guard.take())
    }

    /// Takes the request out, and leaves an empty request in its place.
    pub fn take(request: &mut Request<Self>) -> Request<Self> {
        let request_context = request.body_mut();
        // The request is behind a reference, so the parts that are taken have to be replaced.
        let nothing = Self {
            body: None,
            client: request_context.client,
            is_forged: request_context.is_forged,
            guard: None,
            started_at: request_context.started_at,
        };
        mem::replace(request, Request::new(nothing))
    }

    /// Takes the request out, and adds the client address and the body guard to its extensions.
    pub fn take_with_extensions(request: &mut Request<Self>) -> Request<OptionalBody> {
        let (parts, body) = Self::extended(request);
        Request::from_parts(parts, OptionalBody(body))
    }

    pub(super) fn extended(request: &mut Request<Self>) -> (Parts, Option<Incoming>) {
        let (mut parts, request_context) = Self::take(request).into_parts();
        parts.extensions.insert(request_context.client);
        if let Some(guard) = request_context.guard {
            parts.extensions.insert(guard);
        }
        (parts, request_context.body)
    }
}

impl Body for OptionalBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.0 {
            Some(body) => Pin::new(body).poll_frame(cx),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Some(body) => body.size_hint(),
            None => SizeHint::with_exact(0),
        }
    }
}
