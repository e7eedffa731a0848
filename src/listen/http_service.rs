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

    /// Takes a request up, whether or not it can be answered at once.
    fn answer(&self, request: Request<Arrival>) -> Answer<Self::ResponseBody, Self::Future>;
}

/// What becomes of a request.
#[derive(Debug)]
pub(crate) enum Answer<B, F> {
    /// The answer is there.
    #[cfg_attr(
        not(feature = "server"),
        expect(dead_code, reason = "only the server knows answers at once")
    )]
    Now(Response<B>),
    /// The answer is to be waited for.
    Later(F),
}
