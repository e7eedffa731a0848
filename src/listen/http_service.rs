use std::error::Error;

use http::{Request, Response};
use hyper::body::Body;

use super::arrival::Arrival;

/// Service that a listener serves; it is shared, so that no request costs a clone of it.
pub(crate) trait HttpService: Clone + Send + 'static {
    /// Body of its responses.
    type ResponseBody: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static;

    /// Future of a response that is waited for.
    type Future: Future<Output = Response<Self::ResponseBody>> + Send;

    /// Whether it takes requests of which hyper knows nothing, and which have no body.
    const TAKES_BODILESS: bool;

    /// Takes a request up, whether or not it can be answered at once.
    fn answer(&self, request: Request<Arrival>) -> Answer<Self::ResponseBody, Self::Future>;
}

/// What becomes of a request.
#[derive(Debug)]
pub(crate) enum Answer<B, F> {
    /// The answer is there.
    Now(Response<B>),
    /// The answer is to be waited for.
    Later(F),
}
