//! The policy as an application uses it: from settings to decisions and reasons.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of a test cannot do fails the test"
)]

use std::sync::Arc;

use proptest::prelude::*;
use robot_detection::{
    detect::Detector,
    policy::{
        Decision, PassReason, Policy, PolicyBuilder, PolicyError, Request, SharedPolicy, Visitor,
    },
    registry::{Pattern, PatternKind, Purpose, Robot, Source},
};

const GOOGLEBOT: &str = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

fn robot(id: &str, token: &str, purpose: Purpose) -> Arc<Robot> {
    let mut robot = Robot::new(id, Source::manual());
    robot.patterns = vec![Pattern::new(PatternKind::Token, token)];
    robot.purpose = purpose;
    Arc::new(robot)
}

fn detector() -> Detector {
    Detector::new([
        robot("googlebot", "Googlebot", Purpose::Search),
        robot("mystery", "MysteryMachine", Purpose::Unknown),
        robot("curl", "curl", Purpose::Library),
        robot("headless", "HeadlessChrome", Purpose::Automation),
        robot("pingdom", "Pingdom.com_bot", Purpose::Monitoring),
        robot("slackbot", "Slackbot-LinkExpanding", Purpose::Preview),
    ])
    .unwrap()
}

/// Returns the decision for a request of Googlebot.
fn decide<'p>(policy: &'p Policy, method: &str, host: Option<&str>, path: &str) -> Decision<'p> {
    let detector = detector();
    let claim = detector.identify(GOOGLEBOT.as_bytes());
    assert!(claim.is_some());
    policy.decide(
        &Request {
            method,
            host,
            path,
            query: None,
        },
        claim.as_ref().map(Visitor::from),
    )
}

fn pass_reason(policy: &Policy, path: &str) -> Option<PassReason> {
    match decide(policy, "GET", None, path) {
        Decision::Pass(reason) => Some(reason),
        _ => None,
    }
}

fn build(change: impl FnOnce(PolicyBuilder) -> PolicyBuilder) -> Policy {
    change(Policy::builder()).build().unwrap()
}

macro_rules! paths {
    ($($name:ident: $pattern:expr, $path:expr => $is_redirected:expr;)*) => {
        $(#[test] fn $name() {
            let policy = build(|policy| policy.filter_patterns([$pattern]));
            assert_eq!(pass_reason(&policy, $path).is_none(), $is_redirected);
        })*
    };
}

mod paths {
    use super::*;

    const DEFAULT: &str = "/members-only-stuff/*";

