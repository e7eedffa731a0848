//! Copy of a request's head, in case it has to be sent again.

use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version};
use http_body_util::Empty;

use super::body::RequestBody;

/// Copy of a request without a body.
#[derive(Debug, Default)]
pub(super) struct HeadCopy {
    head: Option<(Method, Uri)>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl HeadCopy {
    /// Keeps the head, if repeating the request has no further effect (RFC 9110 §9.2.2).
    ///
    /// The bytes are shared with the request.
    pub(super) fn take(&mut self, request: &Request<RequestBody>) {
        self.head = None;
        self.headers.clear();
        if request.method().is_idempotent() && request.body().is_empty() {
            self.head = Some((request.method().clone(), request.uri().clone()));
            let lines = request.headers().iter();
            self.headers
                .extend(lines.map(|(name, value)| (name.clone(), value.clone())));
        }
    }

    /// Returns the request of the copy, if there is one.
    pub(super) fn request(&mut self) -> Option<Request<RequestBody>> {
        let (method, uri) = self.head.take()?;
        let mut request = Request::new(RequestBody::new(Empty::new()));
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.version_mut() = Version::HTTP_11;
        let mut headers = HeaderMap::with_capacity(self.headers.len());
        for (name, value) in self.headers.drain(..) {
            headers.append(name, value);
        }
        *request.headers_mut() = headers;
        Some(request)
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::Full;

    use super::*;

    fn request(method: Method) -> Request<RequestBody> {
        Request::builder()
            .method(method)
            .uri("/a?b")
            .header("host", "a")
            .header("x-a", "1")
            .header("x-a", "2")
            .body(RequestBody::new(Empty::new()))
            .unwrap()
    }

    #[test]
    fn a_copy_is_the_request_with_every_line() {
        let mut copy = HeadCopy::default();
        let first = request(Method::GET);
        copy.take(&first);
        let second = copy.request().unwrap();
        assert_eq!(second.headers(), first.headers());
        assert_eq!(second.uri(), first.uri());
        assert!(copy.request().is_none());
    }

    #[test]
    fn what_has_an_effect_or_a_body_is_not_kept() {
        let mut copy = HeadCopy::default();
        copy.take(&request(Method::GET));
        copy.take(&request(Method::POST));
        assert!(copy.request().is_none());
        let body = RequestBody::new(Full::new(bytes::Bytes::from_static(b"a")));
        copy.take(&request(Method::PUT).map(|_| body));
        assert!(copy.request().is_none());
    }
}
