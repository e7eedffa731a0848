//! The proxies that ask, and the paths at which each of them does.

use axum::http::Uri;

/// Where the endpoint's paths begin.
const ROOT: &str = "/check/";

/// Proxy, by the way in which it describes a request and reads a decision.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Dialect {
    /// `auth_request`: 2xx lets pass, 401 and 403 do not; headers tell the rest.
    Nginx,
    /// `forward_auth`: what is not 2xx is the answer to the visitor.
    Caddy,
    /// `forwardAuth`: the same, described by `X-Forwarded-*`, which it sets itself.
    Traefik,
    /// The Lua file that this program prints: the same.
    Haproxy,
    /// `ext_authz` over HTTP: the same; method and path are those of its request.
    Envoy,
    /// The program of Apache's `RewriteMap`: each answer is one header, which it prints as a line.
    Apache,
    /// `auth-url`: 200, 401 (a redirect, given by our own listener) or 403.
    IngressNginx,
}

/// What is asked for at a path of the endpoint.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Asked<'a> {
    /// A decision; the rest of the path belongs to the visitor's request.
    Decision(Dialect, &'a str),
    /// The page that is served in place of another one.
    Page,
    /// A report of the application about visitors.
    Report,
    /// Whether the endpoint answers.
    Health,
    /// Nothing that is known.
    Nothing,
}

impl Dialect {
    /// Every one of them, in the order of the documentation.
    pub(crate) const ALL: [Self; 7] = [
        Self::Nginx,
        Self::Caddy,
        Self::Traefik,
        Self::Haproxy,
        Self::Envoy,
        Self::Apache,
        Self::IngressNginx,
    ];

    /// Returns the word for it, in paths and commands.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Caddy => "caddy",
            Self::Traefik => "traefik",
            Self::Haproxy => "haproxy",
            Self::Envoy => "envoy",
            Self::Apache => "apache",
            Self::IngressNginx => "ingress-nginx",
        }
    }
}

impl<'a> Asked<'a> {
    /// Reads what a request to the endpoint asks for.
    pub fn of(uri: &'a Uri) -> Self {
        let target = uri.path_and_query().map_or("", |target| target.as_str());
        let Some(asked) = target.strip_prefix(ROOT) else {
            return Self::Nothing;
        };
        let end = asked.find(['/', '?']).unwrap_or(asked.len());
        let (word, rest) = asked.split_at_checked(end).unwrap_or((asked, ""));
        let mut dialects = Dialect::ALL.into_iter();
        match dialects.find(|dialect| dialect.as_str() == word) {
            Some(Dialect::Envoy) => Self::Decision(Dialect::Envoy, rest),
            // Caddy and nginx put the visitor's query behind the endpoint's path.
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
    fn each_proxy_has_a_path_of_its_own() {
        for (target, asked) in [
            ("/check/nginx", Asked::Decision(Dialect::Nginx, "")),
            ("/check/caddy", Asked::Decision(Dialect::Caddy, "")),
            ("/check/traefik", Asked::Decision(Dialect::Traefik, "")),
            ("/check/haproxy", Asked::Decision(Dialect::Haproxy, "")),
            ("/check/envoy", Asked::Decision(Dialect::Envoy, "")),
            (
                "/check/envoy/a/b?c=/d",
                Asked::Decision(Dialect::Envoy, "/a/b?c=/d"),
            ),
            ("/check/envoy?c", Asked::Decision(Dialect::Envoy, "?c")),
            ("/check/page", Asked::Page),
            ("/check/page/a", Asked::Nothing),
            ("/check/report", Asked::Report),
            ("/check/report/a", Asked::Nothing),
            ("/check/health", Asked::Health),
            ("/check/nginx/a", Asked::Nothing),
            ("/check/nginx?a", Asked::Decision(Dialect::Nginx, "")),
            ("/check/page?a", Asked::Page),
            ("/check/apache", Asked::Decision(Dialect::Apache, "")),
            (
                "/check/ingress-nginx",
                Asked::Decision(Dialect::IngressNginx, ""),
            ),
            ("/check/ingress", Asked::Nothing),
            ("/check/", Asked::Nothing),
            ("/check", Asked::Nothing),
            ("/", Asked::Nothing),
        ] {
            assert_eq!(Asked::of(&target.parse().unwrap()), asked, "{target}");
        }
    }
}
