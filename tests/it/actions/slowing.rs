//! Robots that send requests too fast.

use std::{fs, path::Path, time::Duration};

use robot_detection::{
    clock::Clock,
    policy::{Action, Policy, PolicyBuilder, Rule, RuleBuilder},
};

use super::app;
use crate::support::program::{FIREFOX, GOOGLEBOT, Server, eventually, request};

const BINGBOT: &str = "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)";

/// Configures a pace of two requests a day, with a burst of two.
fn configure(directory: &Path, name: &str, requests: u32) {
    let text = format!(
        "web_robots_db = ''\nfilter_pattern = '/nowhere/*'
[[rule]]\nname = '{name}'\npath = '/*'\naction = 'slow'
requests = {requests}\nper_seconds = 86400\nburst = 2\ntext = 'Not so fast.'\n"
    );
    fs::write(directory.join("robot-detection.toml"), text).unwrap();
}

#[test]
fn a_robot_above_its_pace_gets_a_retry_after() {
    let directory = tempfile::tempdir().unwrap();
    configure(directory.path(), "slowly", 2);
    let server = Server::start(directory.path(), &["serve"]);
    for _ in 0..2 {
        let answer = server.get("/about.html", GOOGLEBOT);
        assert_eq!((answer.status, &*answer.header("vary")), (200, ""));
    }
    let slowed = server.get("/", GOOGLEBOT);
    assert_eq!((slowed.status, &*slowed.text()), (429, "Not so fast.\n"));
    let wait: u32 = slowed.header("retry-after").parse().unwrap();
    assert!((1..=43_200).contains(&wait), "{wait}");
    assert_eq!(slowed.header("cache-control"), "no-store");
    assert_eq!(slowed.header("vary"), "User-Agent");
    let preflight = [
        ("User-Agent", GOOGLEBOT),
        ("Origin", "https://app.example"),
        ("Access-Control-Request-Method", "PUT"),
    ];
    // The page that sends the preflight could not wait.
    let asked = request(server.addr, "OPTIONS", "/", &preflight);
    assert_ne!(asked.status, 429, "{asked:?}");
    assert_eq!(
        request(server.addr, "OPTIONS", "/", &preflight[..2]).status,
        429
    );
    assert_eq!(server.get("/robots.txt", GOOGLEBOT).status, 200);
    assert_eq!(server.get("/", BINGBOT).status, 200);
    for _ in 0..5 {
        assert_eq!(server.get("/", FIREFOX).status, 200);
    }
}

#[test]
fn a_reload_keeps_counts_unless_the_pace_changes() {
    let directory = tempfile::tempdir().unwrap();
    configure(directory.path(), "slowly", 2);
    let server = Server::start(directory.path(), &["serve"]);
    for status in [200, 200, 429] {
        assert_eq!(server.get("/", GOOGLEBOT).status, status);
    }
    let log = || fs::read_to_string(directory.path().join("stderr.log")).unwrap();
    let reload = |name, requests, times| {
        configure(directory.path(), name, requests);
        server.signal("HUP");
        eventually("the reload", || log().matches("reloaded ").count() == times);
    };
    reload("the same by another name", 2, 1);
    assert_eq!(server.get("/", GOOGLEBOT).status, 429);
    reload("another pace", 3, 2);
    assert_eq!(server.get("/", GOOGLEBOT).status, 200);
}

fn slow() -> RuleBuilder {
    let rule = Rule::builder(Action::Slow).paths(["/*"]);
    rule.requests(6).per(Duration::from_mins(1)).burst(2)
}

fn policy() -> PolicyBuilder {
    Policy::builder().rule(slow())
}

#[tokio::test]
async fn later_rules_apply_to_a_robot_within_its_pace() {
    let clock = Clock::manual(1_000_000);
    let refuse = Rule::builder(Action::Refuse).paths(["/private/*"]);
    let layer = app::layer(policy().rule(refuse), &clock);
    let addr = app::serve(&layer).await;
    let visit = |path| app::visit(addr, "GET", path, GOOGLEBOT);
    assert_eq!(visit("/members-only-stuff/").await.status, 302);
    assert_eq!(visit("/private/").await.status, 403);
    assert_eq!(visit("/private/").await.status, 429);
    clock.advance(Duration::from_millis(9_001));
    let early = visit("/a").await;
    assert_eq!((early.status, &*early.header("retry-after")), (429, "1"));
    let told =
        "This robot sends too many requests. Rate limit: at most 6 requests in 60 s, 2 at once.\n";
    assert_eq!(early.text(), told);
    clock.advance(Duration::from_secs(1));
    assert_eq!(visit("/a").await.status, 200);
    assert_eq!(visit("/robot-heaven/").await.status, 200);
}

#[tokio::test]
async fn an_earlier_rule_exempts_a_robot_and_the_first_pace_counts() {
    let clock = Clock::manual(0);
    let spare = Rule::builder(Action::Pass)
        .paths(["/*"])
        .robots(["bingbot"]);
    let slower = slow().requests(1).burst(1);
    let policy = Policy::builder().rules([spare, slow(), slower]);
    let layer = app::layer(policy, &clock);
    for _ in 0..5 {
        assert_eq!(app::ask(&layer, "/a", BINGBOT).await.status(), 200);
    }
    for status in [200, 200, 429] {
        assert_eq!(app::ask(&layer, "/a", GOOGLEBOT).await.status(), status);
    }
}

#[tokio::test]
async fn the_pace_survives_a_new_policy_with_the_same_rule() {
    let clock = Clock::manual(0);
    let layer = app::layer(policy(), &clock);
    for status in [200, 200, 429] {
        assert_eq!(app::ask(&layer, "/a", GOOGLEBOT).await.status(), status);
    }
    let other = Rule::builder(Action::Pass).paths(["/x"]);
    let moved = Policy::builder().rules([other, slow().name("moved")]);
    layer.policy().replace(moved.build().unwrap());
    assert_eq!(app::ask(&layer, "/a", GOOGLEBOT).await.status(), 429);
    let narrower = Policy::builder().rule(slow().robots(["googlebot"]));
    layer.policy().replace(narrower.build().unwrap());
    assert_eq!(app::ask(&layer, "/a", GOOGLEBOT).await.status(), 200);
}
