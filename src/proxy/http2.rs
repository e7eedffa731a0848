//! Requests as HTTP/2 has them (RFC 9113 §8.2.2, §8.3.1).

use http::{
    HeaderValue, Request, Uri, Version,
    header::{CONNECTION, HOST, TE, TRANSFER_ENCODING, UPGRADE},
    uri::{Authority, PathAndQuery, Scheme},
};

use super::headers;

/// Turns a request that is ready for HTTP/1.1 into one for HTTP/2.
///
/// Without a usable `Host` it is left as it is.
pub(super) fn from_http1<B>(request: &mut Request<B>, is_tls: bool) {
    let map = request.headers_mut();
    map.remove(CONNECTION);
    map.remove(UPGRADE);
    map.remove(TRANSFER_ENCODING);
    let authority = map
        .get(HOST)
        .and_then(|host| Authority::try_from(host.as_bytes()).ok());
    let path = request.uri().path_and_query().cloned();
    let scheme = if is_tls { Scheme::HTTPS } else { Scheme::HTTP };
    let uri = authority.and_then(|authority| {
        Uri::builder()
            .scheme(scheme)
            .authority(authority)
            .path_and_query(path.unwrap_or_else(|| PathAndQuery::from_static("/")))
            .build()
            .ok()
    });
    if let Some(uri) = uri {
        *request.uri_mut() = uri;
        request.headers_mut().remove(HOST);
    }
    *request.version_mut() = Version::HTTP_2;
}

/// Turns back a request that could not be sent.
pub(super) fn to_http1<B: hyper::body::Body>(request: &mut Request<B>) {
    let uri = std::mem::take(request.uri_mut()).into_parts();
    let host = uri
        .authority
        .and_then(|authority| HeaderValue::try_from(authority.as_str()).ok());
    *request.uri_mut() = uri
        .path_and_query
        .unwrap_or_else(|| PathAndQuery::from_static("/"))
        .into();
    *request.version_mut() = Version::HTTP_11;
    let is_chunked = request.body().size_hint().exact().is_none();
    let map = request.headers_mut();
    if let Some(host) = host {
        map.insert(HOST, host);
    }
    if map.contains_key(TE) {
        headers::set(map, CONNECTION, "te");
    }
    if is_chunked {
        headers::set(map, TRANSFER_ENCODING, "chunked");
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http_body_util::{BodyExt as _, Empty, StreamBody, combinators::UnsyncBoxBody};

    use super::*;

    type Body = UnsyncBoxBody<Bytes, std::convert::Infallible>;

    fn request(target: &str, body: Body) -> Request<Body> {
        let builder = Request::get(target).header("host", "site.example:81");
        let builder = builder.header("te", "trailers").header("connection", "te");
        builder.header("x-a", "1").body(body).unwrap()
    }

    fn streamed() -> Body {
        let frames = futures_util::stream::empty::<Result<hyper::body::Frame<Bytes>, _>>();
        StreamBody::new(frames).boxed_unsync()
    }

    #[test]
    fn host_and_target_become_one_and_apart_again() {
        for target in ["/a//b?c;d", "*"] {
            let mut request = request(target, Empty::new().boxed_unsync());
            from_http1(&mut request, true);
            let uri = request.uri();
            assert_eq!(uri.scheme_str(), Some("https"));
            assert_eq!(uri.authority().unwrap(), "site.example:81");
            assert_eq!(uri.path_and_query().unwrap(), target);
            assert_eq!(request.headers().len(), 2);
            assert!(!request.headers().contains_key(CONNECTION));
            to_http1(&mut request);
            assert_eq!(request.uri(), target);
            assert_eq!(request.headers()[HOST], "site.example:81");
            assert_eq!(request.headers()[CONNECTION], "te");
            assert_eq!(request.version(), Version::HTTP_11);
            assert!(!request.headers().contains_key(TRANSFER_ENCODING));
        }
    }

    #[test]
    fn a_body_of_unknown_length_is_chunked_again() {
        let mut request = request("/", streamed());
        headers::set(request.headers_mut(), TRANSFER_ENCODING, "chunked");
        from_http1(&mut request, false);
        assert!(!request.headers().contains_key(TRANSFER_ENCODING));
        assert_eq!(request.uri().scheme_str(), Some("http"));
        to_http1(&mut request);
        assert_eq!(request.headers()[TRANSFER_ENCODING], "chunked");
    }
}
