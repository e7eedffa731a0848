//! Rejected rules, and unreachable rules.

use robot_detection::policy::{Action, Policy, PolicyBuilder, PolicyError, Rule, RuleBuilder};

use super::universe::build;

fn pass() -> RuleBuilder {
    Rule::builder(Action::Pass)
}

fn redirect() -> RuleBuilder {
    Rule::builder(Action::Redirect)
}

fn refused(policy: PolicyBuilder) -> (usize, &'static str, String) {
    match policy.build().unwrap_err() {
        PolicyError::Rule {
            number,
            key,
            reason,
        } => (number, key, reason),
        other => panic!("{other}"),
    }
}

#[test]
fn rules_that_never_match_or_redirect_wrongly_are_rejected() {
    for (rule, key, text) in [
        (pass().robots([""; 0]), "robots", "the list is empty"),
        (pass().robots([" "]), "robots", "the list is empty"),
        (pass().purposes([]), "purposes", "the list is empty"),
        (pass().operators([""]), "operators", "the list is empty"),
        (pass().sources([]), "sources", "the list is empty"),
        (pass().paths([" , "]), "path", "the list is empty"),
        (pass().paths(["/a[b"]), "path", "the [ has no matching ]"),
        (
            pass().redirect_url("/x/"),
            "redirect_url",
            "the action pass does not use this key",
        ),
        (
            redirect().redirect_url("//evil.example/"),
            "redirect_url",
            "two leading slashes",
        ),
        (
            redirect().redirect_url("/a\r\nb"),
            "redirect_url",
            "control character",
        ),
        (
            redirect().redirect_url(""),
            "redirect_url",
            "neither a path",
        ),
        (
            redirect().redirect_url("/members-only-stuff/"),
            "redirect_url",
            "nothing is redirected",
        ),
        (
            redirect().paths(["/robot-heaven/*"]),
            "path",
            "below the redirect URL /robot-heaven/",
        ),
        (
            redirect().paths(["/x/a/*"]).redirect_url("/x/"),
            "path",
            "below the redirect URL /x/",
        ),
        (
            redirect().paths(["/robots.txt", "/admin/*"]),
            "path",
            "exempt from redirects",
        ),
    ] {
        let policy = Policy::builder().never("/admin").rule(pass().robots(["x"]));
        let (number, found, reason) = refused(policy.rule(rule));
        assert_eq!((number, found), (2, key), "{reason}");
        assert!(reason.contains(text), "{reason}");
    }
}

#[test]
fn a_redirect_target_is_required() {
    let nowhere = || Policy::builder().redirect_url("");
    assert_eq!(refused(nowhere().rule(redirect())).1, "redirect_url");
    let denied = nowhere().deny_robots(["x"]).build().unwrap_err();
    assert_eq!(denied, PolicyError::NowhereToRedirect);
    let policy = nowhere().rule(pass()).build().unwrap();
    assert!(policy.is_disabled());
    let policy = nowhere().rule(redirect().redirect_url("/x/")).build();
    assert!(!policy.unwrap().is_disabled());
}

#[test]
fn rules_or_a_list_alone_are_enough_to_redirect() {
    for (policy, is_disabled) in [
        (build(|policy| policy.purposes([])), true),
        (
            build(|policy| policy.purposes([]).deny_robots(["x"])),
            false,
        ),
        (build(|policy| policy.purposes([]).rule(redirect())), false),
        (build(|policy| policy.purposes([]).rule(pass())), true),
        (
            build(|policy| policy.filter_patterns([""]).rule(redirect())),
            true,
        ),
        (
            build(|policy| policy.filter_patterns([""]).rule(redirect().paths(["/x"]))),
            false,
        ),
        (
            build(|policy| policy.methods([""]).rule(redirect().paths(["/x"]))),
            true,
        ),
    ] {
        assert_eq!(policy.is_disabled(), is_disabled, "{policy:?}");
    }
}

#[test]
fn duplicate_names_and_too_many_rules_are_rejected() {
    let policy = Policy::builder().rules([pass().name("a"), pass().robots(["x"]).name(" a ")]);
    let (number, key, reason) = refused(policy);
    assert_eq!((number, key), (2, "name"), "{reason}");
    let many = (0..257).map(|_| pass());
    assert_eq!(refused(Policy::builder().rules(many)).0, 257);
}

#[test]
fn rules_shadowed_by_wider_ones_are_found() {
    let policy = build(|policy| {
        policy.rules([
            pass().robots(["a", "b"]),
            redirect().robots(["b"]),
            pass().paths(["/x", "/y"]),
            redirect().paths(["/y"]).robots(["c"]),
            pass().robots(["c"]),
            redirect().robots(["a"]).paths(["/z"]),
        ])
    });
    let shadowed: Vec<_> = policy
        .shadowed_rules()
        .map(|(rule, earlier)| (rule.label(), earlier.label()))
        .collect();
    assert_eq!(shadowed, [("rule 2", "rule 1"), ("rule 4", "rule 3")]);
}
