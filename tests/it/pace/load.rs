//! Rules that apply under load, with a clock that the test advances.

use std::{convert::Infallible, future::ready, sync::Arc, time::Duration};

use axum::{
    body::Body,
    http::{Request, Response, StatusCode},
};
use robot_detection::{
    clock::Clock,
    detect::{Detector, SharedDetector},
    layer::RobotDetectionLayer,
    policy::{self, Action, Policy, Rule, RuleBuilder, SharedPolicy, Visitor},
    registry::{Pattern, PatternKind, Robot, Source},
};
use tower::{Layer as _, ServiceExt as _, service_fn};

use super::house::{EVERYBODY, House};
use crate::support::program::{FIREFOX, GOOGLEBOT, run};

/// A site with one page and an adjustable response time.
struct Site {
    layer: RobotDetectionLayer,
    clock: Clock,
}

impl Site {
    fn new(rule: impl FnOnce(RuleBuilder) -> RuleBuilder) -> Self {
        let mut robot = Robot::new("googlebot", Source::manual());
        robot.patterns = vec![Pattern::new(PatternKind::Token, "Googlebot")];
        let detector = SharedDetector::new(Detector::new([Arc::new(robot)]).unwrap());
        let slow = Rule::builder(Action::Slow).paths(["/*"]);
        let slow = slow.requests(1).per(Duration::from_hours(24));
        let policy = Policy::builder().rule(rule(slow)).build().unwrap();
        let clock = Clock::manual(1_000_000);
        Self {
            layer: RobotDetectionLayer::new(detector, SharedPolicy::new(policy))
                .clock(clock.clone()),
            clock,
        }
    }

    async fn ask(&self, user_agent: &str, takes_ms: u64) -> StatusCode {
        let clock = self.clock.clone();
        let page = service_fn(move |_: Request<Body>| {
            clock.advance(Duration::from_millis(takes_ms));
            ready(Ok::<_, Infallible>(Response::new(Body::empty())))
        });
        let request = Request::get("/a").header("user-agent", user_agent);
        let request = request.body(Body::empty()).unwrap();
        let Ok(answer) = self.layer.layer(page).oneshot(request).await;
        answer.status()
    }

    /// Sends a number of people's requests within a second.
    async fn second(&self, requests: usize) {
        for _ in 0..requests {
            assert_eq!(self.ask(FIREFOX, 0).await, 200);
        }
        self.clock.advance(Duration::from_secs(1));
    }

    fn explain(&self) -> String {
        let in_force = self.layer.policy().load();
        let detector = self.layer.detector().load();
        let claim = detector.identify(GOOGLEBOT.as_bytes()).unwrap();
        let request = policy::Request {
            method: "GET",
            host: None,
            path: "/a",
            query: None,
        };
        let visitor = Visitor::from(&claim);
        let steps = in_force.explain(&request, Some(visitor)).steps;
        steps
            .iter()
            .map(|step| step.text.as_str())
            .collect::<Vec<_>>()
            .join("\n")
    }
}

#[tokio::test]
async fn robots_are_slowed_only_while_the_site_has_many_requests() {
    let site = Site::new(|rule| rule.load_requests(20));
    for _ in 0..4 {
        assert_eq!(site.ask(GOOGLEBOT, 0).await, 200);
    }
    assert!(
        site.explain()
            .contains("Rule 1 does not act now: the load is 0 requests per second")
    );
    site.second(20).await;
    for status in [200, 429, 429] {
        assert_eq!(site.ask(GOOGLEBOT, 0).await, status);
    }
    let told = site.explain();
    for sentence in [
        "Rule 1 matches; its action is slow: the load is 24 requests per second",
        "and reached 20 requests per second in the last 10 s.",
    ] {
        assert!(told.contains(sentence), "{told}");
    }
    for _ in 0..9 {
        site.second(1).await;
        assert_eq!(site.ask(GOOGLEBOT, 0).await, 429);
    }
    site.second(1).await;
    for _ in 0..4 {
        assert_eq!(site.ask(GOOGLEBOT, 0).await, 200);
    }
}

#[tokio::test]
async fn robots_are_slowed_while_responses_are_slow() {
    let site = Site::new(|rule| rule.load_requests(1_000).load_time(500));
    for _ in 0..20 {
        assert_eq!(site.ask(FIREFOX, 900).await, 200);
    }
    assert_eq!(site.ask(GOOGLEBOT, 0).await, 200);
    assert_eq!(site.ask(GOOGLEBOT, 0).await, 429);
    assert!(site.explain().contains("ms upstream response time"));
}

#[tokio::test]
async fn a_reload_keeps_the_measured_load() {
    let site = Site::new(|rule| rule.load_requests(5));
    site.second(5).await;
    let slow = Rule::builder(Action::Slow).paths(["/*"]).name("moved");
    let slow = slow
        .requests(1)
        .per(Duration::from_hours(24))
        .load_requests(5);
    let policy = Policy::builder().rule(slow).build().unwrap();
    site.layer.policy().replace(policy);
    for status in [200, 429] {
        assert_eq!(site.ask(GOOGLEBOT, 0).await, status);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn explain_states_the_dependency_on_load() {
    let rules = format!(
        "{EVERYBODY}requests = 1\nwhen = {{ requests_per_second = 100000, upstream_milliseconds = 60000 }}\n"
    );
    let house = House::new(&rules).await;
    assert_eq!(house.from("/", &["192.0.2.1"; 4]), [200; 4]);
    let told = house.explain(&["--path", "/", "--user-agent", GOOGLEBOT]);
    let expected = "does not act now: the rule acts at a load of 100000 requests per second or \
        60000 ms upstream response time, which only a running server measures.";
    assert!(told.contains(expected), "{told}");
    assert!(told.ends_with("decision  pass\n"), "{told}");
}

#[test]
fn doctor_names_rules_about_response_times_that_are_not_measured() {
    let directory = tempfile::tempdir().unwrap();
    for (when, is_named) in [
        ("upstream_milliseconds = 9", true),
        ("upstream_milliseconds = 9, requests_per_second = 9", false),
    ] {
        let config = format!(
            "web_robots_db = ''\n[server]\nlisten = '127.0.0.1:0'\n[check]\nlisten = 'unix:check.sock'\n\
             {EVERYBODY}requests = 1\nwhen = {{ {when} }}\n"
        );
        std::fs::write(directory.path().join("robot-detection.toml"), config).unwrap();
        let output = run(directory.path(), &["doctor", "--offline"]);
        let report = String::from_utf8(output.stdout).unwrap();
        let warning =
            "rule \"pace\" never matches when.upstream_milliseconds, because the decision";
        assert_eq!(report.contains(warning), is_named, "{report}");
    }
}
