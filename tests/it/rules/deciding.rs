//! The redirected robots, and the rule that decides.

use proptest::prelude::*;
use robot_detection::{
    detect::Kind,
    policy::{Action, Decision, PassReason, Policy, Request, Rule, RuleBuilder, Visitor},
    registry::{Purpose, Source},
};

use super::universe::{
    ALPHA, BETA, DELTA, EVERYBODY, GAMMA, MEMBERS, PERSON, ask, build, detector, redirected,
};

fn pass() -> RuleBuilder {
    Rule::builder(Action::Pass)
}

fn redirect() -> RuleBuilder {
    Rule::builder(Action::Redirect)
}

/// Tests with default purposes: alpha, beta and gamma are redirected, delta is a library.
macro_rules! rules {
    ($($name:ident: [$($rule:expr),*], $path:expr => $redirected:expr;)*) => {
        $(#[test] fn $name() {
            let policy = build(|policy| policy.rules([$($rule),*]));
            assert_eq!(redirected(&policy, $path), $redirected);
        })*
    };
}

rules! {
    without_rules_the_purpose_decides: [], MEMBERS => "abg";
    a_rule_selects_a_robot_by_id: [pass().robots(["alpha", "gamma"])], MEMBERS => "b";
    blanks_around_an_id_are_ignored: [pass().robots([" alpha "])], MEMBERS => "bg";
    ids_are_case_sensitive: [pass().robots(["Alpha"])], MEMBERS => "abg";
    a_rule_selects_robots_by_purpose: [pass().purposes([Purpose::Search])], MEMBERS => "bg";
    a_tool_that_passes_by_default_can_be_redirected: [redirect().purposes([Purpose::Library])], MEMBERS => "abgd";
    operators_are_case_insensitive: [pass().operators(["acme"])], MEMBERS => "g";
    operators_are_case_insensitive_in_any_script: [pass().operators(["ØTHER"])], MEMBERS => "ab";
    a_robot_without_operator_matches_no_operator: [redirect().operators([" x", "-"])], MEMBERS => "abg";
    a_rule_selects_robots_by_source: [pass().sources([Source::manual(), Source::bundled()])], MEMBERS => "g";
    a_rule_selects_a_source_by_name: [redirect().sources(["list".parse().unwrap()])], MEMBERS => "abgd";
    a_rule_selects_listed_robots: [redirect().visitors([Kind::Listed])], MEMBERS => "abgd";
    a_rule_without_conditions_matches_every_robot: [pass()], MEMBERS => "";
    all_conditions_must_match: [pass().operators(["Acme"]).purposes([Purpose::Search])], MEMBERS => "bg";
    contradictory_conditions_match_no_robot: [pass().robots(["alpha"]).purposes([Purpose::Seo])], MEMBERS => "abg";
    first_rule_that_matches_decides: [pass().robots(["alpha"]), redirect().operators(["Acme"]), pass()], MEMBERS => "b";
    order_matters: [redirect().operators(["Acme"]), pass().robots(["alpha"]), pass()], MEMBERS => "ab";
    a_rules_own_path_is_filtered: [redirect().paths(["/prices/*"])], "/prices/1" => "abgd";
    a_rules_own_path_does_not_affect_the_patterns: [redirect().paths(["/prices/*"])], MEMBERS => "abg";
    a_rules_own_path_applies_only_to_its_robots: [redirect().paths(["/prices/*"]).robots(["gamma"])], "/prices/1" => "g";
    a_rules_own_path_is_decoded_like_others: [redirect().paths(["/prices/*"])], "/x/..//pr%69ces/1?a" => "abgd";
    a_rule_may_list_several_paths: [redirect().paths(["/x, /prices/*"])], "/prices/1" => "abgd";
    the_default_path_is_the_filter_patterns: [redirect()], "/prices/1" => "";
    part_of_a_filtered_path_is_exempt: [pass().paths(["/members-only-stuff/public/*"])], "/members-only-stuff/public/a" => "";
    the_rest_of_the_path_stays_filtered: [pass().paths(["/members-only-stuff/public/*"])], MEMBERS => "abg";
    exempt_paths_stay_exempt: [redirect().paths(["*"])], "/robots.txt" => "";
    heaven_stays_open: [redirect().paths(["*"])], "/robot-heaven/a" => "";
    a_rules_own_heaven_is_open_to_all_rules:
        [redirect().paths(["/a*"]).redirect_url("/b/"), redirect().paths(["/*"]).redirect_url("/c/")], "/b/x" => "";
}

