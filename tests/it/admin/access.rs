//! Tokens with scopes, and sessions: creating, listing and ending them, and limits of read tokens.

use std::time::Duration;

use regex::Regex;
use reqwest::{Method, StatusCode, header};

use super::site::{Answer, Client, Plan, Site};

async fn with(client: &Client, secret: &str, method: Method, path: &str, body: &str) -> Answer {
    let request = client.json(method, path, body);
    let bearer = format!("Bearer {secret}");
    client
        .send(request.header(header::AUTHORIZATION, bearer))
        .await
}

/// Creates a token on the page; returns its secret.
async fn create_token(browser: &Client, name: &str, scope: &str, ends: &str) -> String {
    let fields = [("name", name), ("scope", scope), ("ends", ends)];
    let answer = browser.post("access/tokens", &fields).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.body);
    let secret = Regex::new(r#"id="secret">([^<]+)<"#).unwrap();
    secret.captures(&answer.body).unwrap()[1].to_owned()
}

async fn site() -> (Site, Client) {
    let site = Plan::default().start().await;
    let browser = site.logged_in().await;
    (site, browser)
}

async fn audited(site: &Site) -> Vec<String> {
    let entries = site.store.audit().list(0..i64::MAX, 100).await.unwrap();
    // Logins are recorded too; these tests check the other actions.
    let told = entries.iter().filter(|entry| entry.event != "login");
    let told = told.map(|entry| {
        let (actor, event, subject) = (&entry.actor, &entry.event, &entry.subject);
        format!("{actor}: {event} {subject}")
    });
    told.collect()
}

#[tokio::test]
async fn a_token_is_shown_once_listed_with_its_last_use_and_ended() {
    let (site, browser) = site().await;
    let secret = create_token(&browser, "monitoring", "read", "2026-03-31").await;
    let page = browser.get("access").await;
    assert!(
        !page.body.contains(&secret),
        "the secret is shown only once"
    );
    assert!(page.text().contains("monitoring read"), "{}", page.text());
    assert!(page.text().contains("never"), "{}", page.text());
    assert!(page.body.contains("2026-04-01 00:00 UTC"), "{}", page.body);

    let program = site.client();
    let answer = with(&program, &secret, Method::GET, "api/v1/tokens", "").await;
    let token = &answer.json()["tokens"][0];
    assert_eq!(token["name"], "monitoring");
    assert_eq!(token["scope"], "read");
    assert_eq!(token["used"], "2026-03-01T12:00:00Z");
    assert!(!answer.body.contains(&secret), "{}", answer.body);

    let ended = browser
        .post("access/tokens/end", &[("name", "monitoring")])
        .await;
    assert_eq!(ended.status, StatusCode::SEE_OTHER);
    let answer = with(&program, &secret, Method::GET, "api/v1/tokens", "").await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    let told = audited(&site).await;
    assert_eq!(
        told,
        [
            "admin: token-ended monitoring",
            "admin: token-made monitoring"
        ]
    );
}

#[tokio::test]
async fn a_read_token_changes_nothing_on_any_route() {
    let (site, browser) = site().await;
    let secret = create_token(&browser, "reader", "read", "").await;
    let program = site.client();
    for (method, path) in [
        (Method::POST, "api/v1/refresh"),
        (Method::POST, "api/v1/robots"),
        (Method::DELETE, "api/v1/robots/manual/x"),
        (Method::POST, "api/v1/reload"),
        (Method::POST, "api/v1/tokens"),
        (Method::DELETE, "api/v1/tokens/reader"),
        (Method::POST, "api/v1/sessions/end-others"),
        (Method::DELETE, "api/v1/sessions/0"),
        // Missing routes refuse a read token too, so new routes need no separate check.
        (Method::PATCH, "api/whatever-comes-next"),
        (Method::PUT, "api/v1/robots"),
    ] {
        let answer = with(&program, &secret, method.clone(), path, "{}").await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{method} {path}");
        assert_eq!(answer.json()["code"], "read_only");
    }
    for path in [
        "api/v1/status",
        "api/v1/robots",
        "api/v1/tokens",
        "api/v1/sessions",
    ] {
        let answer = with(&program, &secret, Method::GET, path, "").await;
        assert_eq!(answer.status, StatusCode::OK, "{path}");
    }
    assert_eq!(audited(&site).await.len(), 1, "only the token is recorded");
}

#[tokio::test]
async fn a_token_is_valid_through_its_last_day() {
    let (site, browser) = site().await;
    let secret = create_token(&browser, "short", "write", "2026-03-02").await;
    let program = site.client();
    let ask = || with(&program, &secret, Method::GET, "api/v1/status", "");
    site.clock.advance(Duration::from_hours(24));
    assert_eq!(ask().await.status, StatusCode::OK);
    site.clock.advance(Duration::from_hours(12));
    assert_eq!(ask().await.status, StatusCode::UNAUTHORIZED);
    let page = site.logged_in().await.get("access").await;
    assert!(page.text().contains("expired Remove"), "{}", page.text());
}

