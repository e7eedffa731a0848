//! Tests of rules and lists that apply to unlisted robots.

use crate::detect::{Sign, Unlisted, Verdict};
use crate::policy::{Action, PolicyBuilder, PolicyError, TagRule};
use crate::registry::{Purpose, Source};

use super::*;

const REQUEST: Request<'static> = Request {
    method: "GET",
    host: None,
    path: "/members-only-stuff/a",
    query: None,
};

/// Returns the decision about an unlisted robot.
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
fn rules_and_lists_can_name_unlisted_robots() {
    let pass = || Rule::builder(Action::Pass);
    let of = |rule| unlisted(Sign::Word, |policy| policy.rule(rule));
    assert_eq!(
        of(pass().visitors([Kind::Unlisted])),
        Some(PassReason::Rule)
    );
    assert_eq!(of(pass().robots(["unlisted"])), Some(PassReason::Rule));
    assert_eq!(
        of(pass().purposes([Purpose::Unknown])),
        Some(PassReason::Rule)
    );
    assert_eq!(of(pass().visitors([Kind::Listed])), None);
    assert_eq!(of(pass().robots(["googlebot"])), None);
    assert_eq!(of(pass().operators(["Google"])), None);
    assert_eq!(of(pass().sources([Source::bundled()])), None);
    let allowed = unlisted(Sign::Word, |policy| policy.allow_robots(["unlisted"]));
    assert_eq!(allowed, Some(PassReason::Allowed));
    let denied = unlisted(Sign::Library, |policy| policy.deny_robots(["unlisted"]));
    assert_eq!(denied, None);
}

#[test]
fn conditions_that_exclude_unlisted_robots_are_rejected() {
    let pass = || Rule::builder(Action::Pass);
    let unlisted = || pass().visitors([Kind::Unlisted]);
    for (rule, wrong) in [
        (unlisted().robots(["googlebot"]), "visitors"),
        (
            pass().visitors([Kind::Listed]).robots(["unlisted"]),
            "visitors",
        ),
        (unlisted().operators(["Google"]), "operators"),
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

#[test]
fn exempt_paths_and_heaven_pass_for_every_matching_pattern() {
    for (pattern, path, reason) in [
        ("/*", "/robots.txt", Some(PassReason::NeverFiltered)),
        ("/s*", "/sitemap.xml", Some(PassReason::NeverFiltered)),
        ("/sitemap*", "/sitemap.xml", Some(PassReason::NeverFiltered)),
        (
            "/.well-known/a*",
            "/.well-known/ab",
            Some(PassReason::NeverFiltered),
        ),
        ("*.txt", "/llms.txt", Some(PassReason::NeverFiltered)),
        ("/sitemap/*", "/sitemap/a.xml", None),
        (
            "/private/*",
            "/private/never/a",
            Some(PassReason::NeverFiltered),
        ),
        (
            "/private/never/a*",
            "/private/never/ab",
            Some(PassReason::NeverFiltered),
        ),
        ("/private/never*", "/private/nevermore", None),
        ("/private/*", "/private/heaven/", Some(PassReason::Heaven)),
        ("/private/*", "/private/heavenly", None),
        ("/members/*", "/members/a", None),
    ] {
        let policy = Policy::builder()
            .filter_patterns([pattern])
            .never("/private/never")
            .redirect_url("/private/heaven/");
        let policy = policy.build().unwrap();
        let claim = Claim::Unlisted(Unlisted {
            sign: Sign::Word,
            range: 0..3,
        });
        let request = Request { path, ..REQUEST };
        let decision = policy.decide(&request, Some(Visitor::from(&claim)));
        let found = match decision {
            Decision::Pass(reason) => Some(reason),
            _ => None,
        };
        assert_eq!(found, reason, "{pattern} {path}");
    }
}

#[test]
fn the_host_is_needed_if_a_setting_depends_on_it() {
    let elsewhere = "https://other.example/heaven/";
    let hosts = ["a.example"];
    for (policy, expected) in [
        (Policy::builder(), false),
        (Policy::builder().redirect_url(elsewhere), true),
        (
            Policy::builder()
                .redirect_url(elsewhere)
                .own_hosts(["other.example"]),
            false,
        ),
        (
            Policy::builder().rule(Rule::builder(Action::Pass).hosts(hosts)),
            true,
        ),
        (
            Policy::builder().x_robots_tag(TagRule::builder("noindex").hosts(hosts)),
            true,
        ),
    ] {
        assert_eq!(policy.build().unwrap().depends_on_host(), expected);
    }
}

#[test]
fn headers_for_all_visitors_include_impostors_and_need_no_vary() {
    let pass = || {
        let rule = Rule::builder(Action::Pass).paths(["/*"]);
        rule.response_header("Content-Usage", "train-ai=n")
    };
    let policy = |rule| {
        let policy = Policy::builder().filter_patterns([""; 0]).rule(rule);
        policy.build().unwrap()
    };
    let claim = Claim::Unlisted(Unlisted {
        sign: Sign::Word,
        range: 0..3,
    });
    let spoofed = Visitor::new(&claim, Verdict::Spoofed);
    let everybody = policy(pass().visitors(Kind::ALL.iter().copied()));
    for visitor in [spoofed, Visitor::new(&Claim::Person, Verdict::Unverifiable)] {
        let judged = everybody.judge(&REQUEST, Some(visitor));
        assert!(judged.rule.is_some());
        assert!(!judged.decision.depends_on_user_agent());
    }
    let robots = policy(pass());
    let judged = robots.judge(&REQUEST, Some(Visitor::from(&Claim::Person)));
    assert!(judged.rule.is_none());
    assert!(judged.decision.depends_on_user_agent());
}