#[test]
fn a_rule_redirects_robots_to_its_target() {
    let policy = build(|policy| {
        policy.rules([
            redirect().robots(["alpha"]).redirect_url("/other-heaven/"),
            redirect()
                .robots(["beta"])
                .redirect_url("https://robots.example/"),
            redirect().robots(["delta"]),
        ])
    });
    for (user_agent, location) in [
        (ALPHA, "/other-heaven/"),
        (BETA, "https://robots.example/"),
        (GAMMA, "/robot-heaven/"),
        (DELTA, "/robot-heaven/"),
    ] {
        assert_eq!(ask(&policy, MEMBERS, user_agent).unwrap(), location);
    }
    let locations: Vec<_> = policy.redirects().map(|to| to.location.as_str()).collect();
    assert_eq!(
        locations,
        [
            "/robot-heaven/",
            "/other-heaven/",
            "https://robots.example/"
        ]
    );
}

#[test]
fn allow_precedes_deny_and_deny_precedes_rules() {
    let policy = build(|policy| {
        policy
            .allow_robots(["alpha", "beta"])
            .deny_robots(["beta", "gamma", "delta"])
            .rules([pass().robots(["gamma"]), redirect().robots(["alpha"])])
    });
    assert_eq!(ask(&policy, MEMBERS, ALPHA), Err(PassReason::Allowed));
    assert_eq!(ask(&policy, MEMBERS, BETA), Err(PassReason::Allowed));
    assert_eq!(redirected(&policy, MEMBERS), "gd");
    assert_eq!(redirected(&policy, "/elsewhere"), "");
}

#[test]
fn reasons_name_the_deciding_setting() {
    let policy = build(|policy| {
        policy.rules([
            pass().robots(["alpha"]),
            redirect().paths(["/prices/*"]).robots(["beta"]),
        ])
    });
    for (path, user_agent, reason) in [
        (MEMBERS, ALPHA, PassReason::Rule),
        (MEMBERS, DELTA, PassReason::Purpose),
        (MEMBERS, PERSON, PassReason::NotARobot),
        ("/prices/1", GAMMA, PassReason::NoRule),
        ("/prices/1", PERSON, PassReason::NotARobot),
        ("/elsewhere", BETA, PassReason::PathNotFiltered),
        ("/robot-heaven/", BETA, PassReason::PathNotFiltered),
    ] {
        assert_eq!(ask(&policy, path, user_agent), Err(reason), "{path}");
    }
}

#[test]
fn ten_thousand_ids_cost_no_more_than_one() {
    let ids = (0..10_000).map(|number| format!("robot{number}"));
    let ids: Vec<_> = ids.chain(["gamma".to_owned()]).collect();
    let policy = build(|policy| policy.rule(pass().robots(&ids)));
    assert_eq!(redirected(&policy, MEMBERS), "ab");
    let rule = policy.rules().next().unwrap();
    let shown: Vec<_> = rule.conditions().collect();
    assert_eq!(shown.len(), 1);
    assert!(shown[0].ends_with(" and 9993 more"), "{shown:?}");
}

#[test]
fn a_decision_about_a_robot_allocates_nothing() {
    let policy = build(|policy| {
        policy
            .allow_robots(["nobody"])
            .deny_robots(["nobody-else"])
            .rules([
                pass().robots(["x", "y"]).paths(["/members-only-stuff/*"]),
                pass().operators(["Ünknown", "Other", "Ø"]),
                pass().sources([Source::manual()]),
                redirect()
                    .purposes([Purpose::Search])
                    .visitors([Kind::Listed]),
            ])
    });
    let detector = detector();
    let claim = detector.identify(ALPHA.as_bytes());
    let request = Request {
        method: "GET",
        host: None,
        path: MEMBERS,
        query: None,
    };
    let mut is_redirect = false;
    let measured = allocation_counter::measure(|| {
        let decision = policy.decide(&request, claim.as_ref().map(Visitor::from));
        is_redirect = matches!(decision, Decision::Redirect(_));
    });
    assert!(is_redirect);
    assert_eq!(measured.count_total, 0);
}

