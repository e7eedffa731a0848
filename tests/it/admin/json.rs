//! The same data and actions as JSON.

use reqwest::{Method, StatusCode, header};
use robot_detection::{
    registry::Source,
    store::{AdminToken, Store},
};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::site::{Client, NOW_MS, Plan, Site, encode, flat_file};
use crate::support::http::Reply;

const TOKEN: &str = "a-token-for-scripts-0123456789";

async fn add_token(store: &Store) {
    let bytes: [u8; 32] = Sha256::digest(TOKEN).into();
    let digest = format!(
        "{:032x}{:032x}",
        u128::from_be_bytes(bytes[..16].try_into().unwrap()),
        u128::from_be_bytes(bytes[16..].try_into().unwrap())
    );
    let token = AdminToken::new("deploy", NOW_MS);
    store.access().add_token(&token, &digest).await.unwrap();
}

async fn script() -> (Site, Client) {
    let site = Plan::default().start().await;
    add_token(&site.store).await;
    let client = site.client();
    (site, client)
}

fn with_token(request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
    request.header(header::AUTHORIZATION, format!("Bearer {TOKEN}"))
}

async fn ask(client: &Client, method: Method, path: &str, body: &str) -> super::site::Answer {
    client
        .send(with_token(client.json(method, path, body)))
        .await
}

