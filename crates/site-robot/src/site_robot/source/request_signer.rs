//! Signing of requests before they are sent.

use std::{fmt, sync::Arc};

use http::{HeaderMap, Method};
use url::Url;

type Sign = dyn Fn(&Method, &Url, &mut HeaderMap) + Send + Sync;

/// Function that adds a signature to the headers of a request.
///
/// It gets the URL of the page, whatever server is asked for it.
#[derive(Clone)]
pub struct RequestSigner(Arc<Sign>);

impl RequestSigner {
    /// Creates one of a function.
    pub fn new(sign: impl Fn(&Method, &Url, &mut HeaderMap) + Send + Sync + 'static) -> Self {
        Self(Arc::new(sign))
    }

    /// Signs a request to be sent.
    pub fn sign(&self, method: &Method, url: &Url, headers: &mut HeaderMap) {
        (self.0)(method, url, headers);
    }
}

impl fmt::Debug for RequestSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RequestSigner")
    }
}
