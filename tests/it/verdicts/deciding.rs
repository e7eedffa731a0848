//! Rules, lists and the setting for impostors, by verdict.

use robot_detection::{
    detect::{Kind, Verdict},
    policy::{
        Action, Decision, Enforcement, Enforcer, Policy, PolicyBuilder, PolicyError, Request, Rule,
        RuleBuilder, SharedRobotsFiles, Spoofed as Treatment, TagRule, Visitor,
    },
    registry::Purpose,
};

use super::universe::{
    GOOGLEBOT, MEMBERS, MONITOR, Pending, Spoofed, Unverifiable, Verified, build, claim, get,
    judge, stopped, told,
};

const ALL: &[Verdict] = Verdict::ALL;

fn pass() -> RuleBuilder {
    Rule::builder(Action::Pass)
}

fn refuse() -> RuleBuilder {
    Rule::builder(Action::Refuse).paths(["/*"])
}

#[test]
fn by_default_a_verified_search_engine_passes_on_paths_open_to_people() {
    let policy = build(|policy| policy);
    for &verdict in ALL {
        let elsewhere = told(&policy, "/articles/1", verdict);
        assert_eq!(elsewhere, "pass path-not-filtered", "{verdict}");
        let members = told(&policy, MEMBERS, verdict);
        assert_eq!(members, "redirect purpose", "{verdict}");
    }
    assert_eq!(policy.spoofed(), Treatment::Report);
}

/// Tests with Googlebot, which without a rule is redirected there, whatever the verdict.
macro_rules! rules {
    ($($name:ident: [$($rule:expr),*] => $stopped:expr;)*) => {
        $(#[test] fn $name() {
            let policy = build(|policy| policy.rules([$($rule),*]));
            assert_eq!(stopped(&policy, MEMBERS), $stopped);
        })*
    };
}

rules! {
    a_rule_with_a_verdict_does_not_match_without_one: [] => ALL;
    verified_robots_may_pass: [pass().verdicts([Verified])] => [Spoofed, Unverifiable, Pending];
    a_rule_may_list_several_verdicts: [pass().verdicts([Verified, Pending])] => [Spoofed, Unverifiable];
    other_conditions_must_match_too: [pass().verdicts([Verified]).robots(["uptimebot"])] => ALL;
    impostors_are_refused: [refuse().verdicts([Spoofed]), pass()] => [Spoofed];
    a_pass_rule_by_name_excludes_impostors: [pass().robots(["googlebot"])] => [Spoofed];
    a_pass_rule_by_purpose_excludes_impostors: [pass().purposes([Purpose::Search])] => [Spoofed];
    a_pass_rule_that_names_the_verdict_includes_impostors: [pass().robots(["googlebot"]).verdicts(ALL.to_vec())] => [];
    a_rule_for_every_robot_includes_impostors: [pass()] => [];
}

#[test]
fn an_impostor_of_an_exempt_robot_is_not_exempt() {
    let policy = build(|policy| policy.allow_robots(["googlebot"]));
    assert_eq!(stopped(&policy, MEMBERS), [Spoofed]);
    let denied = build(|policy| policy.deny_robots(["uptimebot"]));
    let judgement = judge(&denied, &get(MEMBERS), MONITOR, Spoofed);
    assert_eq!(judgement.cause(), "deny");
}

#[test]
fn impostors_are_redirected_on_every_filtered_path_and_nowhere_else() {
    let policy = build(|policy| policy.spoofed(Treatment::Redirect).rule(pass()));
    assert_eq!(told(&policy, MEMBERS, Spoofed), "redirect spoofed");
    assert_eq!(told(&policy, MEMBERS, Pending), "pass rule");
    assert_eq!(told(&policy, "/", Spoofed), "pass path-not-filtered");
    let monitor = judge(&policy, &get(MEMBERS), MONITOR, Spoofed);
    assert_eq!(monitor.cause(), "spoofed");
    let posted = Request {
        method: "POST",
        ..get(MEMBERS)
    };
    assert_eq!(
        judge(&policy, &posted, GOOGLEBOT, Spoofed).cause(),
        "method"
    );
    let person = policy.decide(&get(MEMBERS), None);
    assert!(person.depends_on_user_agent());
}

#[test]
fn impostors_are_redirected_even_if_no_purpose_is() {
    let policy = build(|policy| policy.spoofed(Treatment::Redirect).purposes([]));
    assert!(!policy.is_disabled());
    assert_eq!(stopped(&policy, MEMBERS), [Spoofed]);
}

