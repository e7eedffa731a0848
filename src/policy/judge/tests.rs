//! Unlisted robots, as rules and lists see them.

use crate::detect::{Sign, Unlisted};
use crate::policy::{Action, PolicyBuilder, PolicyError};
use crate::registry::{Purpose, Source};

use super::*;

const REQUEST: Request<'static> = Request {
    method: "GET",
    host: None,
    path: "/members-only-stuff/a",
};

/// Decides about a robot that no registry lists.
fn unlisted(sign: Sign, change: impl FnOnce(PolicyBuilder) -> PolicyBuilder) -> Option<PassReason> {
    let policy = change(Policy::builder()).build().unwrap();
    let claim = Claim::Unlisted(Unlisted { sign, range: 0..3 });
    match policy.decide(&REQUEST, Some(Visitor::from(&claim))) {
        Decision::Pass(reason) => Some(reason),
        _ => None,
    }
}

#[test]
fn unlisted_robots_are_redirected_unless_they_are_libraries() {
    for sign in [Sign::Word, Sign::Url, Sign::Address] {
        assert_eq!(unlisted(sign, |policy| policy), None, "{sign}");
    }
    let library = unlisted(Sign::Library, |policy| policy);
    assert_eq!(library, Some(PassReason::Purpose));
    let only_search = unlisted(Sign::Word, |policy| policy.purposes([Purpose::Search]));
    assert_eq!(only_search, Some(PassReason::Purpose));
    let unknown = unlisted(Sign::Word, |policy| policy.purposes([Purpose::Unknown]));
    assert_eq!(unknown, None);
}

#[test]
fn unlisted_robots_can_be_told_apart_by_rules_and_lists() {
    let pass = || Rule::builder(Action::Pass);
    let of = |rule| unlisted(Sign::Word, |policy| policy.rule(rule));
    assert_eq!(of(pass().unlisted(true)), Some(PassReason::Rule));
    assert_eq!(of(pass().robots(["unlisted"])), Some(PassReason::Rule));
    assert_eq!(
        of(pass().purposes([Purpose::Unknown])),
        Some(PassReason::Rule)
    );
    assert_eq!(of(pass().unlisted(false)), None);
    assert_eq!(of(pass().robots(["googlebot"])), None);
    assert_eq!(of(pass().operators(["Google"])), None);
    assert_eq!(of(pass().sources([Source::bundled()])), None);
    let allowed = unlisted(Sign::Word, |policy| policy.allow_robots(["unlisted"]));
    assert_eq!(allowed, Some(PassReason::Allowed));
    let denied = unlisted(Sign::Library, |policy| policy.deny_robots(["unlisted"]));
    assert_eq!(denied, None);
}

#[test]
fn what_contradicts_the_unlisted_is_refused() {
    let pass = || Rule::builder(Action::Pass);
    for (rule, wrong) in [
        (pass().unlisted(true).robots(["googlebot"]), "unlisted"),
        (pass().unlisted(false).robots(["unlisted"]), "unlisted"),
        (pass().unlisted(true).operators(["Google"]), "operators"),
        (
            pass().robots(["unlisted"]).sources([Source::manual()]),
            "sources",
        ),
    ] {
        let refused = Policy::builder().rule(rule).build().unwrap_err();
        assert!(
            matches!(refused, PolicyError::Rule { number: 1, key, .. } if key == wrong),
            "{refused}"
        );
    }
}