    paths! {
        page_below_is_filtered: DEFAULT, "/members-only-stuff/reports/" => true;
        directory_itself_is_filtered: DEFAULT, "/members-only-stuff/" => true;
        directory_without_its_slash_is_not: DEFAULT, "/members-only-stuff" => false;
        directory_without_its_slash_needs_a_pattern: "/members-only-stuff*", "/members-only-stuff" => true;
        both_spellings_in_a_list: "/members-only-stuff,/members-only-stuff/*", "/members-only-stuff" => true;
        longer_name_is_another: DEFAULT, "/members-only-stuffing/a" => false;
        escaped_letter_is_the_letter: DEFAULT, "/%6dembers-only-stuff/a" => true;
        escaped_slash_is_a_slash: DEFAULT, "/members-only-stuff%2Fa" => true;
        doubled_slash_is_one: DEFAULT, "//members-only-stuff/a" => true;
        doubled_slash_inside_is_one: DEFAULT, "/members-only-stuff//a" => true;
        dot_segment_is_nothing: DEFAULT, "/./members-only-stuff/a" => true;
        dots_may_lead_in: DEFAULT, "/public/../members-only-stuff/a" => true;
        dots_may_lead_out: DEFAULT, "/members-only-stuff/../x" => false;
        escaped_dots_may_lead_out: DEFAULT, "/members-only-stuff/%2e%2e/x" => false;
        dots_escaped_twice_stay: DEFAULT, "/members-only-stuff/%252e%252e/x" => true;
        escape_that_is_none_stays: DEFAULT, "/members-only-stuff/%zz" => true;
        nul_is_a_byte: DEFAULT, "/members-only-stuff/%00" => true;
        nul_ends_no_name: DEFAULT, "/members-only-stuff%00/a" => false;
        backslash_is_no_slash: DEFAULT, "/members-only-stuff\\a" => false;
        escaped_backslash_is_no_slash: DEFAULT, "/members-only-stuff%5Ca" => false;
        case_matters: DEFAULT, "/Members-Only-Stuff/a" => false;
        parameters_belong_to_the_name: DEFAULT, "/members-only-stuff;v=1/a" => false;
        parameters_below_do_not_matter: DEFAULT, "/members-only-stuff/a;v=1" => true;
        dot_at_the_end_belongs_to_the_name: DEFAULT, "/members-only-stuff./a" => false;
        bytes_that_are_not_utf8_are_any: DEFAULT, "/members-only-stuff/%ff%fe" => true;
        absolute_form_counts_with_its_path: DEFAULT, "http://example.com/members-only-stuff/a" => true;
        query_does_not_count: DEFAULT, "/members-only-stuff/a?b=../../c" => true;
        query_is_not_searched: DEFAULT, "/?a=/members-only-stuff/a" => false;
        asterisk_is_no_path: "*", "*" => false;
        star_filters_the_whole_site: "*", "/any/thing" => true;
        item_behind_blanks: " /a/* ,, /b/* ,", "/b/x" => true;
        empty_item_matches_nothing: ",/a/*,", "/" => false;
        question_mark_is_one_character: "/year-????/*", "/year-2024/a" => true;
        set_is_one_of: "/[mM]embers/*", "/Members/a" => true;
        escaped_star_is_a_star: "/a\\*", "/ab" => false;
        robots_txt_is_never_redirected: "*", "/robots.txt" => false;
        escaped_robots_txt_is_never_redirected: "*", "//%72obots.txt" => false;
        sitemap_is_never_redirected: "*", "/sitemap_index.xml" => false;
        compressed_sitemap_is_never_redirected: "*", "/sitemap-3.xml.gz" => false;
        well_known_is_never_redirected: "*", "/.well-known/acme-challenge/a" => false;
        favicon_is_never_redirected: "*", "/favicon.ico" => false;
        robots_txt_elsewhere_is_a_page: "*", "/a/robots.txt" => true;
        heaven_is_never_redirected: "*", "/robot-heaven/a/b?c" => false;
        heaven_without_slash_is_never_redirected: "*", "/robot-heaven" => false;
        heavenly_is_not_heaven: "*", "/robot-heavenly" => true;
        dots_out_of_heaven_are_not_heaven: "*", "/robot-heaven/../a" => true;
    }
}

#[test]
fn defaults_equal_those_of_the_original_package() {
    let policy = build(|policy| policy);
    let redirect = policy.redirect().unwrap();
    assert_eq!(redirect.status, 302);
    assert_eq!(redirect.location, "/robot-heaven/");
    assert!(policy.filter_patterns().eq(["/members-only-stuff/*"]));
    assert!(policy.methods().eq(["GET", "HEAD"]));
    assert!(!policy.is_disabled());
    let people_s_tools = [
        Purpose::Library,
        Purpose::Automation,
        Purpose::Monitoring,
        Purpose::Preview,
    ];
    for purpose in Purpose::ROBOTS {
        let is_redirected = policy.purposes().any(|redirected| redirected == *purpose);
        assert_eq!(
            is_redirected,
            !people_s_tools.contains(purpose),
            "{purpose}"
        );
    }
}

#[test]
fn patterns_are_listed_as_written() {
    let policy = build(|policy| policy.filter_patterns(["/a/*, /b\\,c ,", "", " /d%20e/* "]));
    assert!(policy.filter_patterns().eq(["/a/*", "/b\\,c", "/d%20e/*"]));
}

#[test]
fn get_and_head_are_redirected_and_other_methods_only_on_request() {
    let policy = build(|policy| policy);
    for (method, is_redirected) in [
        ("GET", true),
        ("HEAD", true),
        ("POST", false),
        ("PUT", false),
        ("DELETE", false),
        ("OPTIONS", false),
        ("get", false),
        ("", false),
    ] {
        let decision = decide(&policy, method, None, "/members-only-stuff/a");
        assert_eq!(
            matches!(decision, Decision::Redirect(_)),
            is_redirected,
            "{method}"
        );
    }
    let policy = build(|policy| policy.methods(["post", " ", "Get"]));
    assert!(policy.methods().eq(["POST", "GET"]));
    let decision = decide(&policy, "POST", None, "/members-only-stuff/a");
    assert!(matches!(decision, Decision::Redirect(_)));
}

