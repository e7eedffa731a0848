//! Requests that a listener refuses by itself, reported to whoever keeps a log.

use std::{fmt, net::IpAddr};

use http::{Request, StatusCode};
use hyper::body::Incoming;

/// Request that a listener refused by itself: it is not HTTP, or exceeds a limit.
#[derive(Debug)]
pub struct RefusedRequest<'r> {
    /// The peer, or the client that its PROXY header names.
    pub client: IpAddr,
    /// Status of the response.
    pub status: StatusCode,
    /// None where the head could not be read.
    pub request: Option<&'r Request<Incoming>>,
}

/// Observer of the requests that a listener refuses.
pub trait RefusalObserver: fmt::Debug + Send + Sync {
    /// Records a refused request.
    fn refused(&self, refused: &RefusedRequest<'_>);
}

/// Status that the client got before a connection ended with an error; none where it got none.
pub(super) fn status_of(error: &hyper::Error) -> Option<StatusCode> {
    if error.is_parse_too_large() {
        // hyper has one kind for a long target and a long head; only the text differs.
        let is_target = error.to_string().starts_with("URI");
        return Some(if is_target {
            StatusCode::URI_TOO_LONG
        } else {
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
        });
    }
    error.is_parse().then_some(StatusCode::BAD_REQUEST)
}
