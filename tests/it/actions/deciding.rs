//! Decisions of a policy with actions and conditions, without a server that enforces them.

use std::time::Duration;

use robot_detection::{
    detect::Detector,
    policy::{
        Action, Decision, Judgement, PassReason, Policy, PolicyBuilder, PolicyError, Request, Rule,
        RuleBuilder, TagRule, Visitor, When,
    },
    registry::{Pattern, PatternKind, Purpose, Robot, Source},
};
use std::sync::{Arc, LazyLock};

static DETECTOR: LazyLock<Detector> = LazyLock::new(|| {
    let robot = |id: &str| {
        let mut robot = Robot::new(id, Source::manual());
        robot.patterns = vec![Pattern::new(PatternKind::Token, id)];
        robot.purpose = Purpose::Search;
        Arc::new(robot)
    };
    Detector::new([robot("AlphaBot"), robot("BetaBot")]).unwrap()
});

const GET: Request<'static> = Request {
    method: "GET",
    host: Some("www.example.com"),
    path: "/a",
    query: None,
};

fn on(path: &str) -> Request<'_> {
    Request { path, ..GET }
}

fn build(rules: impl IntoIterator<Item = RuleBuilder>) -> Policy {
    Policy::builder().rules(rules).build().unwrap()
}

fn rule(action: Action) -> RuleBuilder {
    Rule::builder(action).paths(["/*"])
}

fn slow() -> RuleBuilder {
    rule(Action::Slow).requests(10).per(Duration::from_secs(5))
}

fn judge<'p>(policy: &'p Policy, request: &Request<'_>, user_agent: &str) -> Judgement<'p> {
    let claim = DETECTOR.identify(user_agent.as_bytes());
    policy.judge(request, claim.as_ref().map(Visitor::from))
}