#[test]
fn impostors_are_refused_on_all_paths_that_can_be_refused() {
    let allowed = |policy: PolicyBuilder| policy.allow_robots(["googlebot"]);
    for policy in [
        build(|policy| policy.spoofed(Treatment::Refuse).never("/never")),
        build(|policy| allowed(policy).spoofed(Treatment::Refuse).never("/never")),
        build(|policy| {
            let policy = policy.spoofed(Treatment::Refuse).never("/never");
            policy.filter_patterns([""]).redirect_url("")
        }),
    ] {
        assert!(!policy.is_disabled());
        for path in ["/", MEMBERS, "/robot-heaven/", "/a/../b"] {
            assert_eq!(
                told(&policy, path, Spoofed),
                "refuse spoofed",
                "{path} {policy:?}"
            );
        }
        for path in [
            "/robots.txt",
            "/never/a",
            "/.well-known/x",
            "/a/../robots.txt",
        ] {
            let told = told(&policy, path, Spoofed);
            assert!(told.starts_with("pass "), "{path} {told}");
        }
        let posted = Request {
            method: "POST",
            ..get("/")
        };
        let judgement = judge(&policy, &posted, GOOGLEBOT, Spoofed);
        let Decision::Refuse(refuse) = judgement.decision else {
            panic!("{judgement:?}");
        };
        assert_eq!(refuse.status, 403);
        assert!(std::ptr::eq(refuse, policy.spoofed_refusal()));
        for verdict in [Verified, Unverifiable, Pending] {
            assert!(!stopped(&policy, "/").contains(&verdict));
        }
    }
}

#[test]
fn settings_without_effect_or_redirect_target_are_rejected() {
    let of = |rule: RuleBuilder| match Policy::builder().rule(rule).build().unwrap_err() {
        PolicyError::Rule { key, reason, .. } => (key, reason),
        other => panic!("{other}"),
    };
    let wait = |milliseconds| std::time::Duration::from_millis(milliseconds);
    for (rule, key, text) in [
        (pass().verdicts([]), "verdicts", "the list is empty"),
        (
            pass().verdicts([Verified]).visitors([Kind::Unlisted]),
            "verdicts",
            "always unverifiable",
        ),
        (
            pass().verdicts([Spoofed]).robots(["unlisted"]),
            "verdicts",
            "always unverifiable",
        ),
        (
            pass().wait(wait(5)),
            "wait_milliseconds",
            "has no condition on verdicts",
        ),
        (
            pass().verdicts([Verified]).wait(wait(0)),
            "wait_milliseconds",
            "1 to 10000",
        ),
        (
            pass().verdicts([Verified]).wait(wait(10_001)),
            "wait_milliseconds",
            "1 to 10000",
        ),
    ] {
        let (found, reason) = of(rule);
        assert_eq!(found, key, "{reason}");
        assert!(reason.contains(text), "{reason}");
    }
    assert!(
        Policy::builder()
            .rule(pass().verdicts([Unverifiable]).visitors([Kind::Unlisted]))
            .build()
            .is_ok()
    );
    let nowhere = Policy::builder()
        .redirect_url("")
        .spoofed(Treatment::Redirect);
    assert_eq!(
        nowhere.build().unwrap_err(),
        PolicyError::NowhereToRedirectSpoofed
    );
}

#[test]
fn a_rule_for_impostors_is_not_shadowed_by_a_rule_for_verified_robots() {
    let policy = build(|policy| {
        policy.rules([
            pass().robots(["googlebot"]),
            refuse().paths(["/x"]).verdicts([Verified]),
            pass().robots(["googlebot"]).verdicts([Spoofed]),
            pass().robots(["googlebot"]).verdicts([Verified]),
            pass().verdicts([Verified, Pending]),
            pass().verdicts([Pending]),
        ])
    });
    let shadowed = policy.shadowed_rules();
    let shadowed: Vec<_> = shadowed
        .map(|(rule, earlier)| (rule.number(), earlier.number()))
        .collect();
    assert_eq!(shadowed, [(4, 1), (6, 5)]);
}

#[test]
fn conditions_are_shown() {
    let wait = std::time::Duration::from_millis(250);
    let policy = build(|policy| {
        let rule = pass().verdicts([Verified, Pending]).wait(wait);
        policy.rule(rule)
    });
    let rule = policy.rules().next().unwrap();
    let shown: Vec<_> = rule.conditions().collect();
    assert_eq!(
        shown,
        ["verdicts verified, pending", "waits 250 ms for the verdict"]
    );
    assert_eq!(rule.wait(), Some(wait));
}

#[test]
fn headers_can_depend_on_the_verdict() {
    let policy = build(|policy| {
        policy.x_robots_tag(TagRule::builder("noindex").verdicts([Spoofed, Unverifiable]))
    });
    let claim = &claim(GOOGLEBOT);
    for &verdict in ALL {
        let tags = policy.tags(&get("/"), Some(Visitor::new(claim, verdict)));
        let expected = [Spoofed, Unverifiable].contains(&verdict);
        assert_eq!(!tags.rules.is_empty(), expected, "{verdict}");
        assert!(tags.depends_on_user_agent);
    }
    assert!(policy.tags(&get("/"), None).rules.is_empty());
}

