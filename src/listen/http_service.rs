use std::{convert::Infallible, error::Error, sync::Arc};

use http::{Request, Response};
use hyper::body::Body;

use crate::ready_head::ReadyHead;

use super::arrival::Arrival;

/// Service that a listener serves; it is shared, so that no request costs a clone of it.
pub(crate) trait HttpService: Clone + Send + 'static {
    /// Body of its responses.
    type ResponseBody: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static;

    /// Future of a response that is waited for.
    type Future: Future<Output = Result<Response<Self::ResponseBody>, Infallible>> + Send;

    /// Whether it takes requests of which hyper knows nothing, and which have no body.
    const TAKES_BODILESS: bool;

    /// Takes a request up, whether or not it can be answered at once.
    ///
    /// What is needed of it later is taken out of it: it is moved no more often than that.
    fn answer(&self, request: &mut Request<Arrival>) -> Answer<Self::ResponseBody, Self::Future>;
}

/// What becomes of a request.
#[derive(Debug)]
#[cfg_attr(
    not(feature = "server"),
    expect(dead_code, reason = "services of others are all waited for")
)]
pub(crate) enum Answer<B, F> {
    /// The answer is there.
    Now(Response<B>),
    /// The answer has no body, and a head that was made before.
    Ready(Arc<ReadyHead>),
    /// The answer is to be waited for.
    Later(F),
}
