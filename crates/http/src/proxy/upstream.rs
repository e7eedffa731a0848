use std::{borrow::Cow, path::PathBuf, sync::Arc};

use http::{
    HeaderValue, Uri,
    uri::{Authority, InvalidUri, PathAndQuery, Scheme},
};

use super::error::ProxyError;

/// The address and protocol of an upstream server, parsed from `http(s)://host[:port][/prefix]`,
/// `h2c://…` or `unix:/path`.
#[derive(Clone, Debug)]
pub(super) struct Upstream {
    pub(super) address: Address,
    pub(super) protocol: Protocol,
    /// The value of the `Host` header that is sent if the client's header is not preserved.
    pub(super) host: HeaderValue,
    /// The name used in log messages, which is the URL without the path prefix.
    pub(super) name: Arc<str>,
    /// The path prefix without a slash at the end; empty if there is no prefix.
    prefix: String,
}

/// The address of an upstream server.
#[derive(Clone, Debug)]
pub(super) enum Address {
    /// A TCP address, stored as a URI with scheme and authority.
    Tcp(Uri),
    Unix(PathBuf),
}

/// The protocol of a connection to an upstream server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Protocol {
    Http1,
    /// HTTP/2 without TLS, by prior knowledge (RFC 9113 §3.3).
    H2c,
    /// TLS, with the HTTP version that ALPN negotiates.
    Tls,
}

impl Upstream {
    pub(super) fn parse(url: &str) -> Result<Self, ProxyError> {
        parse(url).map_err(|reason| ProxyError::Upstream {
            url: without_password(url),
            reason: reason.into_owned(),
        })
    }

    /// Returns the prefix that is prepended to the path of each request, without a slash at the
    /// end.
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns `true` if the client's request target is sent to the server unchanged.
    pub(super) fn keeps_target(&self, uri: &Uri) -> bool {
        self.prefix.is_empty() && uri.authority().is_none() && uri.path_and_query().is_some()
    }

    /// Returns the request target to send to the server: the prefix followed by the client's bytes.
    pub(super) fn target(&self, uri: &Uri) -> Option<Uri> {
        let path = uri.path_and_query().map_or("/", PathAndQuery::as_str);
        // `*` applies to the server as a whole (RFC 9112 §3.2.4) and has no path to prefix.
        let target = if self.prefix.is_empty() || path == "*" {
            // Nothing is copied: the bytes are shared with the client's request.
            uri.path_and_query()
                .cloned()
                .unwrap_or_else(|| PathAndQuery::from_static("/"))
        } else {
            PathAndQuery::try_from(format!("{}{path}", self.prefix)).ok()?
        };
        // A fragment after the host (`http://site.example#top`) leaves an empty path, which would
        // be written as an empty target (RFC 9112 §3.2.1).
        Some(Uri::from(target)).filter(|target| !target.path().is_empty())
    }
}

fn parse(url: &str) -> Result<Upstream, Cow<'static, str>> {
    if let Some(path) = url.strip_prefix("unix:") {
        return unix(path).map_err(Into::into);
    }
    // `Uri` discards a fragment without an error.
    if url.contains('#') {
        return Err("a fragment (#…) is never sent to a server; remove it".into());
    }
    let uri: Uri = url.parse().map_err(|error: InvalidUri| {
        format!("not a URL: {error}; use a URL such as http://127.0.0.1:3000")
    })?;
    let (protocol, scheme) = match uri.scheme_str() {
        Some("http") => (Protocol::Http1, Scheme::HTTP),
        Some("h2c") => (Protocol::H2c, Scheme::HTTP),
        Some("https") => (Protocol::Tls, Scheme::HTTPS),
        Some(_) => {
            return Err("the scheme is not supported; use http:// or https://, h2c:// for HTTP/2 without TLS, or unix:/path/of/socket".into());
        }
        None => {
            return Err("the scheme is missing; put http:// or https:// before the host".into());
        }
    };
    let authority = authority(&uri)?;
    if uri.query().is_some() {
        return Err("an upstream URL must not contain a query (?…); remove it".into());
    }
    let host = HeaderValue::try_from(authority.as_str())
        .map_err(|_| "the host contains characters that are not allowed in a header")?;
    let prefix = uri.path().trim_end_matches('/').to_owned();
    let name = format!("{}://{authority}/", uri.scheme_str().unwrap_or_default());
    let uri = Uri::builder()
        .scheme(scheme)
        .authority(authority.clone())
        .path_and_query("/")
        .build()
        .map_err(|error| error.to_string())?;
    Ok(Upstream {
        address: Address::Tcp(uri),
        protocol,
        host,
        name: name.into(),
        prefix,
    })
}

