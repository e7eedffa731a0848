//! Decisions that depend on a pending verdict.

use std::time::Duration;

use robot_detection::policy::{Action, Policy, Rule, RuleBuilder, Visitor};

use super::universe::{
    GOOGLEBOT, MEMBERS, Pending, Spoofed, Unverifiable, Verified, build, claim, get,
};

fn waiting(action: Action, milliseconds: u64) -> RuleBuilder {
    Rule::builder(action)
        .verdicts([Verified])
        .wait(Duration::from_millis(milliseconds))
}

/// Returns the milliseconds that Googlebot's request waits.
fn wait(policy: &Policy, path: &str) -> Option<u128> {
    let claim = &claim(GOOGLEBOT);
    let visitor = |verdict| Visitor::new(claim, verdict);
    for verdict in [Verified, Spoofed, Unverifiable] {
        assert_eq!(policy.wait(&get(path), visitor(verdict)), None);
    }
    let wait = policy.wait(&get(path), visitor(Pending));
    wait.map(|wait| wait.as_millis())
}

#[test]
fn a_decision_waits_if_a_rule_demands_it() {
    let policy = build(|policy| policy.rule(waiting(Action::Pass, 500)));
    assert_eq!(wait(&policy, MEMBERS), Some(500));
    for path in ["/", "/robots.txt", "/robot-heaven/a"] {
        assert_eq!(wait(&policy, path), None, "{path}");
    }
    let patient = build(|policy| policy.rule(Rule::builder(Action::Pass).verdicts([Verified])));
    assert_eq!(wait(&patient, MEMBERS), None);
}

#[test]
fn a_verdict_without_effect_is_not_awaited() {
    let every = || waiting(Action::Redirect, 500);
    for policy in [
        build(|policy| policy.rule(every()).allow_robots(["googlebot"])),
        build(|policy| policy.rule(every()).deny_robots(["googlebot"])),
        build(|policy| policy.rule(every()).dry_run(true)),
        build(|policy| policy.rule(every()).filter_patterns([""])),
        build(|policy| policy.rule(every().robots(["uptimebot"]))),
        build(|policy| policy.rules([Rule::builder(Action::Refuse), every()])),
    ] {
        assert_eq!(wait(&policy, MEMBERS), None, "{policy:?}");
    }
}

#[test]
fn the_longest_wait_of_the_evaluated_rules_counts() {
    let slow = Rule::builder(Action::Slow).requests(5);
    let policy = build(|policy| {
        policy.rules([
            waiting(Action::Pass, 100),
            slow,
            waiting(Action::Refuse, 300),
            waiting(Action::Refuse, 200),
            Rule::builder(Action::Redirect),
            waiting(Action::Refuse, 400),
        ])
    });
    assert_eq!(wait(&policy, MEMBERS), Some(300));
}

#[test]
fn a_rule_for_pending_verdicts_waits_too() {
    let rule = Rule::builder(Action::Refuse).verdicts([Unverifiable, Pending]);
    let policy = build(|policy| policy.rule(rule.wait(Duration::from_millis(7))));
    assert_eq!(wait(&policy, MEMBERS), Some(7));
}