#[test]
fn robots_used_as_peoples_tools_pass() {
    let policy = build(|policy| policy);
    let detector = detector();
    let request = Request {
        method: "GET",
        host: None,
        path: "/members-only-stuff/a",
        query: None,
    };
    let decide = |user_agent: &str| {
        let claim = detector.identify(user_agent.as_bytes());
        policy.decide(&request, claim.as_ref().map(Visitor::from))
    };
    for user_agent in [
        "curl/8.5.0",
        "Mozilla/5.0 HeadlessChrome/120.0",
        "Pingdom.com_bot_version_1.4",
        "Slackbot-LinkExpanding 1.0",
    ] {
        assert_eq!(
            decide(user_agent),
            Decision::Pass(PassReason::Purpose),
            "{user_agent}"
        );
    }
    assert!(matches!(decide("MysteryMachine/1"), Decision::Redirect(_)));
    assert_eq!(decide(FIREFOX), Decision::Pass(PassReason::NotARobot));
}

#[test]
fn purposes_are_configurable() {
    let policy = build(|policy| policy.purposes([Purpose::AiTraining]));
    assert_eq!(
        pass_reason(&policy, "/members-only-stuff/a"),
        Some(PassReason::Purpose)
    );
}

#[test]
fn nothing_is_filtered_without_patterns_url_methods_or_purposes() {
    for policy in [
        build(|policy| policy.filter_patterns([""; 0])),
        build(|policy| policy.filter_patterns([" , ,"])),
        build(|policy| policy.redirect_url("")),
        build(|policy| policy.redirect_url("  ")),
        build(|policy| policy.methods([""; 0])),
        build(|policy| policy.purposes([])),
    ] {
        assert!(policy.is_disabled());
        assert_eq!(
            pass_reason(&policy, "/members-only-stuff/a"),
            Some(PassReason::NothingFiltered)
        );
    }
}

#[test]
fn heaven_under_a_filter_pattern_causes_no_loop() {
    let policy = build(|policy| policy.redirect_url("/members-only-stuff/for-robots/"));
    assert_eq!(pass_reason(&policy, "/members-only-stuff/a"), None);
    assert_eq!(
        pass_reason(&policy, "/members-only-stuff/for-robots/a"),
        Some(PassReason::Heaven)
    );
}

#[test]
fn a_heaven_that_covers_all_filtered_paths_is_rejected() {
    for (pattern, url) in [
        ("/members-only-stuff/*", "/members-only-stuff/"),
        ("/a/b/*,/a/c/*", "/a"),
    ] {
        let refused = Policy::builder()
            .filter_patterns([pattern])
            .redirect_url(url)
            .build()
            .unwrap_err();
        assert!(matches!(refused, PolicyError::RedirectUrl { .. }));
        assert!(refused.to_string().contains("use another URL"), "{refused}");
    }
    for (pattern, url) in [
        ("/a/*,/b/*", "/a/"),
        ("/a*", "/a/"),
        ("*", "/a/"),
        ("/*", "/"),
        ("/a/*", "https://a.example/a/"),
    ] {
        assert!(
            Policy::builder()
                .filter_patterns([pattern])
                .redirect_url(url)
                .build()
                .is_ok(),
            "{pattern} {url}"
        );
    }
}

#[test]
fn absolute_heaven_applies_on_its_own_host() {
    let policy = build(|policy| {
        policy
            .filter_patterns(["*"])
            .redirect_url("https://robots.example/heaven/")
    });
    for (host, is_heaven) in [
        (Some("robots.example"), true),
        (Some("ROBOTS.example.:443"), true),
        (Some("robots.example:8443"), false),
        (Some("www.example"), false),
        (Some("robots.example.evil.example"), false),
        (None, true),
    ] {
        let decision = decide(&policy, "GET", host, "/heaven/a");
        assert_eq!(
            decision == Decision::Pass(PassReason::Heaven),
            is_heaven,
            "{host:?}"
        );
    }
}

#[test]
fn absolute_heaven_on_its_own_host_works_behind_any_proxy() {
    let policy = build(|policy| {
        policy
            .filter_patterns(["*"])
            .redirect_url("https://www.example/heaven/")
            .own_hosts(["WWW.example"])
    });
    for host in [Some("127.0.0.1:3000"), Some("www.example"), None] {
        let decision = decide(&policy, "GET", host, "/heaven/");
        assert_eq!(decision, Decision::Pass(PassReason::Heaven), "{host:?}");
    }
}

