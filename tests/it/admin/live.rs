//! Live decisions: the page, and the stream that feeds the page.

use std::{convert::Infallible, time::Duration};

use axum::{
    body::Body,
    http::{Request, Response},
};
use reqwest::{Method, StatusCode};
use robot_detection::{
    layer::RobotDetectionLayer,
    policy::{Policy, SharedPolicy},
};
use tower::{Layer as _, ServiceExt as _};

use super::{
    browser::{go, log_in},
    site::{Plan, Site},
};
use crate::support::{
    browser::{Browser, Screen},
    program::{FIREFOX, GOOGLEBOT},
};

/// Requests a page of a site that redirects robots away from its members' pages.
async fn visit(site: &Site, path: &str, user_agent: &str) {
    let policy = Policy::builder().filter_patterns(["/members/*"]);
    let policy = policy.redirect_url("/robot-heaven/").build().unwrap();
    let layer = RobotDetectionLayer::new(site.detector.clone(), SharedPolicy::new(policy))
        .clock(site.clock.clone())
        .visit_switch(site.traffic.visits().clone())
        .report_outcome(true);
    let page = async |_: Request<Body>| Ok::<_, Infallible>(Response::new(String::new()));
    let counted = site
        .traffic
        .layer("default")
        .layer(layer.layer(tower::service_fn(page)));
    let request = Request::get(path)
        .header("host", "www.example.com")
        .header("user-agent", user_agent);
    counted
        .oneshot(request.body(Body::empty()).unwrap())
        .await
        .unwrap();
}

/// Reads a stream until some words appear, or until the stream ends.
async fn read_until(response: &mut reqwest::Response, words: &str) -> String {
    let reading = async {
        let mut read = String::new();
        while !read.contains(words) {
            match response.chunk().await.unwrap() {
                Some(chunk) => read.push_str(std::str::from_utf8(&chunk).unwrap()),
                None => break,
            }
        }
        read
    };
    tokio::time::timeout(Duration::from_mins(1), reading)
        .await
        .unwrap()
}

#[tokio::test]
async fn the_page_shows_decisions_without_a_script_and_links_to_explanations() {
    let site = Plan::default().start().await;
    site.refresher.prepare(true).await.unwrap();
    let client = site.logged_in().await;
    let empty = client.get("live").await;
    assert_eq!(empty.status, StatusCode::OK);
    assert!(
        empty.text().contains("No decisions yet."),
        "{}",
        empty.text()
    );
    visit(&site, "/a", GOOGLEBOT).await;
    visit(&site, "/members/a?secret", GOOGLEBOT).await;
    visit(&site, "/members/a", FIREFOX).await;
    let page = client.get("live").await;
    let text = page.text();
    for words in [
        "googlebot",
        "GET /members/a",
        "redirect 302",
        "pass 200",
        "passed since startup: 1 .",
        "of this instance",
    ] {
        assert!(text.contains(words), "{words:?} is not in {text}");
    }
    assert!(!page.body.contains("secret"));
    let link = "identify?user_agent=Mozilla%2F5.0%20%28compatible%3B%20Googlebot";
    assert!(page.body.contains(link), "{}", page.body);
    assert!(
        page.body
            .contains("path=%2Fmembers%2Fa&#38;method=GET&#38;host=www.example.com")
    );
    let redirected = client.get("live?decision=redirect").await.text();
    assert!(
        redirected.contains("/members/a") && !redirected.contains("pass 200"),
        "{redirected}"
    );
    let nobody = client.get("live?robot=nobody").await.text();
    assert!(nobody.contains("No matching decisions yet."), "{nobody}");
    assert_eq!(
        client.get("live?verdict=maybe").await.status,
        StatusCode::UNPROCESSABLE_ENTITY
    );
}

#[tokio::test]
async fn nothing_is_shown_without_a_login() {
    let site = Plan::default().start().await;
    let client = site.client();
    for path in ["live", "live/events"] {
        let answer = client.get(path).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{path}");
    }
    assert_eq!(
        client.get("api/v1/evidence").await.status,
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test]
async fn a_stream_sends_new_decisions_and_ends_with_the_session() {
    let site = Plan::default().start().await;
    site.refresher.prepare(true).await.unwrap();
    let client = site.logged_in().await;
    let request = client.request(Method::GET, "live/events?decision=redirect");
    let mut stream = request.send().await.unwrap();
    assert_eq!(stream.status(), StatusCode::OK);
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    read_until(&mut stream, "event: rows").await;
    visit(&site, "/a", GOOGLEBOT).await;
    visit(&site, "/members/\"&script", GOOGLEBOT).await;
    let told = read_until(&mut stream, "\n\n").await;
    assert!(told.starts_with("id: 2\nevent: rows\ndata: {"), "{told}");
    assert!(told.contains(r#""path":"/members/\"&script""#), "{told}");
    assert!(
        !told.contains("\"path\":\"/a\""),
        "the stream is not filtered: {told}"
    );
    client.post("logout", &[]).await;
    let told = read_until(&mut stream, "event: ended").await;
    assert!(told.contains("event: ended"), "{told}");
    assert_eq!(stream.chunk().await.unwrap(), None);
}

#[tokio::test]
async fn excess_decisions_are_counted_and_viewers_are_limited() {
    let site = Plan::open().start().await;
    site.refresher.prepare(true).await.unwrap();
    let client = site.client();
    let open = || client.request(Method::GET, "live/events").send();
    let mut stream = open().await.unwrap();
    read_until(&mut stream, "event: rows").await;
    for _ in 0..200 {
        visit(&site, "/members/a", GOOGLEBOT).await;
    }
    let told = read_until(&mut stream, "\"skipped\":").await;
    let mut told = told + &read_until(&mut stream, "\n\n").await;
    while !told.contains("id: 200\n") {
        told += &read_until(&mut stream, "\n\n").await;
    }
    let shown = told.matches("\"path\":\"/members/a\"").count();
    assert!(shown < 200, "all decisions were sent at once: {shown}");
    let mut others = Vec::new();
    for _ in 1..16 {
        let other = open().await.unwrap();
        assert_eq!(other.status(), StatusCode::OK);
        others.push(other);
    }
    let refused = open().await.unwrap();
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.text().await.unwrap().contains("Close one of them"));
}

#[tokio::test]
async fn a_person_sees_a_decision_arrive_pauses_and_resumes() {
    let site = Plan::default().start().await;
    site.refresher.prepare(true).await.unwrap();
    let mut browser = Browser::start().await;
    browser.look(Screen::DESK, "light").await;
    log_in(&browser, &site).await;
    go(&browser, &site, "live").await;
    browser.wait_for_text("#live-state", "automatically").await;
    visit(&site, "/members/first", GOOGLEBOT).await;
    browser.wait_for_text("#live tbody", "/members/first").await;
    browser.find("#pause").await.click().await.unwrap();
    browser.wait_for_text("#live-state", "Paused.").await;
    visit(&site, "/members/second", GOOGLEBOT).await;
    browser.find("#pause").await.click().await.unwrap();
    let rows = browser
        .wait_for_text("#live tbody", "/members/second")
        .await;
    assert_eq!(rows.matches("/members/first").count(), 1, "{rows}");
    browser.keep_screenshot("live-desk-light").await;
    browser.look(Screen::PHONE, "dark").await;
    browser.keep_screenshot("live-phone-dark").await;
    browser.find("#live tbody a").await.click().await.unwrap();
    browser.wait_for_text("h1", "Identify").await;
    browser.end().await;
}
