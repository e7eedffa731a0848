//! Refused requests, and the headers of every response.

use regex::Regex;
use reqwest::{Method, StatusCode, header};

use super::site::{PASSWORD, Plan};

#[tokio::test]
async fn a_form_from_another_site_is_refused() {
    let site = Plan::default().start().await;
    let client = site.logged_in().await;
    let token = client.get("account").await.csrf();
    for (name, value) in [
        ("origin", "http://evil.example"),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        let mut forged = client.form("refresh", &[("csrf", &token)]).build().unwrap();
        forged.headers_mut().insert(name, value.parse().unwrap());
        let answer = reqwest::Client::builder().build().unwrap();
        let answer = answer.execute(forged).await.unwrap();
        assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{name}: {value}");
    }
    assert!(site.source.seen().is_empty());
}

#[tokio::test]
async fn a_form_without_the_sessions_token_is_refused() {
    let site = Plan::default().start().await;
    let client = site.logged_in().await;
    let other = site.logged_in().await.get("account").await.csrf();
    for path in [
        "refresh",
        "robots/new",
        "robots/remove",
        "account",
        "logout",
    ] {
        for token in ["", "wrong", &other] {
            let fields = [("csrf", token), ("id", "x"), ("useragent", "Xyzzy/1")];
            let refused = client.post_as_is(path, &fields).await;
            assert_eq!(refused.status, StatusCode::FORBIDDEN, "{path} {token:?}");
            assert!(refused.text().contains("did not come from a page"));
        }
    }
    assert!(site.source.seen().is_empty());
}

#[tokio::test]
async fn a_login_from_another_site_is_refused() {
    let site = Plan::default().start().await;
    let client = site.client();
    let mut forged = client
        .form("login", &[("password", PASSWORD)])
        .build()
        .unwrap();
    let origin = "http://evil.example".parse().unwrap();
    forged.headers_mut().insert(header::ORIGIN, origin);
    let http = reqwest::Client::builder().build().unwrap();
    let answer = http.execute(forged).await.unwrap();
    assert_eq!(answer.status(), StatusCode::FORBIDDEN);
    assert!(answer.headers().get(header::SET_COOKIE).is_none());
}

#[tokio::test]
async fn get_requests_change_nothing() {
    let site = Plan::default().start().await;
    let client = site.logged_in().await;
    for path in ["logout", "robots/remove?id=x"] {
        let refused = client.get(path).await;
        let is_refused = matches!(
            refused.status,
            StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_FOUND
        );
        assert!(is_refused, "{path}: {}", refused.status);
    }
    client.get("refresh?source=web-robots-db&force=1").await;
    assert_eq!(client.get("overview").await.status, StatusCode::OK);
    assert!(site.source.seen().is_empty());
}

#[tokio::test]
async fn unlisted_host_names_are_refused() {
    let plan = Plan {
        hosts: vec!["www.example.com".to_owned()],
        ..Plan::default()
    };
    let site = plan.start().await;
    let client = site.client();
    for (host, status) in [
        ("www.example.com", StatusCode::OK),
        ("localhost:8080", StatusCode::OK),
        ("rebound.evil.example", StatusCode::FORBIDDEN),
    ] {
        for path in ["login", "assets/admin.css"] {
            let request = client.request(Method::GET, path);
            let answer = client.send(request.header(header::HOST, host)).await;
            assert_eq!(answer.status, status, "{host} {path}");
        }
    }
}

#[tokio::test]
async fn every_response_has_the_security_headers() {
    let site = Plan::default().start().await;
    let client = site.logged_in().await;
    for path in [
        "",
        "overview",
        "robots",
        "nowhere",
        "api/v1/status",
        "api/v1/nowhere",
        "assets/admin.css",
    ] {
        let answer = client.get(path).await;
        let policy = answer.header("content-security-policy");
        for directive in [
            "default-src 'none'",
            "style-src 'self'",
            "script-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        ] {
            assert!(policy.contains(directive), "{path}: {policy}");
        }
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("referrer-policy"), "same-origin");
        assert_eq!(answer.header("x-robots-tag"), "noindex");
        let is_kept = answer.header("cache-control") != "no-store";
        assert_eq!(is_kept, path.starts_with("assets/"), "{path}");
    }
}