/// Returns the steps of an explanation, starting with the named step.
fn steps(policy: &Policy, path: &str, verdict: Verdict, from: &str) -> Vec<String> {
    let claim = &claim(GOOGLEBOT);
    let visitor = Some(Visitor::new(claim, verdict));
    let enforcer = Enforcer::new(SharedRobotsFiles::default(), Enforcement::default());
    let explained = enforcer
        .explain_all(policy, &get(path), path, visitor, GOOGLEBOT.as_bytes())
        .evidence(["The address is in no range of \"ranges.json\".".to_owned()]);
    assert_eq!(explained.verdict, Some(verdict));
    assert_eq!(explained.steps[0].name, "verdict");
    assert_eq!(explained.steps[1].name, "evidence");
    let told = explained.to_string();
    let steps = explained.steps.into_iter();
    let steps = steps.skip_while(|step| step.name != from);
    steps.map(|step| step.text).chain([told]).collect()
}

#[test]
fn the_explanation_starts_with_the_verdict_and_its_evidence() {
    let policy = build(|policy| {
        policy
            .allow_robots(["googlebot"])
            .rules([pass().verdicts([Verified]), pass().robots(["googlebot"])])
    });
    assert_eq!(
        steps(&policy, MEMBERS, Spoofed, "verdict"),
        [
            "The claim is spoofed: data published by the robot's operator contradicts the claim.",
            "The address is in no range of \"ranges.json\".",
            "The method \"GET\" is one of the redirected methods GET, HEAD.",
            "The path, read as \"/members-only-stuff/a\", matches the filter pattern /members-only-stuff/*.",
            "On this path, robots are redirected depending on their purpose.",
            "The path is not exempt from redirects.",
            "The path does not belong to robot heaven, /robot-heaven/.",
            "The User-Agent identifies the robot \"googlebot\" by the token \"Googlebot\".",
            "The robot is configured to always pass, but the claim is spoofed.",
            "The claim is spoofed, but spoofed claims are only reported.",
            "Rule 1 does not match: the verdict is spoofed.",
            "Rule 2 does not match: the claim is spoofed, and the rule does not include spoofed claims.",
            "The robot's purpose, search, is one of the redirected purposes.",
            "The response is 302, a redirect to /robot-heaven/.",
            "redirect 302 /robot-heaven/",
        ]
    );
    let default = build(|policy| policy);
    for (verdict, text) in [
        (
            Verified,
            "The claim is verified: the request comes from the claimed robot.",
        ),
        (
            Unverifiable,
            "The claim is unverifiable: no verification method is available.",
        ),
        (
            Pending,
            "The claim is pending: verification is in progress.",
        ),
    ] {
        let steps = steps(&default, "/", verdict, "verdict");
        assert_eq!((&*steps[0], &**steps.last().unwrap()), (text, "pass"));
    }
}

#[test]
fn the_explanation_states_the_treatment_of_impostors() {
    let refuses = build(|policy| policy.spoofed(Treatment::Refuse));
    assert_eq!(
        steps(&refuses, "/", Spoofed, "spoofed"),
        [
            "The claim is spoofed, and impostors are refused.",
            "The response is 403.",
            "refuse 403"
        ]
    );
    let exempt = steps(&refuses, "/robots.txt", Spoofed, "spoofed");
    assert_eq!(
        (&*exempt[0], &**exempt.last().unwrap()),
        (
            "The claim is spoofed, but the path is never refused.",
            "pass"
        )
    );
    let redirects = build(|policy| policy.spoofed(Treatment::Redirect));
    assert_eq!(
        steps(&redirects, MEMBERS, Spoofed, "spoofed"),
        [
            "The claim is spoofed, and impostors are redirected on every filtered path.",
            "The response is 302, a redirect to /robot-heaven/.",
            "redirect 302 /robot-heaven/"
        ]
    );
}

#[test]
fn a_decision_by_verdict_allocates_nothing() {
    let policy = build(|policy| {
        policy.spoofed(Treatment::Refuse).rules([
            pass().verdicts([Spoofed, Pending]),
            refuse().verdicts([Verified]),
        ])
    });
    let claim = &claim(GOOGLEBOT);
    for (verdict, action) in [(Verified, Action::Refuse), (Spoofed, Action::Refuse)] {
        let mut found = Action::Pass;
        let measured = allocation_counter::measure(|| {
            let visitor = Some(Visitor::new(claim, verdict));
            found = policy.decide(&get("/articles/1"), visitor).action();
        });
        assert_eq!((found, measured.count_total), (action, 0));
    }
}
