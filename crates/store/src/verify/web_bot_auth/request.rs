//! A request whose signature is to be checked.

use http::{
    HeaderMap, Method,
    header::HOST,
    uri::{Authority, PathAndQuery},
};
use robot_detection_layer::layer::ClaimedRequest;

/// A request as it was received, for checking its signature (RFC 9421 §2.2).
#[derive(Clone, Copy, Debug)]
pub struct SignedRequest<'r> {
    /// The method of the signed request.
    pub method: &'r Method,
    /// The scheme that the client used, `http` or `https`, if known with certainty.
    ///
    /// The scheme is known if the connection uses TLS or a trusted proxy reports the scheme. A
    /// request without TLS may have passed through a proxy that terminates TLS without reporting
    /// this, so its signature may be for either scheme.
    pub scheme: Option<&'r str>,
    /// The host and port that the client requested: `:authority`, or `Host`.
    pub authority: &'r str,
    /// The path and query, byte for byte as received, such as `/a?b=c` or `*`.
    pub target: &'r str,
    /// The headers of the signed request, as received.
    pub headers: &'r HeaderMap,
}

impl<'r> From<&ClaimedRequest<'r>> for SignedRequest<'r> {
    fn from(request: &ClaimedRequest<'r>) -> Self {
        let host = request.headers.get(HOST);
        let host = host.and_then(|host| host.to_str().ok());
        let authority = request.uri.authority().map(Authority::as_str);
        let target = request.uri.path_and_query();
        Self {
            method: request.method,
            scheme: request.scheme,
            authority: authority.or(host).unwrap_or_default(),
            target: target.map_or("/", PathAndQuery::as_str),
            headers: request.headers,
        }
    }
}

impl<'r> SignedRequest<'r> {
    /// Returns the path of the signed request, or `/` if the target has no path (RFC 9421 §2.2.6).
    pub(super) fn path(&self) -> &'r str {
        match self.target.split_once('?').map_or(self.target, |it| it.0) {
            "" => "/",
            path => path,
        }
    }

    /// Returns the query of the signed request without the leading `?`, if there is a query.
    pub(super) fn query(&self) -> Option<&'r str> {
        self.target.split_once('?').map(|it| it.1)
    }

    /// Returns the host and port in lower case, without the scheme's default port (RFC 9421
    /// §2.2.3).
    pub(super) fn normal_authority(&self, scheme: &str) -> String {
        let authority = self.authority.to_ascii_lowercase();
        let port = match scheme {
            scheme if scheme.eq_ignore_ascii_case("https") => ":443",
            scheme if scheme.eq_ignore_ascii_case("http") => ":80",
            _ => return authority,
        };
        match authority.strip_suffix(port) {
            Some(host) => host.to_owned(),
            None => authority,
        }
    }
}