#[tokio::test]
async fn a_token_opens_only_the_json() {
    let (_site, client) = script().await;
    let answer = ask(&client, Method::GET, "api/v1/status", "").await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.json()["database"], "sqlite");
    let page = ask(&client, Method::GET, "overview", "").await;
    assert_eq!(page.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_wrong_token_is_refused_even_with_a_session() {
    let site = Plan::default().start().await;
    let client = site.logged_in().await;
    for token in [
        "Bearer wrong",
        "Bearer ",
        &format!("Bearer {}", "x".repeat(4_000)),
    ] {
        let request = client.request(Method::GET, "api/v1/status");
        let answer = client
            .send(request.header(header::AUTHORIZATION, token))
            .await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{token}");
    }
    let other_scheme = client.request(Method::GET, "api/v1/status");
    let answer = client
        .send(other_scheme.header(header::AUTHORIZATION, "Basic eDp5"))
        .await;
    assert_eq!(answer.status, StatusCode::OK);
}

#[tokio::test]
async fn a_token_needs_no_origin_but_a_session_needs_its_csrf_token() {
    let (site, client) = script().await;
    let body = r#"{"source":"web-robots-db"}"#;
    let request = client.json(Method::POST, "api/v1/refresh", body);
    let foreign = with_token(request).header(header::ORIGIN, "http://tool.example");
    assert_eq!(client.send(foreign).await.status, StatusCode::ACCEPTED);

    let browser = site.logged_in().await;
    browser.refresh_done().await;
    let bare = browser.json(Method::POST, "api/v1/refresh", body);
    let refused = browser.send(bare).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert_eq!(refused.json()["code"], "cross_site");
    let token = browser.get("account").await.csrf();
    let meant = browser.json(Method::POST, "api/v1/refresh", body);
    let answer = browser.send(meant.header("x-csrf-token", token)).await;
    assert_eq!(answer.status, StatusCode::ACCEPTED);
    browser.refresh_done().await;
}

#[tokio::test]
async fn robots_are_listed_searched_and_shown() {
    let (site, client) = script().await;
    site.source.set(Reply::text(flat_file(150)));
    site.refresh().await;
    let all = ask(&client, Method::GET, "api/v1/robots", "").await.json();
    assert_eq!(all["total"], 150);
    assert_eq!(all["robots"].as_array().unwrap().len(), 100);
    let last = ask(
        &client,
        Method::GET,
        "api/v1/robots?limit=50&sort=id&dir=desc",
        "",
    )
    .await;
    assert_eq!(last.json()["robots"][0]["id"], "acme0150");
    let mut seen = 50;
    let mut next = last.json()["next"].clone();
    while let Some(cursor) = next.as_str() {
        let path = format!("api/v1/robots?limit=50&sort=id&dir=desc&cursor={cursor}");
        let page = ask(&client, Method::GET, &path, "").await.json();
        seen += page["robots"].as_array().unwrap().len();
        next = page["next"].clone();
        assert_eq!(next.is_null(), page["robots"][49]["id"] == "acme0001");
    }
    assert_eq!(seen, 150);
    let found = ask(&client, Method::GET, "api/v1/robots?q=acme0042walker", "").await;
    assert_eq!(found.json()["total"], 1);
    let robot = ask(
        &client,
        Method::GET,
        "api/v1/robots/web-robots-db/acme0042",
        "",
    )
    .await;
    let robot = &robot.json()["robot"];
    assert_eq!(robot["name"], "Acme Robot 0042");
    assert_eq!(robot["status"], "active");
    assert_eq!(robot["inserted"], "2026-03-01T12:00:00Z");
    assert_eq!(robot["details_url"], "http://robots.example/acme42");
    assert!(!robot["patterns"].as_array().unwrap().is_empty());
}

#[tokio::test]
async fn a_refresh_runs_and_reports_its_outcome() {
    let (site, client) = script().await;
    let started = ask(&client, Method::POST, "api/v1/refresh", "{}").await;
    assert_eq!(started.status, StatusCode::ACCEPTED);
    let browser = site.logged_in().await;
    let job = browser.refresh_done().await;
    assert_eq!(job["sources"][0]["state"], "done");
    assert_eq!(job["sources"][0]["refresh"]["added"], 12);
    let history = ask(&client, Method::GET, "api/v1/refreshes", "")
        .await
        .json();
    assert_eq!(history["refreshes"][0]["outcome"], "replaced");
    assert_eq!(history["refreshes"][0]["trigger"], "admin");
    let id = &history["refreshes"][0]["id"];
    let one = ask(&client, Method::GET, &format!("api/v1/refreshes/{id}"), "").await;
    assert_eq!(one.json()["refresh"]["records"], 12);
}

#[tokio::test]
async fn a_quarantined_snapshot_is_accepted_by_its_document() {
    let (site, client) = script().await;
    site.source.set(Reply::text(flat_file(100)));
    site.refresh().await;
    site.source.set(Reply::text(flat_file(80)));
    let accept = |body: String| {
        let client = &client;
        async move { ask(client, Method::POST, "api/v1/refresh/accept", &body).await }
    };
    let named = r#"{"source":"web-robots-db"}"#.to_owned();
    let early = accept(named.clone()).await;
    assert_eq!(early.status, StatusCode::CONFLICT);
    assert_eq!(early.json()["code"], "not_held");
    ask(&client, Method::POST, "api/v1/refresh", "{}").await;
    let browser = site.logged_in().await;
    let job = browser.refresh_done().await;
    assert_eq!(job["sources"][0]["state"], "held");
    assert_eq!(job["sources"][0]["refresh"]["outcome"], "held");
    let document = job["sources"][0]["refresh"]["document"].as_str().unwrap();
    let of = |document: &str| format!(r#"{{"source":"web-robots-db","document":"{document}"}}"#);
    assert_eq!(accept(of("x")).await.status, StatusCode::CONFLICT);
    let unknown = accept(r#"{"source":"nobody"}"#.to_owned()).await;
    assert_eq!(unknown.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(accept(of(document)).await.status, StatusCode::ACCEPTED);
    let job = browser.refresh_done().await;
    assert_eq!(job["sources"][0]["refresh"]["removed"], 20);
    assert_eq!(accept(named).await.status, StatusCode::CONFLICT);
}

#[tokio::test]
async fn a_second_refresh_waits_for_the_first() {
    let (site, client) = script().await;
    site.source.set(Reply::Hang);
    let first = ask(&client, Method::POST, "api/v1/refresh", "{}").await;
    assert_eq!(first.status, StatusCode::ACCEPTED);
    let second = ask(&client, Method::POST, "api/v1/refresh", "{}").await;
    assert_eq!(second.status, StatusCode::CONFLICT);
    assert_eq!(second.json()["code"], "busy");
    let job = ask(&client, Method::GET, "api/v1/refresh", "").await.json();
    assert_eq!(job["running"], true);
}

#[tokio::test]
async fn a_user_agent_is_identified() {
    let (site, client) = script().await;
    site.refresh().await;
    let agent = encode("Mozilla/5.0 (compatible; Acme0007Walker/2.1)");
    let path = format!("api/v1/identify?user_agent={agent}&path=/members-only-stuff/a");
    let answer = ask(&client, Method::GET, &path, "").await.json();
    assert_eq!(answer["claim"]["id"], "acme0007");
    assert_eq!(answer["decision"], "redirect");
    assert_eq!(answer["location"], "/robot-heaven/");
    let (start, end) = (&answer["claim"]["start"], &answer["claim"]["end"]);
    assert_eq!((start.as_u64(), end.as_u64()), (Some(25), Some(39)));
    let person = ask(
        &client,
        Method::GET,
        "api/v1/identify?user_agent=Firefox",
        "",
    )
    .await;
    assert!(person.json()["claim"].is_null());
    assert_eq!(person.json()["decision"], "pass");
}

#[tokio::test]
async fn a_robot_is_added_and_removed_by_hand() {
    let (site, client) = script().await;
    let body = r#"{"id":"xyzzy","useragent":"XyzzyFetch/1.0","purpose":"seo","details_url":"https://x.example/",
        "host_suffixes":["a.x.example","b.x.example"],"ranges_url":"https://x.example/ips","signature_agents":"keys.x.example"}"#;
    let added = ask(&client, Method::POST, "api/v1/robots", body).await;
    assert_eq!(added.status, StatusCode::CREATED, "{}", added.body);
    let robot = added.json()["robot"].clone();
    assert_eq!(robot["source"], "manual");
    assert_eq!(
        robot["host_suffixes"],
        json!(["a.x.example", "b.x.example"])
    );
    assert_eq!(robot["ranges_url"], "https://x.example/ips");
    assert_eq!(robot["signature_agents"], json!(["keys.x.example"]));
    assert!(site.detector.load().identify(b"XyzzyFetch/2.0").is_some());
    let again = ask(&client, Method::POST, "api/v1/robots", body).await;
    assert_eq!(again.status, StatusCode::CONFLICT);
    let removed = ask(&client, Method::DELETE, "api/v1/robots/manual/xyzzy", "").await;
    assert_eq!(removed.status, StatusCode::NO_CONTENT);
    assert!(site.detector.load().identify(b"XyzzyFetch/2.0").is_none());
    let gone = ask(&client, Method::DELETE, "api/v1/robots/manual/xyzzy", "").await;
    assert_eq!(gone.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_robot_that_matches_a_browser_needs_a_confirmation() {
    let (site, client) = script().await;
    let body = r#"{"id":"yandex","useragent":"YaBrowser/24.1"}"#;
    let refused = ask(&client, Method::POST, "api/v1/robots", body).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(
        refused.body.contains("accept_browser_hits"),
        "{}",
        refused.body
    );
    assert!(site.store.robots().list().await.unwrap().is_empty());
    let body = r#"{"id":"yandex","useragent":"YaBrowser/24.1","accept_browser_hits":true}"#;
    let added = ask(&client, Method::POST, "api/v1/robots", body).await;
    assert_eq!(added.status, StatusCode::CREATED);
}

#[tokio::test]
async fn a_robot_from_a_source_is_not_removed_by_hand() {
    let (site, client) = script().await;
    site.refresh().await;
    let path = "api/v1/robots/web-robots-db/acme0001";
    let refused = ask(&client, Method::DELETE, path, "").await;
    assert_eq!(refused.status, StatusCode::CONFLICT);
    assert_eq!(refused.json()["code"], "not_by_hand");
}

#[tokio::test]
async fn errors_have_a_status_a_code_and_a_message() {
    let (_site, client) = script().await;
    for (method, path, body, status, code) in [
        (Method::GET, "api/v1/nowhere", "", 404, "not_found"),
        (Method::GET, "api", "", 404, "not_found"),
        (
            Method::GET,
            "api/v1/robots/manual/nobody",
            "",
            404,
            "not_found",
        ),
        (Method::GET, "api/v1/refreshes/999", "", 404, "not_found"),
        (
            Method::PUT,
            "api/v1/robots",
            "{}",
            405,
            "method_not_allowed",
        ),
        (Method::GET, "api/v1/robots?sort=size", "", 422, "invalid"),
        (
            Method::POST,
            "api/v1/refresh",
            r#"{"source":"none"}"#,
            422,
            "invalid",
        ),
        (
            Method::POST,
            "api/v1/refresh",
            r#"{"sauce":"x"}"#,
            422,
            "invalid",
        ),
        (Method::POST, "api/v1/refresh", "{", 400, "bad_request"),
        (
            Method::POST,
            "api/v1/robots",
            r#"{"id":"a b","useragent":""}"#,
            422,
            "invalid",
        ),
    ] {
        let answer = ask(&client, method.clone(), path, body).await;
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.body);
        let problem = answer.json();
        assert_eq!(problem["code"], code, "{method} {path}");
        assert!(problem["detail"].as_str().unwrap().len() > 10);
    }
    let long = format!(r#"{{"id":"{}"}}"#, "a".repeat(70_000));
    let answer = ask(&client, Method::POST, "api/v1/robots", &long).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(answer.json()["code"], "too_large");
}

#[tokio::test]
async fn settings_and_status_match_the_overview() {
    let (site, client) = script().await;
    site.refresh().await;
    let settings = ask(&client, Method::GET, "api/v1/settings", "")
        .await
        .json();
    assert_eq!(settings["settings"][1]["old_name"], "FilterPattern");
    let origin = &settings["settings"][1]["origin"];
    assert_eq!(origin, "robot-detection.toml line 3");
    let status = ask(&client, Method::GET, "api/v1/status", "").await.json();
    assert_eq!(status["filtering"]["is_on"], true);
    assert_eq!(status["robots"]["in_force"], 12);
    let source = &status["sources"][0];
    assert_eq!(source["source"], Source::web_robots_db().as_str());
    assert_eq!(source["refreshed"], "2026-03-01T12:00:00Z");
    assert_eq!(source["next_refresh"], "2026-03-31T12:00:00Z");
}