#[tokio::test]
async fn a_form_of_one_megabyte_is_refused() {
    let site = Plan::default().start().await;
    let client = site.logged_in().await;
    let long = "a".repeat(1 << 20);
    let refused = client.post("robots/new", &[("useragent", &long)]).await;
    assert_eq!(refused.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(refused.text().contains("64 KiB"));
}

/// Returns the addresses of all page routes, with placeholders for their parameters.
fn routes_of_pages() -> Vec<String> {
    let router = include_str!("../../../crates/console/src/routes.rs");
    let parameter = Regex::new(r"\{[^}]*\}").unwrap();
    let route = Regex::new(r#"\.route\(\s*"/([^"]*)""#).unwrap();
    let routes = route.captures_iter(router);
    routes
        .map(|route| parameter.replace_all(&route[1], "1").into_owned())
        .collect()
}

#[tokio::test]
async fn page_routes_reveal_and_change_nothing_without_a_session() {
    let site = Plan::default().start().await;
    let browser = site.logged_in().await;
    let token = [("name", "writer"), ("scope", "write")];
    let made = browser.post("access/tokens", &token).await;
    let secret = Regex::new(r#"id="secret">([^<]+)<"#).unwrap();
    let bearer = format!("Bearer {}", &secret.captures(&made.body).unwrap()[1]);
    let before = site
        .store
        .audit()
        .list(0..i64::MAX, 100)
        .await
        .unwrap()
        .len();
    let stranger = site.client();
    let routes = routes_of_pages();
    assert!(routes.len() > 50, "{routes:?}");
    for path in routes {
        if path == "login" || path.starts_with("assets/") {
            continue;
        }
        // Pages must not accept a token: their forms would be unprotected against CSRF.
        for authorization in ["", &*bearer] {
            let with = |request: reqwest::RequestBuilder| match authorization {
                "" => request,
                bearer => request.header("authorization", bearer),
            };
            for request in [
                stranger.request(Method::GET, &path),
                stranger.form(&path, &[]),
            ] {
                let answer = stranger.send(with(request)).await;
                assert_eq!(
                    answer.status,
                    StatusCode::SEE_OTHER,
                    "{path} {authorization}"
                );
                assert!(answer.header("location").contains("login"), "{path}");
                assert_eq!(answer.body, "", "{path}");
            }
        }
    }
    let after = site
        .store
        .audit()
        .list(0..i64::MAX, 100)
        .await
        .unwrap()
        .len();
    assert_eq!(before, after);
}

#[tokio::test]
async fn strangers_see_only_the_login() {
    let site = Plan::default().start().await;
    let client = site.client();
    for path in [
        "",
        "overview",
        "robots",
        "robots/new",
        "robots/web-robots-db/x",
        "identify?user_agent=x",
        "refresh",
        "refreshes",
        "refreshes/1",
        "account",
        "nowhere",
    ] {
        let answer = client.get(path).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{path}");
        assert!(answer.header("location").contains("login"), "{path}");
    }
    for path in [
        "api/v1/status",
        "api/v1/robots",
        "api/v1/refresh",
        "api",
        "api/v1/nowhere",
    ] {
        let answer = client.get(path).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path}");
        assert_eq!(answer.json()["code"], "unauthorized");
        assert!(answer.header("www-authenticate").starts_with("Bearer"));
    }
    for path in ["login", "assets/admin.css", "assets/admin.js"] {
        assert_eq!(client.get(path).await.status, StatusCode::OK, "{path}");
    }
}