#[tokio::test]
async fn a_program_creates_and_ends_tokens_but_none_that_outlasts_its_own() {
    let (site, browser) = site().await;
    let secret = create_token(&browser, "deploy", "write", "2026-03-10").await;
    let program = site.client();
    let make = |body: &'static str| with(&program, &secret, Method::POST, "api/v1/tokens", body);
    let answer = make(r#"{"name":"child","ends":"7d"}"#).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.body);
    assert_eq!(answer.json()["token"]["scope"], "read");
    let child = answer.json()["secret"].as_str().unwrap().to_owned();
    let answer = with(&program, &child, Method::GET, "api/v1/status", "").await;
    assert_eq!(answer.status, StatusCode::OK);
    for (body, words) in [
        (r#"{"name":"child"}"#, "that expires later"),
        (
            r#"{"name":"other","ends":"2026-03-11"}"#,
            "that expires later",
        ),
        (
            r#"{"name":"child","ends":"1d"}"#,
            "with this name already exists",
        ),
        (r#"{"name":" ","ends":"1d"}"#, "name is empty"),
        (
            r#"{"name":"a","scope":"admin","ends":"1d"}"#,
            "read or write",
        ),
        (r#"{"name":"a","ends":"soon"}"#, "is not an end time"),
        (r#"{"name":"a","ends":"2020-01-01"}"#, "is in the past"),
        (r#"{"name":"a","ends":"1d","scopes":"read"}"#, "scopes"),
    ] {
        let answer = make(body).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{body}");
        let message = answer.json()["detail"].to_string();
        assert!(message.contains(words), "{message}");
    }
    let end = |name| with(&program, &secret, Method::DELETE, name, "");
    assert_eq!(
        end("api/v1/tokens/child").await.status,
        StatusCode::NO_CONTENT
    );
    assert_eq!(
        end("api/v1/tokens/child").await.status,
        StatusCode::NOT_FOUND
    );
    let told = audited(&site).await;
    assert_eq!(told[0], "token deploy: token-ended child");
    assert_eq!(told[1], "token deploy: token-made child");
}

#[tokio::test]
async fn an_invalid_form_keeps_the_entered_values() {
    let (_site, browser) = site().await;
    let fields = [("name", "a<b>"), ("scope", "write"), ("ends", "2020-01-01")];
    let answer = browser.post("access/tokens", &fields).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(
        answer.body.contains(r#"value="a&#60;b&#62;""#),
        "{}",
        answer.body
    );
    assert!(answer.body.contains(r#"value="write" selected"#));
    assert!(
        answer.text().contains("is in the past"),
        "{}",
        answer.text()
    );
}

#[tokio::test]
async fn sessions_are_ended_one_by_one_or_all_others() {
    let (site, browser) = site().await;
    let second = site.logged_in().await;
    let third = site.logged_in().await;
    let listed = browser.get("api/v1/sessions").await.json();
    let listed = listed["sessions"].as_array().unwrap();
    assert_eq!(listed.len(), 3);
    assert_eq!(listed[0]["is_current"], true);
    assert_eq!(listed[0]["network"], "127.0.0.0/24");
    assert_eq!(listed[0]["started"], "2026-03-01T12:00:00Z");
    assert_eq!(listed[0]["browser"], "another browser");
    let page = browser.get("access").await;
    assert_eq!(page.text().matches("this session").count(), 1);
    let cookie = browser.cookie.lock().unwrap().clone().unwrap();
    let id = cookie.split_once('=').unwrap().1.to_owned();
    assert!(!page.body.contains(&id), "the page shows a session id");

    let own = second.get("api/v1/sessions").await.json();
    let key = own["sessions"][0]["key"].as_str().unwrap();
    let ended = browser.post("access/sessions/end", &[("key", key)]).await;
    assert_eq!(ended.status, StatusCode::SEE_OTHER);
    assert_eq!(second.get("overview").await.status, StatusCode::SEE_OTHER);
    assert_eq!(third.get("overview").await.status, StatusCode::OK);
    let again = browser.post("access/sessions/end", &[("key", key)]).await;
    assert_eq!(again.status, StatusCode::NOT_FOUND);

    let ended = browser.post("access/sessions/end-others", &[]).await;
    assert_eq!(ended.status, StatusCode::SEE_OTHER);
    assert_eq!(third.get("overview").await.status, StatusCode::SEE_OTHER);
    assert_eq!(browser.get("overview").await.status, StatusCode::OK);
    assert_eq!(audited(&site).await.len(), 2);
}

#[tokio::test]
async fn an_application_with_its_own_login_has_no_access_page() {
    let site = Plan::open().start().await;
    let client = site.client();
    for path in ["access", "api/v1/tokens", "api/v1/sessions"] {
        assert_eq!(
            client.get(path).await.status,
            StatusCode::NOT_FOUND,
            "{path}"
        );
    }
    assert!(!client.get("overview").await.body.contains(">Access<"));
}
