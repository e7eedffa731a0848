//! Checks that run before every handler, and the headers added to every response.

use std::{any::Any, net::IpAddr};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header, uri::Authority},
    middleware::Next,
    response::{IntoResponse, Response},
};
use tower::{Layer, ServiceExt};
use tower_http::csrf::CsrfLayer;

use super::{
    access::{self, has_bearer},
    page::RequestLocation,
    problem::Problem,
    state::AdminState,
    without_port,
};

/// The headers added to every response.
///
/// Even a text that evades escaping cannot run a script or load a resource, and no other site can
/// frame the pages. Scripts may send requests only to this site (`connect-src`).
const HEADERS: [(HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
         img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // The URLs of these pages contain search texts, and the pages about robots link to other sites.
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("x-robots-tag"), "noindex"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// Records the request's location, renders errors as pages or JSON, and adds the headers.
pub(super) async fn finish_response(mut request: Request, next: Next) -> Response {
    let location = RequestLocation::of(&request);
    request.extensions_mut().insert(location.clone());
    // A panic is caught before the headers are added, so that its error page has them too.
    let response = next.run(request).await;
    let mut response = match Problem::in_response(&response, &location) {
        Some(problem) => problem.finish(&location, response),
        None => response,
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Pages are only for the administrator, so no cache may store them beyond the session.
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Returns the response to a request whose handler panicked; the other requests go on.
pub(super) fn panicked(_: Box<dyn Any + Send>) -> Response {
    Problem::internal("a handler panicked").into_response()
}

/// Refuses requests for unknown host names.
///
/// With DNS rebinding, a page under another host name that resolves to this server could read the
/// console's pages.
pub(super) async fn require_known_host(
    State(state): State<AdminState>,
    request: Request,
    next: Next,
) -> Response {
    let host = host(request.uri(), request.headers());
    if is_allowed(&state.admin().hosts, host) {
        next.run(request).await
    } else {
        Problem::new(
            StatusCode::FORBIDDEN,
            "unknown_host",
            "The admin pages are not available under this host name. Add this name to the hosts in the settings.",
        )
        .into_response()
    }
}

/// Refuses requests with side effects that a page of another site caused.
///
/// A JSON request with a bearer token is allowed, because a browser does not add such a token
/// automatically; the token itself is checked later, and no other credential is accepted.
pub(super) async fn require_same_site(request: Request, next: Next) -> Response {
    if has_bearer(&access::location(request.extensions()), request.headers()) {
        return next.run(request).await;
    }
    let guarded = CsrfLayer::new()
        .with_rejection_response(|_| Problem::forged_request().into_response())
        .layer(next);
    match guarded.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// Returns the host of a request, including its port.
pub(super) fn host<'r>(uri: &'r Uri, headers: &'r HeaderMap) -> Option<&'r str> {
    uri.authority()
        .map(Authority::as_str)
        .or_else(|| headers.get(header::HOST)?.to_str().ok())
}

fn is_allowed(hosts: &[String], host: Option<&str>) -> bool {
    if hosts.is_empty() {
        // Without configured host names, every host is allowed.
        return true;
    }
    let Some(host) = host else { return false };
    let name = without_port(host);
    // An operator on the machine itself or behind an SSH tunnel is never locked out by the list.
    is_loopback(name)
        || hosts
            .iter()
            .any(|allowed| is_same(allowed, host) || is_same(allowed, name))
}

fn is_same(left: &str, right: &str) -> bool {
    // A trailing dot does not change the host (RFC 1034 §3.1), and case does not matter (RFC 4343).
    left.trim_end_matches('.')
        .eq_ignore_ascii_case(right.trim_end_matches('.'))
}

fn is_loopback(name: &str) -> bool {
    let literal = name.trim_start_matches('[').trim_end_matches(']');
    is_same(name, "localhost")
        || literal
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use axum::{Router, body::Body, middleware::from_fn, routing::get};
    use tower_http::catch_panic::CatchPanicLayer;

    use super::*;

    fn allows(host: &str) -> bool {
        is_allowed(
            &["www.example.com".to_owned(), "other:8080".to_owned()],
            Some(host),
        )
    }

    #[tokio::test]
    async fn handler_panic_is_reported_like_other_errors() {
        let router = || {
            async fn panics() -> StatusCode {
                panic!("told to")
            }
            let router = Router::new().route("/a", get(panics));
            router
                .route("/api/a", get(panics))
                .layer(CatchPanicLayer::custom(panicked))
                .layer(from_fn(finish_response))
        };
        for (path, kind) in [
            ("/a", "text/html; charset=utf-8"),
            ("/api/a", "application/problem+json"),
        ] {
            let request = Request::get(path).body(Body::empty()).unwrap();
            let response = router().oneshot(request).await.unwrap();
            assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
            assert_eq!(response.headers()[header::CONTENT_TYPE], kind, "{path}");
        }
    }

    #[test]
    fn listed_hosts_and_loopback_are_allowed() {
        for host in [
            "www.example.com",
            "WWW.Example.COM.",
            "www.example.com:8443",
            "other:8080",
            "localhost",
            "localhost:1",
            "127.0.0.1:8080",
            "127.9.9.9",
            "[::1]:8080",
            "[::1]",
        ] {
            assert!(allows(host), "{host}");
        }
    }

    #[test]
    fn other_hosts_are_refused() {
        for host in [
            "evil.example",
            "www.example.com.evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "other",
            "other:8081",
            "10.0.0.1",
            "",
        ] {
            assert!(!allows(host), "{host}");
        }
        assert!(!is_allowed(&["a".to_owned()], None));
    }

    #[test]
    fn an_empty_list_allows_any() {
        assert!(is_allowed(&[], Some("evil.example")));
        assert!(is_allowed(&[], None));
    }
}
