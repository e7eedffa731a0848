use std::{convert::Infallible, error::Error};

use http::{Request, Response};
use hyper::body::Body;
use tower_service::Service;

use super::arrival::Arrival;

/// Service that a listener serves; whatever has the bounds is one.
pub(crate) trait HttpService:
    Service<
        Request<Arrival>,
        Response = Response<Self::ResponseBody>,
        Error = Infallible,
        Future: Send,
    > + Clone
    + Send
    + 'static
{
    /// Body of its responses.
    type ResponseBody: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static;
}

impl<S, B> HttpService for S
where
    S: Service<Request<Arrival>, Response = Response<B>, Error = Infallible, Future: Send>
        + Clone
        + Send
        + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    type ResponseBody = B;
}