#[test]
fn exempted_path_passes_with_everything_below() {
    let policy = build(|policy| {
        policy
            .filter_patterns(["*"])
            .never("/robot-detection/admin")
            .never("/status")
    });
    for path in [
        "/robot-detection/admin",
        "/robot-detection/admin/",
        "/robot-detection/admin/api/v1/robots",
        "/status",
    ] {
        assert_eq!(
            pass_reason(&policy, path),
            Some(PassReason::NeverFiltered),
            "{path}"
        );
    }
    assert_eq!(
        pass_reason(&policy, "/robot-detection/administration"),
        None
    );
    assert_eq!(pass_reason(&policy, "/robot-detection/admin/../a"), None);
}

#[test]
fn each_redirect_status_can_be_configured() {
    for status in [301, 302, 303, 307, 308] {
        let policy = build(|policy| policy.status(status));
        assert_eq!(policy.redirect().unwrap().status, status);
    }
    for status in [0, 200, 300, 304, 305, 306, 400, 1000] {
        let refused = Policy::builder().status(status).build();
        assert_eq!(refused.unwrap_err(), PolicyError::Status(status));
    }
}

#[test]
fn invalid_settings_are_rejected_with_a_correction() {
    for (builder, text) in [
        (
            Policy::builder().filter_patterns(["/a/*, b/*"]),
            r#"filter pattern "b/*": the pattern starts with neither / nor *"#,
        ),
        (
            Policy::builder().filter_patterns(["/a[b"]),
            r#"filter pattern "/a[b": the [ has no matching ]; write \["#,
        ),
        (
            Policy::builder().filter_patterns(vec!["/a"; 257]),
            "more than 256 patterns",
        ),
        (
            Policy::builder().redirect_url("//evil.example/"),
            r#"redirect URL "//evil.example/": two leading slashes"#,
        ),
        (
            Policy::builder().redirect_url("javascript:alert(1)"),
            "neither a path nor an http or https URL",
        ),
        (
            Policy::builder().methods(["GET, HEAD"]),
            r#"method "GET, HEAD" is not"#,
        ),
        (Policy::builder().never("admin"), "write the full path"),
        (Policy::builder().never("/"), "the whole site"),
        (
            Policy::builder().never("/a/../b"),
            "write the resulting path",
        ),
        (
            Policy::builder().own_hosts(["https://a.example"]),
            r#"host "https://a.example" of this site: invalid host name"#,
        ),
    ] {
        let refused = builder.build().unwrap_err().to_string();
        assert!(refused.contains(text), "{refused}");
    }
}

#[test]
fn explanation_ends_with_the_decisive_step() {
    let policy = build(|policy| policy.filter_patterns(["/m/*"]));
    let detector = detector();
    let explain = |method, path, user_agent: &str| {
        let claim = detector.identify(user_agent.as_bytes());
        let request = Request {
            method,
            host: None,
            path,
            query: None,
        };
        let explanation = policy.explain(&request, claim.as_ref().map(Visitor::from));
        let names: Vec<_> = explanation.steps.iter().map(|step| step.name).collect();
        let last = explanation.steps.last().unwrap().text.clone();
        (names, last)
    };
    let (names, last) = explain("GET", "/m/%61", GOOGLEBOT);
    assert_eq!(
        names,
        [
            "method", "path", "never", "heaven", "robot", "purpose", "redirect"
        ]
    );
    assert!(last.contains("302, a redirect to /robot-heaven/"), "{last}");
    let (names, last) = explain("POST", "/m/a", GOOGLEBOT);
    assert_eq!(names, ["method"]);
    assert!(last.contains("\"POST\" is not"), "{last}");
    let (names, last) = explain("GET", "/a%0a/../b", GOOGLEBOT);
    assert_eq!(names, ["method", "path"]);
    assert!(last.contains("read as \"/b\""), "{last}");
    let (_, last) = explain("GET", "/m/a", FIREFOX);
    assert!(last.contains("does not belong to a known robot"), "{last}");
    let (_, last) = explain("GET", "/m/a", "curl/8.0");
    assert!(last.contains("library, is not"), "{last}");
    let (_, last) = explain("GET", &format!("/{}", "a".repeat(10_000)), FIREFOX);
    assert!(last.len() < 400, "{last}");
}