#[test]
fn a_rule_that_passes_all_needs_no_vary() {
    let policy = build(|policy| {
        policy.rules([
            pass().paths(["/members-only-stuff/public/*"]),
            redirect().paths(["/prices/*"]).robots(["beta"]),
        ])
    });
    for (path, varies) in [
        ("/members-only-stuff/public/a", false),
        (MEMBERS, true),
        ("/prices/1", true),
        ("/elsewhere", false),
    ] {
        let request = Request {
            method: "GET",
            host: None,
            path,
            query: None,
        };
        assert_eq!(
            policy.decide(&request, None).depends_on_user_agent(),
            varies,
            "{path}"
        );
    }
}

#[test]
fn the_explanation_lists_each_evaluated_rule() {
    let policy = build(|policy| {
        policy.deny_robots(["x"]).rules([
            pass()
                .name("partners may read")
                .robots(["alpha"])
                .origin("f.toml:3"),
            pass().operators(["Other"]),
            pass().purposes([Purpose::Search]),
            pass().paths(["/x/*"]),
            redirect()
                .sources([Source::manual()])
                .redirect_url("/other/"),
            pass(),
        ])
    });
    let detector = detector();
    let claim = detector.identify(BETA.as_bytes());
    let request = Request {
        method: "GET",
        host: None,
        path: MEMBERS,
        query: None,
    };
    let explanation = policy.explain(&request, claim.as_ref().map(Visitor::from));
    let steps: Vec<_> = explanation
        .steps
        .iter()
        .skip_while(|step| step.name != "deny")
        .map(|step| step.text.as_str())
        .collect();
    assert_eq!(
        steps,
        [
            "The robot is not configured to be redirected on every filtered path.",
            "Rule \"partners may read\" (f.toml:3) does not match: the robot is \"beta\".",
            "Rule 2 does not match: the operator is \"ACME\".",
            "Rule 3 does not match: the purpose is ai-training.",
            "Rule 4 does not match: the rule's paths do not match.",
            "Rule 5 matches; its action is redirect.",
            "The response is 302, a redirect to /other/.",
        ]
    );
}

#[derive(Clone, Debug)]
struct RuleSpec {
    pass: bool,
    path: Option<&'static str>,
    robots: Option<Vec<&'static str>>,
    purposes: Option<Vec<Purpose>>,
    operator: Option<&'static str>,
    source: Option<Source>,
    url: Option<&'static str>,
}

impl RuleSpec {
    fn rule(&self) -> RuleBuilder {
        let mut rule = if self.pass { pass() } else { redirect() };
        if let Some(path) = self.path {
            rule = rule.paths([path]);
        }
        if let Some(robots) = &self.robots {
            rule = rule.robots(robots);
        }
        if let Some(purposes) = &self.purposes {
            rule = rule.purposes(purposes.clone());
        }
        if let Some(operator) = self.operator {
            rule = rule.operators([operator]);
        }
        if let Some(source) = &self.source {
            rule = rule.sources([source.clone()]);
        }
        match self.url {
            Some(url) if !self.pass => rule.redirect_url(url),
            _ => rule,
        }
    }
}

fn wanted() -> impl Strategy<Value = RuleSpec> {
    let id = prop_oneof![
        Just("alpha"),
        Just("beta"),
        Just("unlisted"),
        Just("nobody")
    ];
    let purpose = prop_oneof![
        Just(Purpose::Search),
        Just(Purpose::Seo),
        Just(Purpose::Library)
    ];
    (
        any::<bool>(),
        proptest::option::of(prop_oneof![
            Just("/m/*"),
            Just("/p/*"),
            Just("*"),
            Just("/h/?")
        ]),
        proptest::option::of(proptest::collection::vec(id, 1..3)),
        proptest::option::of(proptest::collection::vec(purpose, 1..3)),
        proptest::option::of(prop_oneof![Just("acme"), Just("nobody")]),
        proptest::option::of(prop_oneof![Just(Source::manual()), Just(Source::bundled())]),
        proptest::option::of(prop_oneof![Just("/p/h/"), Just("/g/"), Just("/m/h")]),
    )
        .prop_map(
            |(pass, path, robots, purposes, operator, source, url)| RuleSpec {
                pass,
                path,
                robots,
                purposes,
                operator,
                source,
                url,
            },
        )
}

