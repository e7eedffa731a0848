//! A handle's rules: on the admin page, in the layer, after a reload.

use axum::{Router, body::Body, http::Request, routing::get};
use http_body_util::BodyExt as _;
use robot_detection::{
    app::{self, RobotDetection},
    config::{Loaded, Loader},
    layer::RobotDetectionLayer,
    policy::{Action, Policy, PolicyBuilder, Rule},
    registry::Purpose,
};
use serde_json::Value;
use tower::ServiceExt as _;

const HOSTILE: &str = "<script>alert(1)</script>";

async fn handle(policy: PolicyBuilder) -> RobotDetection {
    RobotDetection::builder()
        .policy(|_| policy)
        .database_url("sqlite::memory:")
        .web_robots_db("")
        .build_idle()
        .await
        .unwrap()
}

async fn fetch(router: Router, path: &str) -> String {
    let request = Request::get(path).header("host", "localhost");
    let request = request.body(Body::empty()).unwrap();
    let answer = router.oneshot(request).await.unwrap();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

#[tokio::test]
async fn the_admin_page_lists_rules_in_order_with_their_origin() {
    let policy = Policy::builder().rules([
        Rule::builder(Action::Pass)
            .name(HOSTILE)
            .robots([HOSTILE, "b"])
            .paths(["/x/*"])
            .origin("robot-detection.toml:7"),
        Rule::builder(Action::Redirect)
            .redirect_url("/other-heaven/")
            .purposes([Purpose::Seo]),
    ]);
    let robots = handle(policy).await;
    let page = fetch(robots.admin_router_without_login(), "/settings").await;
    let of = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}: {page}"));
    assert!(!page.contains(HOSTILE), "{page}");
    assert!(of("robot-detection.toml:7") < of("rule 2"));
    assert!(of("path /x/*") < of("purposes seo"));
    of("/other-heaven/");
    let answer = fetch(robots.admin_router_without_login(), "/api/v1/settings").await;
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["rules"][0]["origin"], "robot-detection.toml:7");
    assert_eq!(answer["rules"][0]["conditions"][0], "path /x/*");
    assert_eq!(answer["rules"][1]["rule"], "rule 2");
    assert_eq!(answer["rules"][1]["location"], "/other-heaven/");
    robots.shutdown().await;
}

#[tokio::test]
async fn the_identify_page_shows_rules() {
    let policy = Policy::builder().rule(Rule::builder(Action::Pass).operators(["Google"]));
    let robots = handle(policy).await;
    let path = "/api/v1/identify?user_agent=Googlebot/2.1&path=/members-only-stuff/";
    let answer = fetch(robots.admin_router_without_login(), path).await;
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["decision"], "pass");
    let steps = answer["steps"].as_array().unwrap();
    let last = steps.last().unwrap();
    assert_eq!(last["name"], "rule");
    assert_eq!(last["text"], "Rule 1 matches; its action is pass.");
    robots.shutdown().await;
}

#[tokio::test]
async fn each_redirect_has_its_own_location_even_after_a_reload() {
    let to = |robot: &str, url: &str| {
        Rule::builder(Action::Redirect)
            .robots([robot])
            .redirect_url(url)
    };
    let rules = |bing: &str| Policy::builder().rules([to("gptbot", "/ai/"), to("bingbot", bing)]);
    let layer = RobotDetectionLayer::builder()
        .policy(|_| rules("/engines/"))
        .build()
        .unwrap();
    let policy = layer.policy().clone();
    let app = Router::new()
        .route("/members-only-stuff/", get(async || "for members"))
        .layer(layer);
    let location = async |user_agent: &str| {
        let request = Request::get("/members-only-stuff/").header("user-agent", user_agent);
        let answer = app
            .clone()
            .oneshot(request.body(Body::empty()).unwrap())
            .await;
        let answer = answer.unwrap();
        assert_eq!(answer.status(), 302);
        answer.headers()["location"].to_str().unwrap().to_owned()
    };
    for _ in 0..2 {
        assert_eq!(location("GPTBot/1").await, "/ai/");
        assert_eq!(location("bingbot/2").await, "/engines/");
        assert_eq!(location("Googlebot/2").await, "/robot-heaven/");
    }
    policy.replace(rules("/other/").build().unwrap());
    assert_eq!(location("bingbot/2").await, "/other/");
    assert_eq!(location("GPTBot/1").await, "/ai/");
}

fn loaded(text: &str) -> Loaded {
    let text = format!("web_robots_db = ''\ndatabase.url = 'sqlite::memory:'\n{text}");
    Loader::new().file("f.toml", &text).load().unwrap()
}

#[tokio::test]
async fn a_reload_replaces_rules_lists_and_the_recognition_of_unlisted_robots() {
    let first = loaded("allow_robots = 'a'");
    let robots = app::assemble(&first).unwrap().build_idle().await.unwrap();
    let shown = |key: &str| {
        let settings = robots.shown_settings().load();
        let found = settings.iter().find(|setting| setting.key == key);
        found.unwrap().value.clone()
    };
    assert!(robots.detector().load().recognises_unlisted());
    let known = robots.detector().load().robots().len();
    let second =
        loaded("unlisted_robots = false\ndeny_robots = ['b', 'c']\n[[rule]]\naction = 'pass'");
    app::reload(&robots, &second).unwrap();
    assert_eq!(robots.policy().load().rules().count(), 1);
    assert_eq!(
        robots.policy().load().rules().next().unwrap().origin(),
        "f.toml:5"
    );
    assert_eq!(
        (shown("allow_robots"), shown("deny_robots")),
        (String::new(), "b, c".to_owned())
    );
    assert_eq!(shown("unlisted_robots"), "false");
    assert!(!robots.detector().load().recognises_unlisted());
    robots.refresher().reload().await.unwrap();
    assert!(!robots.detector().load().recognises_unlisted());
    assert_eq!(robots.detector().load().robots().len(), known);
    let bad = loaded("[[rule]]\naction = 'pass'\nrobots = ''");
    let error = app::reload(&robots, &bad).unwrap_err().to_string();
    assert!(error.starts_with("f.toml:5: rule.robots: "), "{error}");
    assert!(!robots.detector().load().recognises_unlisted());
    assert_eq!(robots.policy().load().rules().count(), 1);
    robots.shutdown().await;
}
