//! The console's page of stored requests.

use std::convert::Infallible;

use axum::{
    body::Body,
    http::{Request, Response},
};
use reqwest::StatusCode;
use robot_detection::{
    layer::RobotDetectionLayer,
    policy::{Policy, SharedPolicy},
};
use tower::{Layer as _, ServiceExt as _};

use super::site::{Plan, Site};
use crate::support::program::{FIREFOX, GOOGLEBOT};

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

#[tokio::test]
async fn the_page_shows_stored_requests_and_links_to_explanations() {
    let site = Plan::default().start().await;
    site.refresher.prepare(true).await.unwrap();
    let client = site.logged_in().await;
    let empty = client.get("evidence").await;
    assert_eq!(empty.status, StatusCode::OK);
    assert!(
        empty.text().contains("No requests yet."),
        "{}",
        empty.text()
    );
    visit(&site, "/a", GOOGLEBOT).await;
    visit(&site, "/members/a?secret", GOOGLEBOT).await;
    visit(&site, "/members/a", FIREFOX).await;
    let page = client.get("evidence").await;
    let text = page.text();
    for words in ["googlebot", "GET /members/a", "redirect 302"] {
        assert!(text.contains(words), "{words:?} is not in {text}");
    }
    assert!(!page.body.contains("secret"));
    let link = "identify?user_agent=Mozilla%2F5.0%20%28compatible%3B%20Googlebot";
    assert!(page.body.contains(link), "{}", page.body);
    assert!(
        page.body
            .contains("path=%2Fmembers%2Fa&#38;method=GET&#38;host=www.example.com")
    );
    let redirected = client.get("evidence?decision=redirect").await.text();
    assert!(redirected.contains("/members/a"), "{redirected}");
    let nobody = client.get("evidence?robot=nobody").await.text();
    assert!(nobody.contains("No matching requests yet."), "{nobody}");
    assert_eq!(
        client.get("evidence?verdict=maybe").await.status,
        StatusCode::UNPROCESSABLE_ENTITY
    );
}

#[tokio::test]
async fn nothing_is_shown_without_a_login() {
    let site = Plan::default().start().await;
    let client = site.client();
    assert_eq!(client.get("evidence").await.status, StatusCode::SEE_OTHER);
    assert_eq!(
        client.get("api/v1/evidence").await.status,
        StatusCode::UNAUTHORIZED
    );
}
