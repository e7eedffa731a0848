//! The layer as applications add it: its builder, position and bodies.

use std::{convert::Infallible, sync::Arc};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, Response, Uri, uri::PathAndQuery},
    routing::{any, any_service},
};
use robot_detection::{
    RobotDetection, RobotDetectionLayer,
    layer::{LayerBuilder, MarkdownPages},
    policy::{Action, Policy, Rule, RuleBuilder, When},
    registry::{Pattern, PatternKind, Purpose, Robot, Source},
};
use tower::{Layer as _, Service, ServiceExt as _, service_fn};

use crate::support::{
    log,
    program::{FIREFOX, GOOGLEBOT},
};

const GPTBOT: &str = "GPTBot/1.2";

fn own_robot() -> Robot {
    let mut robot = Robot::new("our-own", Source::manual());
    robot.patterns = vec![Pattern::new(PatternKind::Token, "OurOwnBot")];
    robot.purpose = Purpose::Search;
    robot
}

/// Returns a rule that refuses one robot on a path, with a text.
fn paid(path: &str) -> RuleBuilder {
    let rule = Rule::builder(Action::Refuse)
        .paths([path])
        .robots(["gptbot"]);
    rule.status(402).text("Pay first.\n")
}

/// Returns an application whose pages report the path that their handler sees.
fn site() -> Router {
    Router::new().fallback(any(async |uri: Uri| format!("page {uri}")))
}