#[test]
fn disabled_policy_names_the_missing_setting() {
    let policy = build(|policy| policy.redirect_url(""));
    let request = Request {
        method: "GET",
        host: None,
        path: "/",
        query: None,
    };
    let explanation = policy.explain(&request, None);
    assert_eq!(explanation.steps.len(), 1);
    assert_eq!(explanation.steps[0].name, "settings");
    assert!(explanation.steps[0].text.contains("no redirect URL"));
}

#[test]
fn another_policy_applies_immediately() {
    let shared = SharedPolicy::new(build(|policy| policy));
    let clone = shared.clone();
    let under_way = shared.load();
    clone.replace(build(|policy| policy.redirect_url("/elsewhere/")));
    assert_eq!(under_way.redirect().unwrap().location, "/robot-heaven/");
    assert_eq!(shared.load().redirect().unwrap().location, "/elsewhere/");
}

proptest! {
    #[test]
    fn explanation_agrees_with_the_decision(
        method in prop_oneof!["GET", "HEAD", "POST", ".{0,4}"],
        host in proptest::option::of(prop_oneof!["a\\.example", "b\\.example:[0-9]{1,5}", ".{0,8}"]),
        path in prop_oneof![
            "(/(m|h|robot-heaven|\\.|\\.\\.|%2e%2E|%6d|robots\\.txt|never)){0,5}/?",
            ".{0,20}",
        ],
        user_agent in prop_oneof![Just(GOOGLEBOT), Just(FIREFOX), Just("curl/8")],
        pattern in prop_oneof![Just("/m/*"), Just("*"), Just("/?/[!a]*"), Just("")],
        url in prop_oneof![Just("/h/"), Just("https://a.example/h"), Just("/m/h/"), Just("")],
    ) {
        let policy = build(|policy| {
            policy.filter_patterns([pattern]).redirect_url(url).never("/never")
        });
        let detector = detector();
        let claim = detector.identify(user_agent.as_bytes());
        let request = Request { method: &method, host: host.as_deref(), path: &path, query: None };
        let decision = policy.decide(&request, claim.as_ref().map(Visitor::from));
        let explanation = policy.explain(&request, claim.as_ref().map(Visitor::from));
        prop_assert_eq!(explanation.decision, decision);
        prop_assert!(!explanation.steps.is_empty());
        prop_assert!(explanation.steps.iter().all(|step| step.text.ends_with('.')));
        let ends_in_redirect = explanation.steps.last().map(|step| step.name) == Some("redirect");
        prop_assert_eq!(ends_in_redirect, matches!(decision, Decision::Redirect(_)));
    }

    #[test]
    fn redirect_never_leads_to_another_redirect(
        path in "(/(m|h|a|\\.\\.|%2e|%6d)){0,5}/?",
        pattern in prop_oneof![Just("/m/*"), Just("*"), Just("/?/*")],
        url in prop_oneof![
            Just("/h/"), Just("/m/h"), Just("/"), Just("/m/a.html?b=c"), Just("/%6d/h"), Just("/é/"),
        ],
    ) {
        let policy = build(|policy| policy.filter_patterns([pattern]).redirect_url(url));
        if let Decision::Redirect(redirect) = decide(&policy, "GET", None, &path) {
            let again = decide(&policy, "GET", None, &redirect.location);
            prop_assert!(matches!(again, Decision::Pass(_)), "{:?}", again);
        }
    }

    #[test]
    fn any_settings_are_parsed_or_rejected(
        pattern in ".{0,30}",
        url in prop_oneof![".{0,30}", "https?://.{0,20}", "/.{0,20}"],
        method in ".{0,5}",
        never in "/?.{0,10}",
        host in ".{0,10}",
    ) {
        let built = Policy::builder()
            .filter_patterns([pattern])
            .redirect_url(url)
            .methods([method])
            .never(never)
            .own_hosts([host])
            .build();
        if let Some(redirect) = built.as_ref().ok().and_then(Policy::redirect) {
            let location = &redirect.location;
            prop_assert!(location.bytes().all(|byte| byte.is_ascii_graphic()));
            let is_path = location.starts_with('/') && !location.starts_with("//");
            prop_assert!(
                is_path || location.starts_with("http://") || location.starts_with("https://")
            );
            prop_assert!(!location.contains('\\'));
        }
    }
}