/// Returns a policy with some rules; `None` if they are rejected.
fn some_policy(rules: &[RuleSpec], lists: u8, pattern: &str) -> Option<Policy> {
    let denied = if lists & 1 == 0 {
        vec![]
    } else {
        vec!["delta", "beta"]
    };
    let allowed = if lists & 2 == 0 { vec![] } else { vec!["beta"] };
    Policy::builder()
        .filter_patterns([pattern])
        .deny_robots(denied)
        .allow_robots(allowed)
        .never("/p/never")
        .rules(rules.iter().map(RuleSpec::rule))
        .build()
        .ok()
}

fn some_path() -> impl Strategy<Value = String> {
    prop_oneof![
        "(/(m|p|h|g|a|robot-heaven|never|\\.\\.|%6d)){0,4}/?",
        "/(m|p|h|g)/[a-h]/?",
    ]
}

proptest! {
    #[test]
    fn explanation_vary_and_loop_protection_are_right_for_any_rules(
        rules in proptest::collection::vec(wanted(), 0..5),
        lists in 0..4_u8,
        pattern in prop_oneof![Just("/m/*"), Just("*"), Just("")],
        path in some_path(),
    ) {
        let policy = some_policy(&rules, lists, pattern);
        prop_assume!(policy.is_some());
        let policy = policy.unwrap();
        let detector = detector();
        let request = Request { method: "GET", host: None, path: &path, query: None };
        let mut decisions = Vec::new();
        for user_agent in EVERYBODY {
            let claim = detector.identify(user_agent.as_bytes());
            let decision = policy.decide(&request, claim.as_ref().map(Visitor::from));
            let explanation = policy.explain(&request, claim.as_ref().map(Visitor::from));
            prop_assert_eq!(explanation.decision, decision);
            prop_assert!(explanation.steps.iter().all(|step| step.text.ends_with('.')));
            if let Decision::Redirect(redirect) = decision {
                prop_assert_ne!(user_agent, PERSON);
                let location = &redirect.location;
                let there = Request { path: location, ..request };
                for user_agent in EVERYBODY {
                    let claim = detector.identify(user_agent.as_bytes());
                    let again = policy.decide(&there, claim.as_ref().map(Visitor::from));
                    prop_assert!(matches!(again, Decision::Pass(_)), "{:?}", again);
                }
            }
            decisions.push(decision);
        }
        if decisions.iter().any(|decision| matches!(decision, Decision::Redirect(_))) {
            prop_assert!(decisions.iter().all(Decision::depends_on_user_agent), "{decisions:?}");
            prop_assert!(!policy.is_disabled());
        }
    }

    #[test]
    fn the_old_parameters_are_a_short_form_of_the_last_rule(
        rules in proptest::collection::vec(wanted(), 0..4),
        lists in 0..4_u8,
        path in some_path(),
    ) {
        let short = some_policy(&rules, lists, "/m/*");
        prop_assume!(short.is_some());
        let short = short.unwrap();
        let purposes: Vec<_> = short.purposes().collect();
        let long = Policy::builder()
            .filter_patterns(["/m/*"])
            .deny_robots(if lists & 1 == 0 { vec![] } else { vec!["delta", "beta"] })
            .allow_robots(if lists & 2 == 0 { vec![] } else { vec!["beta"] })
            .never("/p/never")
            .purposes([])
            .rules(rules.iter().map(RuleSpec::rule))
            .rule(redirect().paths(["/m/*"]).purposes(purposes).redirect_url("/robot-heaven/"))
            .build()
            .unwrap();
        for user_agent in EVERYBODY {
            prop_assert_eq!(
                ask(&short, &path, user_agent).ok(),
                ask(&long, &path, user_agent).ok(),
                "{}", user_agent
            );
        }
    }
}
