//! Request of a robot, as its claim is proven.

use std::net::IpAddr;

use http::{HeaderMap, Method, Uri, header::HOST};

use crate::verify::SignedRequest;
use robot_detection_layer::detect::Claim;

use super::spoofed::Trace;

/// Request of a robot, with what is looked at to prove its claim.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ClaimedRequest<'r> {
    /// What the robot says that it is.
    pub claim: &'r Claim<'r>,
    /// Address of the client, where it is known.
    pub client: Option<IpAddr>,
    /// Method of the request.
    pub method: &'r Method,
    /// Target of the request.
    pub uri: &'r Uri,
    /// Headers of the request.
    pub headers: &'r HeaderMap,
    /// Scheme that the client used, where it is known for sure; it is not by default.
    ///
    /// See [`SignedRequest::scheme`].
    pub scheme: Option<&'r str>,
}

impl<'r> ClaimedRequest<'r> {
    /// Creates it from the parts of a request.
    #[must_use]
    pub fn new(
        claim: &'r Claim<'r>,
        client: Option<IpAddr>,
        method: &'r Method,
        uri: &'r Uri,
        headers: &'r HeaderMap,
    ) -> Self {
        Self {
            claim,
            client,
            method,
            uri,
            headers,
            scheme: None,
        }
    }

    /// Sets the scheme that the client used, where it is known for sure.
    #[must_use]
    pub fn scheme(mut self, scheme: &'r str) -> Self {
        self.scheme = Some(scheme);
        self
    }

    pub(super) fn signed(&self) -> SignedRequest<'r> {
        let target = self.uri.path_and_query();
        SignedRequest {
            method: self.method,
            scheme: self.scheme,
            authority: self.authority(),
            target: target.map_or("/", http::uri::PathAndQuery::as_str),
            headers: self.headers,
        }
    }

    pub(super) fn trace(&self) -> Trace<'r> {
        Trace {
            robot: self.claim.id(),
            address: self.client,
            host: self.authority(),
            path: self.uri.path(),
        }
    }

    fn authority(&self) -> &'r str {
        let host = self.headers.get(HOST).and_then(|host| host.to_str().ok());
        let authority = self.uri.authority().map(http::uri::Authority::as_str);
        authority.or(host).unwrap_or_default()
    }
}
