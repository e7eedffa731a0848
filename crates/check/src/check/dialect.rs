//! Front proxies and the paths of the decision endpoint that they query.

use axum::http::{
    HeaderValue,
    uri::{PathAndQuery, Uri},
};
use percent_encoding::percent_decode_str;

use super::REDIRECT_PATH;

/// Prefix of the decision endpoint's paths.
const ROOT: &str = "/check/";

/// URL parameter that contains the requested URL.
const PARAMETER: &str = "rd=";

robot_detection_layer::words! {
    /// A type of front proxy, which determines how a query describes a request and how the decision is
    /// encoded.
    pub enum Dialect {
        /// nginx's `auth_request`: a 2xx response allows the request, 401 and 403 do not; headers
        /// contain the details.
        Nginx = "nginx",
        /// Caddy's `forward_auth`: any response other than 2xx is sent to the visitor.
        Caddy = "caddy",
        /// Traefik's `forwardAuth`: like Caddy, but requests are described in `X-Forwarded-*` headers,
        /// which Traefik sets itself.
        Traefik = "traefik",
        /// HAProxy with the Lua file printed by this program; responses are the same as for Caddy.
        Haproxy = "haproxy",
        /// Envoy's `ext_authz` over HTTP: like Caddy, but queries use the visitor's method and path.
        Envoy = "envoy",
        /// Apache's `RewriteMap` with the program `apache-map`, which prints the response's single
        /// header as a line.
        Apache = "apache",
        /// ingress-nginx's `auth-url`: the response is 200, 401 (a redirect, served by this program's
        /// listener) or 403.
        IngressNginx = "ingress-nginx",
    }
}

/// The resource that a request to the decision endpoint asks for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EndpointRequest<'a> {
    /// A decision for a front proxy; the rest of the path belongs to the visitor's request.
    Decision(Dialect, &'a str),
    /// The page to serve directly instead of the requested page.
    Page,
    /// A report in which an application specifies which visitors are human.
    Report,
    /// A health check of the decision endpoint.
    Health,
    /// A resource that does not exist on the decision endpoint.
    Nothing,
}

impl<'a> EndpointRequest<'a> {
    /// Parses the target of a request to the decision endpoint.
    pub fn from_uri(uri: &'a Uri) -> Self {
        let target = uri.path_and_query().map_or("", |target| target.as_str());
        let Some(asked) = target.strip_prefix(ROOT) else {
            return Self::Nothing;
        };
        let end = asked.find(['/', '?']).unwrap_or(asked.len());
        let (word, rest) = asked.split_at_checked(end).unwrap_or((asked, ""));
        match Dialect::from_word(word) {
            Some(Dialect::Envoy) => Self::Decision(Dialect::Envoy, rest),
            // Caddy and nginx append the visitor's query to the endpoint's path.
            Some(dialect) if !rest.starts_with('/') => Self::Decision(dialect, ""),
            None if word == "page" && !rest.starts_with('/') => Self::Page,
            None if word == "report" && rest.is_empty() => Self::Report,
            None if word == "health" && rest.is_empty() => Self::Health,
            _ => Self::Nothing,
        }
    }
}

