//! Sample robots, and queries about them.

use std::sync::{Arc, LazyLock};

use robot_detection::{
    detect::Detector,
    policy::{Decision, PassReason, Policy, PolicyBuilder, Request, Visitor},
    registry::{Pattern, PatternKind, Purpose, Robot, Source},
};

pub(super) const ALPHA: &str = "AlphaBot/1.0";
pub(super) const BETA: &str = "BetaBot/1.0";
pub(super) const GAMMA: &str = "GammaBot/1.0";
pub(super) const DELTA: &str = "DeltaBot/1.0";
pub(super) const EVERYBODY: [&str; 5] = [ALPHA, BETA, GAMMA, DELTA, PERSON];
pub(super) const PERSON: &str =
    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
pub(super) const MEMBERS: &str = "/members-only-stuff/a";

pub(super) fn detector() -> &'static Detector {
    static DETECTOR: LazyLock<Detector> = LazyLock::new(some_robots);
    &DETECTOR
}

/// Alpha and beta of one operator, gamma of another, delta without; each from another source.
fn some_robots() -> Detector {
    let robot = |id: &str, token: &str, purpose, operator: Option<&str>, source| {
        let mut robot = Robot::new(id, source);
        robot.patterns = vec![Pattern::new(PatternKind::Token, token)];
        robot.purpose = purpose;
        robot.operator = operator.map(str::to_owned);
        Arc::new(robot)
    };
    let list: Source = "list".parse().unwrap();
    Detector::new([
        robot(
            "alpha",
            "AlphaBot",
            Purpose::Search,
            Some("Acme"),
            Source::bundled(),
        ),
        robot(
            "beta",
            "BetaBot",
            Purpose::AiTraining,
            Some("ACME"),
            Source::manual(),
        ),
        robot(
            "gamma",
            "GammaBot",
            Purpose::Seo,
            Some("Øther"),
            Source::web_robots_db(),
        ),
        robot("delta", "DeltaBot", Purpose::Library, None, list),
    ])
    .unwrap()
}

pub(super) fn build(change: impl FnOnce(PolicyBuilder) -> PolicyBuilder) -> Policy {
    change(Policy::builder()).build().unwrap()
}

/// Returns the redirect target of a request, or the reason why it passes.
pub(super) fn ask(policy: &Policy, path: &str, user_agent: &str) -> Result<String, PassReason> {
    let detector = detector();
    let claim = detector.identify(user_agent.as_bytes());
    let request = Request {
        method: "GET",
        host: None,
        path,
        query: None,
    };
    match policy.decide(&request, claim.as_ref().map(Visitor::from)) {
        Decision::Redirect(redirect) => Ok(redirect.location.clone()),
        Decision::Pass(reason) => Err(reason),
        other => panic!("{other:?}"),
    }
}

/// Returns the initials of the redirected robots.
pub(super) fn redirected(policy: &Policy, path: &str) -> String {
    let robots = [("a", ALPHA), ("b", BETA), ("g", GAMMA), ("d", DELTA)];
    let robots = robots.iter();
    assert!(ask(policy, path, PERSON).is_err(), "a person is redirected");
    robots
        .filter(|(_, user_agent)| ask(policy, path, user_agent).is_ok())
        .map(|(letter, _)| *letter)
        .collect()
}
