//! Robots with verdicts on their claims, and queries about them.

use std::sync::{Arc, LazyLock};

use robot_detection::{
    detect::{Claim, Detector, Verdict},
    policy::{Judgement, Policy, PolicyBuilder, Request, Visitor},
    registry::{Pattern, PatternKind, Purpose, Robot, Source},
};

pub(super) use Verdict::{Pending, Spoofed, Unverifiable, Verified};

pub(super) const GOOGLEBOT: &str = "Googlebot/2.1";
pub(super) const MONITOR: &str = "UptimeBot/1.0";
pub(super) const MEMBERS: &str = "/members-only-stuff/a";

/// Returns a search engine, and a monitor with a purpose that is not redirected.
pub(super) fn robots() -> [Arc<Robot>; 2] {
    let robot = |id: &str, token: &str, purpose| {
        let mut robot = Robot::new(id, Source::manual());
        robot.patterns = vec![Pattern::new(PatternKind::Token, token)];
        robot.purpose = purpose;
        Arc::new(robot)
    };
    [
        robot("googlebot", "Googlebot", Purpose::Search),
        robot("uptimebot", "UptimeBot", Purpose::Monitoring),
    ]
}

pub(super) fn claim(user_agent: &str) -> Claim<'static> {
    static DETECTOR: LazyLock<Detector> = LazyLock::new(|| {
        let detector = Detector::new(robots()).unwrap();
        detector.recognise_unlisted(true)
    });
    DETECTOR.identify(user_agent.as_bytes()).unwrap()
}

pub(super) fn build(change: impl FnOnce(PolicyBuilder) -> PolicyBuilder) -> Policy {
    change(Policy::builder()).build().unwrap()
}

pub(super) fn get(path: &str) -> Request<'_> {
    Request {
        method: "GET",
        host: None,
        path,
        query: None,
    }
}

pub(super) fn judge<'p>(
    policy: &'p Policy,
    request: &Request<'_>,
    user_agent: &str,
    verdict: Verdict,
) -> Judgement<'p> {
    let claim = &claim(user_agent);
    policy.judge(request, Some(Visitor::new(claim, verdict)))
}

/// Returns the action on a GET of Googlebot, and the deciding setting.
pub(super) fn told(policy: &Policy, path: &str, verdict: Verdict) -> String {
    let judgement = judge(policy, &get(path), GOOGLEBOT, verdict);
    let action = judgement.decision.action();
    format!("{action} {}", judgement.cause())
}

/// Returns the verdicts for which Googlebot does not pass.
pub(super) fn stopped(policy: &Policy, path: &str) -> Vec<Verdict> {
    let passes = |verdict: &Verdict| told(policy, path, *verdict).starts_with("pass ");
    let all = Verdict::ALL.iter().copied();
    all.filter(|verdict| !passes(verdict)).collect()
}