fn word(policy: &Policy, request: &Request<'_>, user_agent: &str) -> &'static str {
    judge(policy, request, user_agent)
        .decision
        .action()
        .as_str()
}

#[test]
fn rules_match_redirectable_methods_unless_the_action_allows_others() {
    for (action, get, post) in [
        (Action::Redirect, "redirect", "pass"),
        (Action::Serve, "serve", "pass"),
        (Action::Refuse, "refuse", "refuse"),
    ] {
        let policy = build([rule(action)]);
        let posted = Request {
            method: "POST",
            ..GET
        };
        assert_eq!(word(&policy, &GET, "AlphaBot"), get);
        assert_eq!(word(&policy, &posted, "AlphaBot"), post);
        let of_post = build([rule(action).methods(["post"])]);
        assert_eq!(word(&of_post, &GET, "AlphaBot"), "pass");
        assert_eq!(word(&of_post, &posted, "AlphaBot"), get);
    }
}

#[test]
fn a_pass_rule_exempts_from_refusals_of_every_method() {
    let policy = build([
        rule(Action::Pass).robots(["AlphaBot"]),
        rule(Action::Refuse),
    ]);
    for method in ["GET", "POST", "PURGE"] {
        let request = Request { method, ..GET };
        assert_eq!(word(&policy, &request, "AlphaBot"), "pass");
        assert_eq!(word(&policy, &request, "BetaBot"), "refuse");
    }
}

#[test]
fn list_and_purpose_apply_only_to_redirectable_methods() {
    let policy = Policy::builder()
        .deny_robots(["AlphaBot"])
        .rule(rule(Action::Refuse).paths(["/x"]))
        .build()
        .unwrap();
    let on = |method| Request {
        method,
        ..on("/members-only-stuff/a")
    };
    for user_agent in ["AlphaBot", "BetaBot"] {
        assert_eq!(word(&policy, &on("GET"), user_agent), "redirect");
        assert_eq!(word(&policy, &on("POST"), user_agent), "pass");
    }
    let causes = ["AlphaBot", "BetaBot"].map(|robot| judge(&policy, &on("GET"), robot).cause());
    assert_eq!(causes, ["deny", "purpose"]);
}

#[test]
fn a_host_is_a_condition_of_rules_and_response_headers() {
    let here = When::new().hosts(["www.example.com"]);
    let policy = Policy::builder()
        .rule(Rule::builder(Action::Refuse).when(here.clone().paths(["/*"])))
        .x_robots_tag(TagRule::builder("noindex").when(here.methods(["GET"])))
        .build()
        .unwrap();
    for (host, word_there, tags) in [
        (Some("www.example.com"), "refuse", 1),
        (Some("WWW.example.com:8080"), "refuse", 1),
        (Some("example.com"), "pass", 0),
        (None, "pass", 0),
    ] {
        let request = Request { host, ..GET };
        assert_eq!(word(&policy, &request, "AlphaBot"), word_there, "{host:?}");
        assert_eq!(policy.tags(&request, None).rules.len(), tags, "{host:?}");
    }
    let posted = Request {
        method: "POST",
        ..GET
    };
    assert!(policy.tags(&posted, None).rules.is_empty());
}

#[test]
fn the_decisive_rule_is_reported() {
    let policy = build([
        slow().name("slowly"),
        rule(Action::Refuse)
            .robots(["AlphaBot"])
            .status(404)
            .text("No."),
        rule(Action::Serve).redirect_url("/for-robots/"),
    ]);
    let alpha = judge(&policy, &GET, "AlphaBot");
    let label = |rule: Option<&Rule>| rule.map(|rule| rule.label().to_owned());
    assert_eq!(label(alpha.slowed_by).as_deref(), Some("rule \"slowly\""));
    assert_eq!(label(alpha.rule).as_deref(), Some("rule 2"));
    let Decision::Refuse(refuse) = alpha.decision else {
        panic!("{alpha:?}");
    };
    assert_eq!((refuse.status, &*refuse.text), (404, "No.\n"));
    let beta = judge(&policy, &GET, "BetaBot");
    assert_eq!(beta.decision, Decision::Serve("/for-robots/"));
    assert!(policy.rules().map(Rule::number).eq(1..=3));
    let person = judge(&policy, &GET, "Firefox");
    assert_eq!(person.decision, Decision::Pass(PassReason::NotARobot));
    let heaven = judge(&policy, &on("/for-robots/x"), "AlphaBot");
    assert_eq!(heaven.decision, Decision::Pass(PassReason::Heaven));
}

#[test]
fn responses_do_not_vary_where_robots_are_only_slowed_down() {
    let policy = build([slow(), rule(Action::Refuse).paths(["/private/*"])]);
    for (path, varies) in [("/a", false), ("/private/a", true), ("/robots.txt", false)] {
        for user_agent in ["AlphaBot", "Firefox"] {
            let judgement = judge(&policy, &on(path), user_agent);
            let found = judgement.decision.depends_on_user_agent();
            assert_eq!(found, varies, "{path} {user_agent}");
            let is_slowed = user_agent == "AlphaBot" && path != "/robots.txt";
            assert_eq!(judgement.slowed_by.is_some(), is_slowed, "{path}");
        }
    }
    assert!(!policy.is_disabled());
}

#[test]
fn an_explanation_includes_pace_and_status() {
    let policy = build([
        slow().burst(3),
        rule(Action::Pass).hosts(["a.example"]),
        rule(Action::Redirect).methods(["PUT"]),
        rule(Action::Refuse).status(451),
    ]);
    let claim = DETECTOR.identify(b"AlphaBot/1");
    let explanation = policy.explain(&GET, claim.as_ref().map(Visitor::from));
    let steps = explanation.steps.iter().map(|step| &*step.text);
    let steps: Vec<_> = steps
        .skip_while(|text| !text.starts_with("Rule 1"))
        .collect();
    assert_eq!(
        steps,
        [
            "Rule 1 matches; its action is slow.",
            "Rule 2 does not match: the host is \"www.example.com\".",
            "Rule 3 does not match: the method is \"GET\".",
            "Rule 4 matches; its action is refuse.",
            "Rate limit: at most 10 requests in 5 s, 3 at once; further requests get 429.",
            "The response is 451.",
        ]
    );
}

#[test]
fn settings_without_effect_are_rejected() {
    let seconds = Duration::from_secs;
    for (rule, key, hint) in [
        (
            rule(Action::Pass).status(403),
            "status",
            "set the action to refuse",
        ),
        (rule(Action::Redirect).text("x"), "text", "refuse or slow"),
        (rule(Action::Refuse).requests(1), "requests", "slow"),
        (
            rule(Action::Refuse).redirect_url("/x/"),
            "redirect_url",
            "redirect or serve",
        ),
        (rule(Action::Serve).burst(1), "burst", "slow"),
        (rule(Action::Serve).per(seconds(1)), "per_seconds", "slow"),
        (
            rule(Action::Serve).redirect_url("https://a.example/"),
            "redirect_url",
            "another site",
        ),
        (
            rule(Action::Refuse).status(200),
            "status",
            "is not allowed for a refusal",
        ),
        (rule(Action::Refuse).text("\u{7}"), "text", "control"),
        (rule(Action::Slow), "requests", "such as requests = 10"),
        (
            rule(Action::Slow).requests(0),
            "requests",
            "such as requests = 10",
        ),
        (slow().per(Duration::ZERO), "per_seconds", "longer than 0"),
        (slow().methods([""; 0]), "methods", "the list is empty"),
        (slow().methods(["a b"]), "methods", "method name"),
        (slow().hosts(["a/b"]), "hosts", "invalid host name"),
    ] {
        let refused = Policy::builder().rule(rule).build().unwrap_err();
        let PolicyError::Rule {
            number: 1,
            key: found,
            reason,
        } = refused
        else {
            panic!("{refused}");
        };
        assert_eq!(found, key, "{reason}");
        assert!(reason.contains(hint), "{reason}");
    }
}

#[test]
fn unreachable_rules_are_detected() {
    let policy = build([
        slow(),
        slow().robots(["AlphaBot"]),
        rule(Action::Refuse).methods(["GET", "POST"]),
        rule(Action::Serve),
        rule(Action::Refuse).methods(["POST"]),
        rule(Action::Pass).hosts(["a.example"]),
    ]);
    let hidden = policy.shadowed_rules();
    let hidden: Vec<_> = hidden
        .map(|(rule, by)| (rule.number(), by.number()))
        .collect();
    assert_eq!(hidden, [(2, 1), (5, 3)]);
}

#[test]
fn rules_without_filter_patterns_or_methods_apply() {
    let bare = |change: fn(PolicyBuilder) -> PolicyBuilder| {
        let policy = Policy::builder().filter_patterns([""]).redirect_url("");
        change(policy).build().unwrap()
    };
    assert!(bare(|policy| policy).is_disabled());
    assert!(!bare(|policy| policy.rule(rule(Action::Refuse))).is_disabled());
    let refuses = bare(|policy| policy.methods([""]).rule(rule(Action::Refuse)));
    assert_eq!(word(&refuses, &GET, "AlphaBot"), "refuse");
    assert!(bare(|policy| policy.rule(Rule::builder(Action::Refuse))).is_disabled());
    assert!(bare(|policy| policy.rule(rule(Action::Pass))).is_disabled());
}

#[test]
fn a_decision_allocates_nothing() {
    let policy = build([
        slow().hosts(["b.example"]),
        slow(),
        rule(Action::Serve).methods(["PUT"]),
        rule(Action::Refuse)
            .hosts(["www.example.com"])
            .robots(["AlphaBot"]),
    ]);
    let claim = DETECTOR.identify(b"AlphaBot/1");
    let mut action = Action::Pass;
    let measured = allocation_counter::measure(|| {
        action = policy
            .judge(&GET, claim.as_ref().map(Visitor::from))
            .decision
            .action();
    });
    assert_eq!((action, measured.count_total), (Action::Refuse, 0));
}
