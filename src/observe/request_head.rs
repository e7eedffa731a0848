//! The parts of a request that the access log needs until its response has ended.

use std::{borrow::Cow, net::IpAddr};

use axum::http::{
    HeaderMap, HeaderValue, Method, Request, Uri, Version,
    header::{HOST, REFERER, USER_AGENT},
};

/// The head of a request, without cookies and authorization, because these are secrets.
#[derive(Debug)]
pub(super) struct RequestHead {
    pub(super) client: IpAddr,
    pub(super) received_ms: i64,
    pub(super) method: Method,
    pub(super) uri: Uri,
    version: Version,
    pub(super) host: Option<Box<[u8]>>,
    pub(super) referer: Option<HeaderValue>,
    user_agents: UserAgents,
}

#[derive(Debug)]
enum UserAgents {
    None,
    One(HeaderValue),
    /// Values of several User-Agent headers; the layer examines each of them.
    Several(Box<[u8]>),
}

impl RequestHead {
    pub(super) fn new<B>(request: &Request<B>, client: IpAddr, received_ms: i64) -> Self {
        let headers = request.headers();
        let authority = request.uri().authority();
        let host = match authority {
            // If both exist, the target's host is used and `Host` ignored (RFC 9112 §3.2.2).
            Some(authority) => Some(authority.as_str().as_bytes()),
            None => headers.get(HOST).map(HeaderValue::as_bytes),
        };
        Self {
            client,
            received_ms,
            method: request.method().clone(),
            uri: request.uri().clone(),
            version: request.version(),
            host: host.map(without_user).map(Box::from),
            referer: headers.get(REFERER).cloned(),
            user_agents: UserAgents::new(headers),
        }
    }

    /// Returns the target of the request line; for HTTP/2, the path and query.
    pub(super) fn target(&self) -> Cow<'_, str> {
        let is_absolute = self.uri.authority().is_some() && self.version < Version::HTTP_2;
        match self.uri.path_and_query() {
            Some(target) if !is_absolute => Cow::Borrowed(target.as_str()),
            // Userinfo may contain a password, which must not be logged (RFC 3986 §3.2.1).
            _ => match self.uri.to_string().split_once('@') {
                Some((before, after)) if self.has_user() => {
                    let scheme = before.split_once("://").map(|(scheme, _)| scheme);
                    let scheme = scheme.map_or_else(String::new, |scheme| format!("{scheme}://"));
                    Cow::Owned(scheme + after)
                }
                _ => Cow::Owned(self.uri.to_string()),
            },
        }
    }

    pub(super) fn version(&self) -> &'static str {
        match self.version {
            Version::HTTP_09 => "HTTP/0.9",
            Version::HTTP_10 => "HTTP/1.0",
            Version::HTTP_2 => "HTTP/2.0",
            Version::HTTP_3 => "HTTP/3.0",
            _ => "HTTP/1.1",
        }
    }

    /// Returns the User-Agent; the values of several headers are joined by commas (RFC 9110 §5.3).
    pub(super) fn user_agent(&self) -> Option<&[u8]> {
        match &self.user_agents {
            UserAgents::None => None,
            UserAgents::One(value) => Some(value.as_bytes()),
            UserAgents::Several(joined) => Some(joined),
        }
    }

    fn has_user(&self) -> bool {
        let authority = self.uri.authority();
        authority.is_some_and(|authority| authority.as_str().contains('@'))
    }
}

impl UserAgents {
    fn new(headers: &HeaderMap) -> Self {
        let mut values = headers.get_all(USER_AGENT).iter();
        match (values.next(), values.next()) {
            (None, _) => Self::None,
            (Some(one), None) => Self::One(one.clone()),
            (Some(_), Some(_)) => {
                let all = headers.get_all(USER_AGENT).iter();
                let all = all.map(HeaderValue::as_bytes).collect::<Vec<_>>();
                Self::Several(all.join(b", ".as_slice()).into())
            }
        }
    }
}

fn without_user(authority: &[u8]) -> &[u8] {
    authority
        .rsplit(|byte| *byte == b'@')
        .next()
        .unwrap_or(authority)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn head(target: &str, version: Version) -> RequestHead {
        let request = Request::builder()
            .uri(target)
            .version(version)
            .header(HOST, "header.example")
            .header("Cookie", "session=secret")
            .header("Authorization", "Bearer secret")
            .body(())
            .unwrap();
        RequestHead::new(&request, CLIENT, 0)
    }

    #[test]
    fn target_is_that_of_the_request_line() {
        for (target, version, expected, host) in [
            ("/a?b=%20", Version::HTTP_11, "/a?b=%20", "header.example"),
            ("*", Version::HTTP_11, "*", "header.example"),
            (
                "http://a.example/b?c",
                Version::HTTP_11,
                "http://a.example/b?c",
                "a.example",
            ),
            (
                "https://a.example/b?c",
                Version::HTTP_2,
                "/b?c",
                "a.example",
            ),
            (
                "http://user:geheim@a.example/b@c",
                Version::HTTP_11,
                "http://a.example/b@c",
                "a.example",
            ),
            (
                "a.example:443",
                Version::HTTP_11,
                "a.example:443",
                "a.example:443",
            ),
        ] {
            let head = head(target, version);
            assert_eq!(head.target(), expected, "{target}");
            assert_eq!(head.host.as_deref(), Some(host.as_bytes()), "{target}");
        }
    }

    #[test]
    fn cookies_and_authorization_are_not_stored() {
        assert!(!format!("{:?}", head("/", Version::HTTP_11)).contains("secret"));
    }

    #[test]
    fn several_user_agents_are_joined() {
        let mut headers = HeaderMap::new();
        let joined = |headers: &HeaderMap| {
            let request = Request::builder().body(()).unwrap();
            let mut head = RequestHead::new(&request, CLIENT, 0);
            head.user_agents = UserAgents::new(headers);
            head.user_agent().map(<[u8]>::to_vec)
        };
        assert_eq!(joined(&headers), None);
        headers.append(USER_AGENT, HeaderValue::from_static("a"));
        assert_eq!(joined(&headers).unwrap(), b"a");
        headers.append(USER_AGENT, HeaderValue::from_static("b"));
        assert_eq!(joined(&headers).unwrap(), b"a, b");
    }
}