async fn ask<S, B>(site: S, path: &str, user_agent: &str) -> (u16, String)
where
    S: Service<Request<Body>, Response = Response<B>, Error = Infallible>,
    B: axum::body::HttpBody<Data = axum::body::Bytes, Error: std::error::Error + Send + Sync>,
    B: Send + 'static,
{
    let request = Request::get(path).header("user-agent", user_agent);
    let request = request
        .header("accept", "text/markdown")
        .body(Body::empty());
    let response = site.oneshot(request.unwrap()).await.unwrap();
    let status = response.status().as_u16();
    let body = to_bytes(Body::new(response.into_body()), 1_000)
        .await
        .unwrap();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn default_layer_redirects_robots_and_passes_people() {
    let site = site().layer(RobotDetectionLayer::default());
    let path = "/members-only-stuff/a";
    assert_eq!(ask(site.clone(), path, GOOGLEBOT).await.0, 302);
    assert_eq!(ask(site, path, FIREFOX).await.0, 200);
}

#[tokio::test]
async fn builder_calls_can_be_made_in_any_order() {
    let calls: [fn(LayerBuilder) -> LayerBuilder; 6] = [
        |layer| layer.filter_patterns(["/a/*"]),
        |layer| layer.filter_patterns(["/b/*"]),
        |layer| layer.policy(|policy| policy.deny_robots(["curl"]).rules([paid("/c")])),
        |layer| layer.rule(paid("/d")),
        |layer| layer.add_robots([own_robot()]),
        |layer| layer.policy(|policy| policy.deny_robots(["gptbot"]).never("/a/open")),
    ];
    for first in 0..calls.len() {
        let (behind, before) = calls.split_at(first);
        let order = before.iter().chain(behind);
        let layer = order.fold(RobotDetectionLayer::builder(), |layer, call| call(layer));
        let site = site().layer(layer.build().unwrap());
        for (path, user_agent, status) in [
            ("/a/x", GOOGLEBOT, 302),
            ("/b/x", GOOGLEBOT, 302),
            ("/a/x", "OurOwnBot/1", 302),
            ("/a/x", "curl/8.5.0", 302),
            ("/a/x", GPTBOT, 302),
            ("/a/open", GOOGLEBOT, 200),
            ("/c", GPTBOT, 402),
            ("/d", GPTBOT, 402),
            ("/members-only-stuff/", GOOGLEBOT, 200),
        ] {
            let answer = ask(site.clone(), path, user_agent).await.0;
            assert_eq!(answer, status, "{path} {user_agent}, from call {first} on");
        }
    }
}

#[test]
fn conditions_added_to_a_rule_keep_the_earlier_ones() {
    let rule = Rule::builder(Action::Pass).paths(["/a"]).robots(["x"]);
    let rule = rule.when(When::new().purposes([Purpose::Seo]));
    let policy = Policy::builder().rule(rule).build().unwrap();
    let rule = policy.rules().next().unwrap();
    let shown: Vec<_> = rule.conditions().collect();
    assert_eq!(shown, ["path /a", "robots x", "purposes seo"]);
}

#[tokio::test]
async fn text_of_a_refusal_is_sent_without_a_hook() {
    let layer = RobotDetectionLayer::builder().rule(paid("/x"));
    let layer = layer.build().unwrap();
    let refused = ask(site().layer(layer.clone()), "/x", GPTBOT).await;
    assert_eq!(refused, (402, "Pay first.\n".to_owned()));
    let plain = service_fn(async |_: Request<Body>| {
        Ok::<_, Infallible>(Response::new("a page".to_owned()))
    });
    let refused = ask(layer.layer(plain), "/x", GPTBOT).await;
    assert_eq!(refused, (402, "Pay first.\n".to_owned()));
}

#[tokio::test]
async fn unknown_robot_is_an_error_with_the_nearest_id() {
    let build = |rule: RuleBuilder| RobotDetectionLayer::builder().rule(rule).build();
    let rule = || Rule::builder(Action::Pass);
    let error = build(rule().robots(["gptbto"])).unwrap_err().to_string();
    let expected = "rule 1 refers to the robot \"gptbto\", which is not in the registry; did you mean \"gptbot\"?";
    assert_eq!(error, expected);
    let denied = RobotDetectionLayer::builder().policy(|policy| policy.deny_robots(["our-own"]));
    let error = denied.clone().build().unwrap_err().to_string();
    assert!(
        error.starts_with("deny_robots refers to the robot \"our-own\""),
        "{error}"
    );
    denied.add_robots([own_robot()]).build().unwrap();
    build(rule().robots(["unlisted", "nameless", "agent.example.com"])).unwrap();

    // A refresh may add the robot to the whole handle.
    log::keep();
    let robots = RobotDetection::builder().database_url("sqlite::memory:");
    let robots = robots
        .web_robots_db("")
        .rule(rule().name("typo").robots(["bignbot"]));
    robots.build().await.unwrap().shutdown().await;
    let lines = log::lines_with("bignbot");
    assert!(
        lines.iter().any(|line| line.contains("bingbot")),
        "{lines:?}"
    );
}

#[tokio::test]
async fn rules_in_a_nested_router_apply_to_the_requested_path() {
    let builder = RobotDetectionLayer::builder().filter_patterns(["/shop/members/*"]);
    let layer = builder.rule(paid("/shop/paid")).build().unwrap();
    let site = Router::new().nest("/shop", site().layer(layer));
    assert_eq!(ask(site.clone(), "/shop/members/a", GOOGLEBOT).await.0, 302);
    assert_eq!(ask(site.clone(), "/shop/paid", GPTBOT).await.0, 402);
    let handler = (200, "page /members/a?b".to_owned());
    assert_eq!(ask(site, "/shop/members/a?b", FIREFOX).await, handler);
}

/// Provides Markdown for every page at one URL.
struct MarkdownForAll;

impl MarkdownPages for MarkdownForAll {
    fn has(&self, _: &Uri) -> bool {
        true
    }

    fn page(&self, _: &Uri) -> Option<PathAndQuery> {
        Some(PathAndQuery::from_static("/page.md"))
    }
}

#[tokio::test]
async fn directly_served_page_needs_the_layer_around_the_router() {
    let layer = RobotDetectionLayer::builder().rule(Rule::builder(Action::Serve));
    let layer = layer.build().unwrap().markdown(Arc::new(MarkdownForAll));
    let secret = "/members-only-stuff/a";
    let page = |text: &str| (200, format!("page {text}"));
    let refused = (403, String::new());
    let around = layer.around(site());
    assert_eq!(
        ask(around.clone(), secret, GOOGLEBOT).await,
        page("/robot-heaven/")
    );
    assert_eq!(ask(around.clone(), "/x", FIREFOX).await, page("/page.md"));

    let inside = site().layer(layer.clone());
    let handler = layer.around(service_fn(async |request: Request<Body>| {
        Ok::<_, Infallible>(Response::new(Body::from(format!("page {}", request.uri()))))
    }));
    let as_route = Router::new().route("/{*path}", any_service(handler));
    for site in [
        inside,
        as_route,
        Router::new().merge(site()).layer(layer.clone()),
    ] {
        assert_eq!(ask(site.clone(), secret, GOOGLEBOT).await, refused);
        assert_eq!(ask(site.clone(), secret, FIREFOX).await, page(secret));
        assert_eq!(ask(site, "/x", FIREFOX).await, page("/x"));
    }
    assert_eq!(ask(layer.layer(site()), secret, GOOGLEBOT).await, refused);
}

#[test]
fn layers_share_the_bundled_robots() {
    let robot = |layer: RobotDetectionLayer| Arc::clone(&layer.detector().load().robots()[0]);
    let built = RobotDetectionLayer::builder()
        .unlisted_robots(false)
        .build();
    let (first, second) = (robot(RobotDetectionLayer::default()), robot(built.unwrap()));
    assert!(Arc::ptr_eq(&first, &second));
}

#[test]
fn debug_output_of_layer_and_builder_fits_a_screen() {
    let builder = RobotDetectionLayer::builder()
        .filter_patterns((0..100).map(|number| format!("/{number}/*")))
        .rule(paid("/x"))
        .add_robots([own_robot()]);
    let layer = builder.clone().build().unwrap();
    let service = layer.layer("the application");
    for shown in [
        format!("{builder:#?}"),
        format!("{layer:#?}"),
        format!("{service:#?}"),
    ] {
        assert!(shown.lines().count() <= 24, "{shown}");
        assert!(shown.contains("rules: 1"), "{shown}");
    }
}
