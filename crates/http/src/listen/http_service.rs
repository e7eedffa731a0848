use std::{convert::Infallible, error::Error, fmt, mem};

use http::{HeaderMap, Request, Response, StatusCode};
use hyper::body::Body;

use super::request_context::RequestContext;

/// Service that a listener serves; called by reference, so that no request clones it.
pub trait HttpService: Clone + Send + 'static {
    /// Body of its responses.
    type ResponseBody: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static;

    /// Type of its response heads that are made in advance.
    type ReadyHead: ReadyHead;

    /// Future of a response that is not there at once.
    type Future: Future<Output = Result<Response<Self::ResponseBody>, Infallible>> + Send;

    /// Whether it takes requests without a body that hyper has not read.
    const TAKES_BODILESS: bool;

    /// Responds to a request, at once or later.
    ///
    /// The request stays where it was read, as each move copies a whole
    /// [`Request`]. A service takes out what it needs later.
    fn respond(
        &self,
        request: &mut Request<RequestContext>,
    ) -> ServiceResponse<Self::ResponseBody, Self::ReadyHead, Self::Future>;
}

/// Head of a response without a body, made once and sent many times.
///
/// It has no `Connection`, `Content-Length` or `Date`: the listener adds them.
pub trait ReadyHead: fmt::Debug + Send + 'static {
    /// Returns the status.
    fn status(&self) -> StatusCode;

    /// Returns the status line and the header lines of HTTP/1.1.
    fn lines(&self) -> &[u8];

    /// Makes a response, whose headers reuse the memory of `reused`.
    fn response<B>(&self, body: B, reused: HeaderMap) -> Response<B>;
}

/// For services without such heads.
impl ReadyHead for Infallible {
    fn status(&self) -> StatusCode {
        match *self {}
    }

    fn lines(&self) -> &[u8] {
        match *self {}
    }

    fn response<B>(&self, _: B, _: HeaderMap) -> Response<B> {
        match *self {}
    }
}

/// Response of an [`HttpService`], or the future of one.
#[derive(Debug)]
pub enum ServiceResponse<B, H, F> {
    /// The response is complete.
    Now(Response<B>),
    /// The response has no body, and a head that was made in advance.
    Ready(H),
    /// The response is to be waited for.
    Later(F),
}

impl<B, H: ReadyHead, F> ServiceResponse<B, H, F> {
    /// Returns the response if there is one; its headers may reuse the memory of `reused`.
    ///
    /// `body` makes the body, from nothing where the head was made in advance.
    ///
    /// # Errors
    ///
    /// Fails with what is to be waited for.
    pub fn into_response<C>(
        self,
        reused: &mut HeaderMap,
        body: impl FnOnce(Option<B>) -> C,
    ) -> Result<Response<C>, F> {
        match self {
            Self::Now(response) => Ok(response.map(|inner| body(Some(inner)))),
            Self::Ready(head) => Ok(head.response(body(None), mem::take(reused))),
            Self::Later(future) => Err(future),
        }
    }
}
