use std::borrow::Cow;

use http::{
    HeaderValue, Uri,
    uri::{Authority, InvalidUri, PathAndQuery, Scheme},
};

use super::error::ProxyError;

/// Where requests go: a parsed `http(s)://host[:port][/prefix]`.
#[derive(Clone, Debug)]
pub(super) struct Upstream {
    /// Scheme and authority, for connecting and for messages.
    pub(super) uri: Uri,
    /// Value of `Host`, when the client's is not kept.
    pub(super) host: HeaderValue,
    /// Without a slash at the end; empty for none.
    prefix: String,
    pub(super) is_https: bool,
}

impl Upstream {
    pub(super) fn parse(url: &str) -> Result<Self, ProxyError> {
        parse(url).map_err(|reason| ProxyError::Upstream {
            url: without_password(url),
            reason: reason.into_owned(),
        })
    }

    /// Returns the request target to send: the client's bytes, after our prefix.
    pub(super) fn target(&self, uri: &Uri) -> Option<Uri> {
        let path = uri.path_and_query().map_or("/", PathAndQuery::as_str);
        let target = if self.prefix.is_empty() || path == "*" {
            // No copy: the bytes are shared with the client's request.
            uri.path_and_query()
                .cloned()
                .unwrap_or_else(|| PathAndQuery::from_static("/"))
        } else {
            PathAndQuery::try_from(format!("{}{path}", self.prefix)).ok()?
        };
        Some(target.into())
    }
}

fn parse(url: &str) -> Result<Upstream, Cow<'static, str>> {
    // `Uri` drops a fragment silently.
    if url.contains('#') {
        return Err("a fragment (#…) is never sent to a server; leave it out".into());
    }
    let uri: Uri = url
        .parse()
        .map_err(|error: InvalidUri| format!("not a URL: {error}; write http://127.0.0.1:3000"))?;
    let (is_https, scheme) = match uri.scheme_str() {
        Some("http") => (false, Scheme::HTTP),
        Some("https") => (true, Scheme::HTTPS),
        Some(_) => return Err("the scheme is not supported; use http:// or https://".into()),
        None => {
            return Err("the scheme is missing; write http:// or https:// before the host".into());
        }
    };
    let authority = authority(&uri)?;
    if uri.query().is_some() {
        return Err("a query (?…) cannot be part of an upstream; leave it out".into());
    }
    let host = HeaderValue::try_from(authority.as_str())
        .map_err(|_| "the host cannot be sent as a header")?;
    let prefix = uri.path().trim_end_matches('/').to_owned();
    let uri = Uri::builder()
        .scheme(scheme)
        .authority(authority.clone())
        .path_and_query("/")
        .build()
        .map_err(|error| error.to_string())?;
    Ok(Upstream {
        uri,
        host,
        prefix,
        is_https,
    })
}

fn authority(uri: &Uri) -> Result<&Authority, &'static str> {
    let authority = uri
        .authority()
        .filter(|authority| !authority.host().is_empty())
        .ok_or("the host is missing; write http://127.0.0.1:3000")?;
    if authority.as_str().contains('@') {
        return Err("user name and password cannot be in the URL; leave them out");
    }
    if has_bad_port(authority) {
        return Err("the port is not a number from 1 to 65535");
    }
    Ok(authority)
}

/// A URL with `user:password@` must not reach a log.
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
        ] {
            assert!(Upstream::parse(url).is_ok(), "{url}");
        }
    }

    #[test]
    fn what_is_not_an_upstream_is_refused_with_the_reason() {
        for (url, reason) in [
            ("", "not a URL"),
            ("127.0.0.1:3000", "scheme"),
            ("/app", "scheme is missing"),
            ("ftp://origin.example", "use http:// or https://"),
            ("unix:/run/app.sock", "not a URL"),
            (
                "http://user:secret@origin.example",
                "password cannot be in the URL",
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
    fn a_password_is_not_repeated() {
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
            assert_eq!(
                prefixed.target(&uri).unwrap().to_string(),
                format!("/app{path}")
            );
        }
        let absolute: Uri = "http://site.example?x=1".parse().unwrap();
        assert_eq!(plain.target(&absolute).unwrap().to_string(), "/?x=1");
        let asterisk: Uri = "*".parse().unwrap();
        assert_eq!(prefixed.target(&asterisk).unwrap().to_string(), "*");
    }
}
