//! Size of the pages, and names loaded on request.

use reqwest::{Method, StatusCode, header};

use super::{
    browser::go,
    site::{Client, Plan, Site},
    visits::{self, NOW, USUAL, Visits, minute_of},
};
use crate::support::browser::{Browser, Screen};

/// Largest size of a page in bytes, uncompressed.
const MOST: usize = 60_000;

/// A site with traffic of each robot in the bundled registry.
async fn crowded() -> (Site, Client) {
    let site = Plan::open().start().await;
    site.refresher.prepare(true).await.unwrap();
    let detector = site.detector.load();
    let mut counted = Vec::new();
    for robot in detector.robots() {
        let mut one = minute_of(&USUAL[4], NOW - 5, 3);
        one.key.robot.clone_from(&robot.id);
        counted.push(one);
    }
    assert!(counted.len() >= 3_700, "{}", counted.len());
    visits::add(&site.store, &counted).await;
    let client = site.client();
    (site, client)
}

#[tokio::test]
async fn the_first_pages_are_small_with_thousands_of_robots() {
    let (_site, client) = crowded().await;
    for page in ["overview", "robots", "robots?by=operator", "sites", "paths"] {
        let answer = client.get(page).await;
        assert_eq!(answer.status, StatusCode::OK);
        assert!(answer.body.len() <= MOST, "{page}: {}", answer.body.len());
    }
    let text = client.get("robots").await.text();
    assert!(
        text.contains("more rows are in the CSV and JSON files"),
        "{text}"
    );
}

#[tokio::test]
async fn names_are_suggested_by_prefix() {
    let (site, client) = crowded().await;
    visits::add(
        &site.store,
        &[minute_of(
            &Visits {
                robot: "gone-bot",
                ..USUAL[4]
            },
            NOW,
            1,
        )],
    )
    .await;
    for (question, expected) in [
        ("of=robot&q=GoogleB", vec!["googlebot"]),
        ("of=robot&q=gone", vec!["gone-bot"]),
        ("of=operator&q=amaz", vec!["Amazon"]),
        ("of=visitor&q=people", vec!["people"]),
        ("of=robot&q=%22%3E%3Cb%3E", vec![]),
    ] {
        let answer = client
            .get(&format!("api/v1/traffic/names?{question}"))
            .await;
        let names = answer.json()["names"].clone();
        let names: Vec<String> = serde_json::from_value(names).unwrap();
        for name in &expected {
            assert!(
                names.iter().any(|found| found == name),
                "{question}: {names:?}"
            );
        }
        assert_eq!(
            names.is_empty(),
            expected.is_empty(),
            "{question}: {names:?}"
        );
    }
    let all = client.get("api/v1/traffic/names?of=robot").await.json();
    assert_eq!(all["names"].as_array().unwrap().len(), 20);
    let wrong = client.get("api/v1/traffic/names?of=site").await;
    assert!(
        wrong
            .text()
            .contains("of must be one of robot, operator, visitor")
    );
    let guarded = Plan::default().start().await;
    let refused = guarded.client().get("api/v1/traffic/names?of=robot").await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_robot_is_found_by_its_first_letters_with_the_keyboard_and_without_scripts() {
    let (site, _client) = crowded().await;
    let mut browser = Browser::start().await;
    browser.look(Screen::DESK, "light").await;
    go(&browser, &site, "overview").await;
    browser
        .find(".bar details:nth-of-type(2) summary")
        .await
        .click()
        .await
        .unwrap();
    let field = browser.find("#by-robot").await;
    field.send_keys("googlebo").await.unwrap();
    browser.find("#of-robot option[value=googlebot]").await;
    browser.disable_scripts().await;
    go(&browser, &site, "overview").await;
    browser
        .find(".bar details:nth-of-type(2) summary")
        .await
        .click()
        .await
        .unwrap();
    let field = browser.find("#by-robot").await;
    field.send_keys("googlebot\u{e007}").await.unwrap();
    browser.wait_for_text(".bar", "Clear").await;
    browser.end().await;
}

#[tokio::test]
async fn pages_and_assets_are_compressed_and_cached_by_type() {
    let site = Plan::default().start().await;
    let client = site.logged_in().await;
    let page = client.get("overview").await.body;
    let style = page
        .split('"')
        .find(|part| part.contains("admin.css"))
        .unwrap();
    let plain = reqwest::Client::builder().no_gzip().build().unwrap();
    let ask = async |path: &str, accepted: &str, known: &str| {
        let cookie = client.cookie.lock().unwrap().clone().unwrap();
        let request = plain.request(Method::GET, format!("{}{path}", client.top));
        let request = request.header(header::COOKIE, cookie);
        let request = request.header(header::ACCEPT_ENCODING, accepted);
        let answer = request
            .header(header::IF_NONE_MATCH, known)
            .send()
            .await
            .unwrap();
        let headers = answer.headers().clone();
        (answer.status(), headers, answer.bytes().await.unwrap())
    };
    for path in ["overview", style, "api/v1/status"] {
        let (_, _, whole) = ask(path, "identity", "").await;
        let (status, headers, small) = ask(path, "gzip", "").await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!(headers[header::CONTENT_ENCODING], "gzip", "{path}");
        assert_eq!(headers[header::VARY], "accept-encoding", "{path}");
        assert!(
            small.len() < whole.len(),
            "{path}: {} of {}",
            small.len(),
            whole.len()
        );
    }
    let (_, headers, _) = ask(style, "gzip", "").await;
    let etag = headers[header::ETAG].to_str().unwrap();
    for encoding in ["gzip", "identity"] {
        let (status, headers, body) = ask(style, encoding, etag).await;
        assert_eq!((status, body.len()), (StatusCode::NOT_MODIFIED, 0));
        assert_eq!(headers[header::VARY], "accept-encoding");
    }
    // Padding makes pages that reflect a search differ in compressed size (BREACH).
    let [one, two] = [client.get("account").await, client.get("account").await];
    assert_ne!(one.csrf(), two.csrf());
}
