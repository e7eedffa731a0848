//! Front proxies and the paths of the decision endpoint that they query.

use axum::http::Uri;

/// Prefix of the decision endpoint's paths.
const ROOT: &str = "/check/";

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
}