/// Returns the page to which ingress-nginx redirects a visitor, which supports only a fixed redirect
/// URL: the requested URL from a target such as
/// `/robot-detection/redirect?rd=https://HOST/PAGE`, and the path and query of this URL.
///
/// Only a page on the same host is accepted, so that a link cannot redirect visitors elsewhere.
pub fn requested_page(uri: &Uri, host: &str) -> Option<(HeaderValue, PathAndQuery)> {
    if uri.path() != REDIRECT_PATH {
        return None;
    }
    let mut parameters = uri.query()?.split('&');
    let url = parameters.find_map(|parameter| parameter.strip_prefix(PARAMETER))?;
    let url = percent_decode_str(url).decode_utf8().ok()?;
    let rest = url.strip_prefix("https://");
    let rest = rest.or_else(|| url.strip_prefix("http://"))?;
    let (named, page) = rest.split_at(rest.find('/')?);
    // This path would redirect to itself.
    if !named.eq_ignore_ascii_case(host) || page.starts_with(REDIRECT_PATH) {
        return None;
    }
    Some((HeaderValue::try_from(&*url).ok()?, page.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_proxy_has_its_own_path() {
        for (target, asked) in [
            (
                "/check/nginx",
                EndpointRequest::Decision(Dialect::Nginx, ""),
            ),
            (
                "/check/caddy",
                EndpointRequest::Decision(Dialect::Caddy, ""),
            ),
            (
                "/check/traefik",
                EndpointRequest::Decision(Dialect::Traefik, ""),
            ),
            (
                "/check/haproxy",
                EndpointRequest::Decision(Dialect::Haproxy, ""),
            ),
            (
                "/check/envoy",
                EndpointRequest::Decision(Dialect::Envoy, ""),
            ),
            (
                "/check/envoy/a/b?c=/d",
                EndpointRequest::Decision(Dialect::Envoy, "/a/b?c=/d"),
            ),
            (
                "/check/envoy?c",
                EndpointRequest::Decision(Dialect::Envoy, "?c"),
            ),
            ("/check/page", EndpointRequest::Page),
            ("/check/page/a", EndpointRequest::Nothing),
            ("/check/report", EndpointRequest::Report),
            ("/check/report/a", EndpointRequest::Nothing),
            ("/check/health", EndpointRequest::Health),
            ("/check/nginx/a", EndpointRequest::Nothing),
            (
                "/check/nginx?a",
                EndpointRequest::Decision(Dialect::Nginx, ""),
            ),
            ("/check/page?a", EndpointRequest::Page),
            (
                "/check/apache",
                EndpointRequest::Decision(Dialect::Apache, ""),
            ),
            (
                "/check/ingress-nginx",
                EndpointRequest::Decision(Dialect::IngressNginx, ""),
            ),
            ("/check/ingress", EndpointRequest::Nothing),
            ("/check/", EndpointRequest::Nothing),
            ("/check", EndpointRequest::Nothing),
            ("/", EndpointRequest::Nothing),
        ] {
            assert_eq!(
                EndpointRequest::from_uri(&target.parse().unwrap()),
                asked,
                "{target}"
            );
        }
    }

    #[test]
    fn only_a_page_of_the_same_host_is_returned() {
        for (rd, page) in [
            ("https://example.org/a?b", Some("/a?b")),
            ("https%3A%2F%2Fexample.org%2Fa%3Fb%26c", Some("/a?b&c")),
            ("http://EXAMPLE.org/%252e", Some("/%2e")),
            ("https://example.org/a&rd=https://evil.example/", Some("/a")),
            ("https://evil.example/a", None),
            ("https://example.org@evil.example/a", None),
            ("https://example.org.evil.example/a", None),
            (
                "https://example.org//evil.example/a",
                Some("//evil.example/a"),
            ),
            ("https://example.org", None),
            ("https://example.org/a%0d%0ab", None),
            ("https://example.org/robot-detection/redirect?rd=x", None),
            ("//evil.example/", None),
            ("/a", None),
            ("javascript:alert(1)", None),
            ("", None),
        ] {
            let uri = format!("{REDIRECT_PATH}?rd={rd}").parse().unwrap();
            let found = requested_page(&uri, "example.org");
            assert_eq!(found.as_ref().map(|(_, page)| page.as_str()), page, "{rd}");
            // The redirect URL always contains the host, regardless of the page's path.
            let way_back = found.map(|(url, _)| url.to_str().unwrap().to_lowercase());
            assert!(way_back.is_none_or(|url| url.split('/').nth(2) == Some("example.org")));
        }
        assert_eq!(
            requested_page(
                &"/other?rd=https://example.org/a".parse().unwrap(),
                "example.org"
            ),
            None
        );
    }
}
