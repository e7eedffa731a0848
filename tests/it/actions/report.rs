//! Dry run of a whole configuration: every request passes and the decision is only reported.

use std::{fs, sync::atomic::Ordering};

use axum::{Router, body::Body, http::Request};
use http_body_util::BodyExt as _;
use robot_detection::{
    app::RobotDetection,
    clock::Clock,
    layer::Outcome,
    policy::{
        Action, Enforcement, EnforcementMode, Enforcer, Policy, PolicyBuilder, Rule,
        SharedRobotsFiles, TagRule,
    },
    robots_txt::{Dialect, RobotsTxt},
};
use serde_json::Value;
use tower::ServiceExt as _;

use super::app;
use crate::support::program::{FIREFOX, GOOGLEBOT, Server, eventually, succeed};

const SETTINGS: &str = "web_robots_db = ''
[[rule]]
path = '/private/*'
action = 'refuse'
[[x_robots_tag]]
value = 'noindex'
[robots_txt]
serve = 'settings'
disallow = ['/hidden/']
enforce = 'on'
";

fn policy() -> PolicyBuilder {
    let rule = |action, path| Rule::builder(action).paths([path]);
    Policy::builder().dry_run(true).rules([
        rule(Action::Slow, "/slow/*").requests(1),
        rule(Action::Refuse, "/private/*"),
        rule(Action::Serve, "/served/*"),
    ])
}

#[test]
fn a_server_enforces_nothing_until_its_mode_is_on() {
    let directory = tempfile::tempdir().unwrap();
    let configure = |mode: &str| {
        let text = format!("mode = '{mode}'\n{SETTINGS}");
        fs::write(directory.path().join("robot-detection.toml"), text).unwrap();
    };
    configure("report");
    let server = Server::start(directory.path(), &["serve"]);
    let visit = |path: &str| {
        let answer = server.get(path, GOOGLEBOT);
        let headers = ["vary", "x-robots-tag", "location"].map(|name| answer.header(name));
        format!("{} {}", answer.status, headers.join(" ").trim())
    };
    let paths = [
        "/members-only-stuff/",
        "/private/a",
        "/hidden/a",
        "/about.html",
    ];
    let expected = ["200 ", "404 ", "404 ", "200 "];
    assert_eq!(paths.map(visit), expected);
    let log = fs::read_to_string(directory.path().join("stderr.log")).unwrap();
    assert!(log.contains("is report: all requests pass"), "{log}");
    configure("on");
    server.signal("HUP");
    eventually("the mode is on", || visit("/private/a").starts_with("403"));
    let expected = [
        "302 User-Agent  /robot-heaven/",
        "403 User-Agent",
        "403 User-Agent",
    ];
    assert_eq!(paths.map(visit)[..3], expected);
    configure("report");
    server.signal("HUP");
    eventually("the mode is report", || {
        visit("/private/a").starts_with("404")
    });
}

#[test]
fn dry_run_decisions_are_explained() {
    let directory = tempfile::tempdir().unwrap();
    let text = format!("mode = 'report'\n{SETTINGS}");
    fs::write(directory.path().join("robot-detection.toml"), text).unwrap();
    let explain = |path: &str, user_agent: &str| {
        let arguments = ["explain", "--path", path, "--user-agent", user_agent];
        succeed(directory.path(), &arguments)
    };
    for (path, user_agent, decision) in [
        ("/private/a", GOOGLEBOT, "pass (would refuse 403)"),
        (
            "/members-only-stuff/",
            GOOGLEBOT,
            "pass (would redirect 302 /robot-heaven/)",
        ),
        ("/hidden/a", GOOGLEBOT, "pass (would refuse 403)"),
        ("/about.html", GOOGLEBOT, "pass"),
        ("/private/a", FIREFOX, "pass"),
    ] {
        let answer = explain(path, user_agent);
        assert!(
            answer.ends_with(&format!("decision  {decision}\n")),
            "{answer}"
        );
        assert!(
            answer.contains("mode      The mode is report: "),
            "{answer}"
        );
    }
    let arguments = [
        "explain",
        "--json",
        "--path",
        "/private/a",
        "--user-agent",
        GOOGLEBOT,
    ];
    let answer: Value = serde_json::from_str(&succeed(directory.path(), &arguments)).unwrap();
    assert_eq!(answer["decision"], "pass");
    assert_eq!(answer["would"], "refuse 403");
    assert_eq!(answer["rule"], "rule 1");
}

