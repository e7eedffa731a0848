use std::{convert::Infallible, error::Error, fmt};

use http::{HeaderMap, Request, Response, StatusCode};
use hyper::body::Body;

use super::request_context::RequestContext;

/// Service that a listener serves; it is shared, so that no request costs a clone of it.
pub trait HttpService: Clone + Send + 'static {
    /// Body of its responses.
    type ResponseBody: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static;

    /// Heads that it made before any request came.
    type ReadyHead: ReadyHead;

    /// Future of a response that is waited for.
    type Future: Future<Output = Result<Response<Self::ResponseBody>, Infallible>> + Send;

    /// Whether it takes requests of which hyper knows nothing, and which have no body.
    const TAKES_BODILESS: bool;

    /// Takes a request up, whether or not it can be answered at once.
    ///
    /// What is needed of it later is taken out of it: it is moved no more often than that.
    fn respond(
        &self,
        request: &mut Request<RequestContext>,
    ) -> ServiceResponse<Self::ResponseBody, Self::ReadyHead, Self::Future>;
}

/// Head of a response that has no body, made once and sent many times.
///
/// It says nothing of the connection, of the body's length or of the date: these are the
/// listener's to say.
pub trait ReadyHead: fmt::Debug + Send + 'static {
    /// Returns the status.
    fn status(&self) -> StatusCode;

    /// Returns status line and headers as HTTP/1.1 writes them.
    fn lines(&self) -> &[u8];

    /// Makes a response; its headers take over the memory of `room`.
    fn response<B>(&self, body: B, reused: HeaderMap) -> Response<B>;
}

/// For services that have none.
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

/// What becomes of a request.
#[derive(Debug)]
pub enum ServiceResponse<B, H, F> {
    /// The answer is there.
    Now(Response<B>),
    /// The answer has no body, and a head that was made before.
    Ready(H),
    /// The answer is to be waited for.
    Later(F),
}