/// Parses the path of a Unix socket from `unix:/run/app.sock` or `unix:///run/app.sock`.
fn unix(path: &str) -> Result<Upstream, &'static str> {
    let path = path.strip_prefix("//").unwrap_or(path);
    if !path.starts_with('/') || path.ends_with('/') || path.contains('\0') {
        return Err("the socket path must begin with a slash, as in unix:/run/app.sock");
    }
    Ok(Upstream {
        address: Address::Unix(path.into()),
        protocol: Protocol::Http1,
        // A socket has no host name, but HTTP/1.1 requires the `Host` header (RFC 9112 §3.2).
        host: HeaderValue::from_static("localhost"),
        name: format!("unix:{path}").into(),
        prefix: String::new(),
    })
}

fn authority(uri: &Uri) -> Result<&Authority, &'static str> {
    let authority = uri
        .authority()
        .filter(|authority| !authority.host().is_empty())
        .ok_or("the host is missing; use a URL such as http://127.0.0.1:3000")?;
    if authority.as_str().contains('@') {
        return Err("the URL must not contain a user name or password; remove them");
    }
    if has_bad_port(authority) {
        return Err("the port is not a number from 1 to 65535");
    }
    Ok(authority)
}

/// Removes `user:password@`, which must not appear in logs.
fn without_password(url: &str) -> String {
    match url.rsplit_once('@') {
        None => url.to_owned(),
        Some((before, after)) => {
            let scheme = before.split_once("://").map_or("", |(scheme, _)| scheme);
            format!("{scheme}://…@{after}")
        }
    }
}

fn has_bad_port(authority: &Authority) -> bool {
    let after_host = authority.as_str().rsplit_once(']');
    let rest = after_host.map_or(authority.as_str(), |(_, rest)| rest);
    rest.contains(':') && authority.port_u16().is_none_or(|port| port == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> String {
        Upstream::parse(url).unwrap_err().to_string()
    }

    #[test]
    fn hosts_ports_and_prefixes_are_accepted() {
        for url in [
            "http://127.0.0.1:3000",
            "http://127.0.0.1:3000/",
            "https://origin.example",
            "http://[::1]:3000",
            "HTTP://origin.example/app/",
            "h2c://127.0.0.1:50051",
            "unix:/run/app.sock",
            "unix:///run/app.sock",
        ] {
            assert!(Upstream::parse(url).is_ok(), "{url}");
        }
    }

    #[test]
    fn invalid_upstream_is_refused_with_the_reason() {
        for (url, reason) in [
            ("", "not a URL"),
            ("127.0.0.1:3000", "scheme"),
            ("/app", "scheme is missing"),
            ("ftp://origin.example", "use http:// or https://"),
            ("unix:app.sock", "unix:/run/app.sock"),
            ("unix://app.sock", "unix:/run/app.sock"),
            ("unix:/run/", "unix:/run/app.sock"),
            (
                "http://user:secret@origin.example",
                "must not contain a user name or password",
            ),
            ("http://origin.example/?a=b", "a query"),
            ("http://origin.example/#top", "a fragment"),
            ("http://origin.example:0", "the port"),
            ("http://origin.example:99999", "the port"),
            ("http://origin.example:/", "the port"),
            ("http://exa mple/", "not a URL"),
        ] {
            let text = refusal(url);
            assert!(text.contains(reason), "{url}: {text}");
        }
    }

    #[test]
    fn password_is_not_repeated() {
        let text = refusal("http://user:secret@origin.example");
        assert!(
            !text.contains("secret") && text.contains("origin.example"),
            "{text}"
        );
    }

    #[test]
    fn targets_keep_their_bytes_after_the_prefix() {
        let plain = Upstream::parse("http://origin.example").unwrap();
        let prefixed = Upstream::parse("http://origin.example/app/").unwrap();
        for path in ["/", "//a/../b;c=d/%2F%2e?x=1;y=%zz&", "/?", "/a%00b"] {
            let uri: Uri = path.parse().unwrap();
            assert_eq!(plain.target(&uri).unwrap().to_string(), path);
            assert!(plain.keeps_target(&uri) && !prefixed.keeps_target(&uri));
            assert_eq!(
                prefixed.target(&uri).unwrap().to_string(),
                format!("/app{path}")
            );
        }
        let absolute: Uri = "http://site.example?x=1".parse().unwrap();
        assert_eq!(plain.target(&absolute).unwrap().to_string(), "/?x=1");
        assert!(!plain.keeps_target(&absolute));
        let fragment: Uri = "http://site.example#@other.example/".parse().unwrap();
        assert_eq!(plain.target(&fragment), None);
        let asterisk: Uri = "*".parse().unwrap();
        assert_eq!(prefixed.target(&asterisk).unwrap().to_string(), "*");
    }
}
