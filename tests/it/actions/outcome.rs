//! The outcome that the layer reports for each request.

use std::{sync::atomic::Ordering, time::Duration};

use robot_detection::{
    clock::Clock,
    layer::Outcome,
    policy::{
        Action, Enforcement, EnforcementMode, Enforcer, Policy, PolicyBuilder, Refusal, Rule,
        SharedRobotsFiles,
    },
    registry::Purpose,
    robots_txt::{Dialect, RobotsTxt},
};

use super::app;
use crate::support::program::{FIREFOX, GOOGLEBOT};

const BINGBOT: &str = "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)";
const UNLISTED: &str = "Mozilla/5.0 (compatible; MysteryCrawler/0.1; +https://mystery.example/)";

fn policy() -> PolicyBuilder {
    let rule = |action, path| Rule::builder(action).paths([path]);
    Policy::builder()
        .deny_robots(["bingbot"])
        .allow_robots(["unlisted"])
        .rules([
            rule(Action::Slow, "/slow/*")
                .requests(1)
                .per(Duration::from_mins(1)),
            rule(Action::Refuse, "/private/*").name("private"),
            rule(Action::Serve, "/served/*"),
            rule(Action::Pass, "/members-only-stuff/open/*"),
        ])
}

#[tokio::test]
async fn every_decision_about_a_robot_is_reported_and_counted() {
    let layer = app::layer(policy(), &Clock::manual(0)).report_outcome(true);
    for (path, user_agent, expected) in [
        (
            "/members-only-stuff/",
            GOOGLEBOT,
            "302 googlebot redirect purpose",
        ),
        ("/members-only-stuff/", BINGBOT, "302 bingbot redirect deny"),
        (
            "/members-only-stuff/",
            UNLISTED,
            "200 unlisted pass allowed",
        ),
        (
            "/members-only-stuff/open/a",
            GOOGLEBOT,
            "200 googlebot pass rule 4",
        ),
        (
            "/private/a",
            GOOGLEBOT,
            "403 googlebot refuse rule \"private\"",
        ),
        ("/served/a", GOOGLEBOT, "200 googlebot serve rule 3"),
        ("/slow/a", GOOGLEBOT, "200 googlebot pass path-not-filtered"),
        ("/slow/a", GOOGLEBOT, "429 googlebot slow rule 1"),
        (
            "/robot-heaven/",
            GOOGLEBOT,
            "200 googlebot pass path-not-filtered",
        ),
    ] {
        let response = app::ask(&layer, path, user_agent).await;
        let outcome = response.extensions().get::<Outcome>().unwrap();
        let robot = outcome.robot().unwrap();
        let (decision, cause) = (outcome.decision(), outcome.cause());
        let told = format!("{} {robot} {decision} {cause}", response.status().as_u16());
        assert_eq!(told, expected, "{path}");
        assert_eq!(
            outcome.rule().is_some(),
            cause.starts_with("rule"),
            "{path}"
        );
        assert_eq!(outcome.listed().is_some(), user_agent != UNLISTED, "{path}");
        assert!(!outcome.is_dry_run());
    }
    let stats = layer.stats();
    let counters = [
        stats.robots.get(Action::Pass),
        stats.robots.get(Action::Redirect),
        stats.robots.get(Action::Serve),
        stats.robots.get(Action::Refuse),
        stats.robots.get(Action::Slow),
    ];
    let counted = counters.map(|counter| counter.load(Ordering::Relaxed));
    assert_eq!(counted, [4, 2, 1, 1, 1]);
}

#[tokio::test]
async fn a_violation_of_robots_txt_is_reported_with_the_broken_rule() {
    let files = SharedRobotsFiles::default();
    let text = b"User-agent: Googlebot\nDisallow: /hidden/\nUser-agent: *\nCrawl-delay: 60";
    files.replace(RobotsTxt::parse(text, Dialect::default()).into());
    let settings = Enforcement::default()
        .rules(EnforcementMode::On)
        .crawl_delay(EnforcementMode::On);
    let enforcer = Enforcer::new(files, settings);
    let layer = app::layer(Policy::builder(), &Clock::manual(0))
        .enforcer(enforcer.clone())
        .report_outcome(true);
    let told = async |path, user_agent| {
        let response = app::ask(&layer, path, user_agent).await;
        let outcome = response.extensions().get::<Outcome>().unwrap();
        format!("{} {}", outcome.decision(), outcome.cause())
    };
    assert_eq!(told("/hidden/a", GOOGLEBOT).await, "refuse robots.txt");
    for expected in [
        "pass path-not-filtered",
        "pass path-not-filtered",
        "slow crawl-delay",
    ] {
        assert_eq!(told("/a", BINGBOT).await, expected);
    }
    enforcer.replace_settings(settings.refusal(Refusal::Redirect));
    assert_eq!(told("/hidden/a", GOOGLEBOT).await, "redirect robots.txt");
}

#[tokio::test]
async fn nothing_is_reported_for_people_or_without_an_observer() {
    let layer = app::layer(policy(), &Clock::manual(0));
    let silent = app::ask(&layer, "/private/a", GOOGLEBOT).await;
    assert!(silent.extensions().get::<Outcome>().is_none());
    let layer = layer.report_outcome(true);
    let person = app::ask(&layer, "/private/a", FIREFOX).await;
    assert!(person.extensions().get::<Outcome>().is_none());
    let nobody = Outcome::default();
    assert_eq!(
        (nobody.robot(), nobody.decision(), nobody.rule()),
        (None, Action::Pass, None)
    );
    let robot = app::ask(&layer, "/", GOOGLEBOT).await;
    let outcome = robot.extensions().get::<Outcome>().unwrap();
    assert_eq!(outcome.purpose(), Some(Purpose::Search));
}
