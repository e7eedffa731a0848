//! robots.txt, and robots with a false claim.

use robot_detection::{
    policy::{
        Enforcement, EnforcementMode, Enforcer, Policy, RobotRequest, SharedRobotsFiles, Visitor,
    },
    robots_txt::{Dialect, RobotsTxt},
};

use super::universe::{GOOGLEBOT, Pending, Spoofed, Unverifiable, Verified, build, claim, get};
use robot_detection::detect::Verdict;

const FILE: &[u8] = b"User-agent: *\nDisallow: /private/\nCrawl-delay: 10\n";

fn enforcer() -> Enforcer {
    let files = SharedRobotsFiles::default();
    files.replace(RobotsTxt::parse(FILE, Dialect::default()).into());
    let settings = Enforcement::default();
    Enforcer::new(
        files,
        settings
            .rules(EnforcementMode::On)
            .crawl_delay(EnforcementMode::On),
    )
}

/// Returns `true` if Googlebot's request counts as a violation.
fn breaks(enforcer: &Enforcer, policy: &Policy, target: &str, verdict: Verdict) -> bool {
    let claim = &claim(GOOGLEBOT);
    let visit = RobotRequest {
        request: get(target),
        target,
        visitor: Visitor::new(claim, verdict),
        user_agent: GOOGLEBOT.as_bytes(),
        client: None,
    };
    enforcer.enforce(policy, &visit, || 0).is_some()
}

#[test]
fn an_impostor_of_an_allowed_robot_must_follow_robots_txt() {
    let policy = build(|policy| policy.allow_robots(["googlebot"]));
    let enforcer = enforcer();
    for (verdict, expected) in [
        (Verified, false),
        (Unverifiable, false),
        (Pending, false),
        (Spoofed, true),
    ] {
        let found = breaks(&enforcer, &policy, "/private/a", verdict);
        assert_eq!(found, expected, "{verdict}");
    }
}

#[test]
fn impostors_do_not_use_up_the_pace_of_the_real_robot() {
    let (enforcer, policy) = (enforcer(), build(|policy| policy));
    for verdict in [Spoofed, Pending, Verified] {
        let came = [0; 3].map(|_| breaks(&enforcer, &policy, "/", verdict));
        assert_eq!(came, [false, false, true], "{verdict}");
    }
    assert!(breaks(&enforcer, &policy, "/", Unverifiable));
}