#[tokio::test]
async fn dry_run_decisions_are_counted_and_reported_in_the_response() {
    let files = SharedRobotsFiles::default();
    let file = RobotsTxt::parse(b"User-agent: *\nDisallow: /hidden/", Dialect::default());
    files.replace(file.into());
    let enforcer = Enforcer::new(files, Enforcement::default().rules(EnforcementMode::On));
    let tagged = policy().x_robots_tag(TagRule::builder("noindex"));
    let layer = app::layer(tagged, &Clock::manual(0))
        .enforcer(enforcer)
        .report_outcome(true);
    for (path, decision, cause) in [
        ("/members-only-stuff/", Action::Redirect, "purpose"),
        ("/private/a", Action::Refuse, "rule 2"),
        ("/served/a", Action::Serve, "rule 3"),
        ("/slow/a", Action::Pass, "path-not-filtered"),
        ("/slow/a", Action::Slow, "rule 1"),
        ("/hidden/a", Action::Refuse, "robots.txt"),
        ("/a", Action::Pass, "path-not-filtered"),
    ] {
        let response = app::ask(&layer, path, GOOGLEBOT).await;
        assert_eq!(
            (response.status().as_u16(), response.headers().len()),
            (200, 2),
            "{path}"
        );
        let outcome = response.extensions().get::<Outcome>().unwrap().clone();
        assert_eq!(
            (outcome.decision(), outcome.cause()),
            (decision, cause),
            "{path}"
        );
        assert_eq!(outcome.is_dry_run(), decision != Action::Pass, "{path}");
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, format!("page {path}"));
    }
    let stats = layer.stats();
    let would = &stats.would;
    let counted = [
        would.get(Action::Redirect),
        would.get(Action::Serve),
        would.get(Action::Refuse),
        would.get(Action::Slow),
        stats.robots.get(Action::Pass),
    ];
    let counted = counted.map(|counter| counter.load(Ordering::Relaxed));
    assert_eq!(counted, [1, 1, 2, 1, 7]);
    let violations = layer.robots_txt().violations();
    assert_eq!(
        (violations.rules[0].hits, violations.rules[0].refused),
        (1, 0)
    );
}

async fn fetch(router: Router, path: &str) -> String {
    let request = Request::get(path).header("host", "localhost");
    let request = request.body(Body::empty()).unwrap();
    let answer = router.oneshot(request).await.unwrap();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

#[tokio::test]
async fn every_admin_page_shows_the_dry_run_and_its_actions() {
    let robots = RobotDetection::builder()
        .policy(|_| policy())
        .database_url("sqlite::memory:")
        .web_robots_db("")
        .build_idle()
        .await
        .unwrap();
    let identify = "/identify?user_agent=Googlebot/2.1&path=/private/a&method=post";
    for (path, text) in [
        ("/settings", "Robots would be redirected"),
        ("/settings", "slow: at most 1 request in 60 s, 1 at once"),
        ("/settings", "refuse with 403"),
        ("/robots", "Dry run:"),
        (
            identify,
            "passes, because the mode is report; otherwise it is refused with 403",
        ),
        (
            "/identify?user_agent=Googlebot/2.1&path=/served/a",
            "is served the page <code>/robot-heaven/</code> without a redirect",
        ),
    ] {
        let page = fetch(robots.admin_router_without_login(), path).await;
        assert!(page.contains(text), "{path}: {page}");
        assert!(page.contains("Dry run:"), "{path}");
    }
    let api = format!("/api/v1{identify}");
    let answer: Value =
        serde_json::from_str(&fetch(robots.admin_router_without_login(), &api).await).unwrap();
    assert_eq!(
        (&answer["decision"], &answer["method"]),
        (&"pass".into(), &"POST".into())
    );
    assert_eq!(
        (&answer["rule"], &answer["is_dry_run"]),
        (&"rule 2".into(), &true.into())
    );
    let answer = fetch(robots.admin_router_without_login(), "/api/v1/settings").await;
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["rules"][0]["rate_limit"]["requests"], 1);
    assert_eq!(answer["rules"][0]["rate_limit"]["per"], "robot");
    assert_eq!(answer["rules"][0]["rate_limit"]["errors"], Value::Null);
    assert_eq!(answer["rules"][1]["status"], 403);
    assert_eq!(answer["rules"][2]["location"], "/robot-heaven/");
    let live = policy().dry_run(false).build().unwrap();
    robots.policy().replace(live);
    let page = fetch(robots.admin_router_without_login(), "/overview").await;
    assert!(!page.contains("Dry run:"));
    robots.shutdown().await;
}
