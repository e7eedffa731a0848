//! Responses to robots that request a path that their rules disallow.

use std::sync::atomic::Ordering;

use robot_detection::policy::{Action, EnforcementMode, Policy, Refusal, ViolatedRule};

use super::site::{EXAMPLEBOT, FILE, FIREFOX, NEWSBOT, Site, UNLISTED, file};
use crate::support::log;

fn strict(text: &str) -> Site {
    Site::new(text, |layer| layer.enforce_robots_txt(EnforcementMode::On))
}

#[tokio::test]
async fn a_disallowed_path_is_refused_with_the_broken_rule() {
    let site = strict(FILE);
    let refused = site.get("/private/a", EXAMPLEBOT).await;
    assert_eq!(refused.status, 403);
    assert_eq!(
        refused.body,
        "This robot does not obey /robots.txt: line 3 of /robots.txt disallows this: \
         Disallow: /private/ (group at line 2).\n"
    );
    assert_eq!(refused.header("vary"), "User-Agent");
    assert_eq!(refused.header("cache-control"), "no-store");
    assert_eq!(refused.header("content-type"), "text/plain; charset=utf-8");
    assert_eq!(refused.header("retry-after"), "");
    let passed = site.get("/public/a", EXAMPLEBOT).await;
    assert_eq!((passed.status, &*passed.body), (200, "the page"));
    assert_eq!(passed.header("vary"), "");
    let robots = &site.layer.stats().robots;
    assert_eq!(robots.get(Action::Refuse).load(Ordering::Relaxed), 1);
    assert_eq!(robots.get(Action::Pass).load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn people_are_never_affected() {
    let site = strict("User-agent: *\nDisallow: /\nCrawl-delay: 100\n");
    for user_agent in [FIREFOX, ""] {
        for path in ["/", "/private/a", "/private/a", "/private/a"] {
            let answer = site.get(path, user_agent).await;
            assert_eq!((answer.status, answer.header("vary")), (200, ""), "{path}");
        }
    }
    assert!(site.violations().rules.is_empty());
    assert_eq!(site.status("/", NEWSBOT).await, 403);
}

#[tokio::test]
async fn each_refusal_has_its_status_and_text() {
    for (refusal, status, retry_after, location) in [
        (Refusal::Pass, 200, "", ""),
        (Refusal::Forbidden, 403, "", ""),
        (Refusal::TooManyRequests, 429, "86400", ""),
        (Refusal::Redirect, 302, "", "/robot-heaven/"),
    ] {
        let site = Site::new(FILE, |layer| {
            let layer = layer.enforce_robots_txt(EnforcementMode::On);
            layer.robots_txt_refusal(refusal)
        });
        let answer = site.get("/private/a", EXAMPLEBOT).await;
        let found = (
            answer.status,
            answer.header("retry-after"),
            answer.header("location"),
        );
        assert_eq!(found, (status, retry_after, location), "{refusal}");
        let violation = &site.violations().rules[0];
        let refused = u64::from(refusal != Refusal::Pass);
        assert_eq!(
            (violation.hits, violation.refused),
            (1, refused),
            "{refusal}"
        );
    }
}

#[tokio::test]
async fn without_a_redirect_url_the_redirect_is_a_403() {
    let site = Site::new(FILE, |layer| {
        let layer = layer
            .redirect_url("")
            .enforce_robots_txt(EnforcementMode::On);
        layer.robots_txt_refusal(Refusal::Redirect)
    });
    assert_eq!(site.status("/private/a", EXAMPLEBOT).await, 403);
}

#[tokio::test]
async fn reporting_is_the_default_and_passes_everything() {
    let site = Site::new(FILE, |layer| layer);
    for _ in 0..3 {
        assert_eq!(site.status("/private/a?b=c", EXAMPLEBOT).await, 200);
    }
    let kept = site.violations();
    assert_eq!(kept.rules.len(), 1);
    let violation = &kept.rules[0];
    assert_eq!((violation.hits, violation.refused), (3, 0));
    assert_eq!(violation.robot, "example-corp");
    assert_eq!(violation.host, "www.example.com");
    assert_eq!(violation.last_path, "/private/a?b=c");
    assert_eq!(violation.last_user_agent, EXAMPLEBOT);
    let expected = ViolatedRule::Rule {
        line: 3,
        rule: "Disallow: /private/".to_owned(),
        group_line: 2,
        group: "ExampleBot".to_owned(),
    };
    assert_eq!(violation.broken, expected);
}

#[tokio::test]
async fn off_checks_nothing_and_settings_change_immediately() {
    let site = Site::new(FILE, |layer| layer.enforce_robots_txt(EnforcementMode::Off));
    assert_eq!(site.status("/private/a", EXAMPLEBOT).await, 200);
    assert!(site.violations().rules.is_empty());
    let strict = site.enforcer.settings().rules(EnforcementMode::On);
    site.enforcer.replace_settings(strict);
    assert_eq!(site.status("/private/a", EXAMPLEBOT).await, 403);
    site.enforcer
        .files()
        .replace(file("User-agent: *\nAllow: /\n").into());
    assert_eq!(site.status("/private/a", EXAMPLEBOT).await, 200);
}

#[tokio::test]
async fn a_refused_head_request_gets_no_body_and_other_methods_count_too() {
    let site = strict(FILE);
    for (method, has_body) in [
        ("HEAD", false),
        ("GET", true),
        ("POST", true),
        ("PUT", true),
    ] {
        let answer = site
            .ask(method, "a.example", "/private/a", EXAMPLEBOT)
            .await;
        assert_eq!(
            (answer.status, !answer.body.is_empty()),
            (403, has_body),
            "{method}"
        );
    }
}

#[tokio::test]
async fn the_query_counts_as_the_robot_wrote_it() {
    let site = strict(FILE);
    for (path, status) in [
        ("/list?sort=price", 403),
        ("/list?page=2", 200),
        ("/list", 200),
        ("/private/open/a", 200),
        ("/%70rivate/a", 403),
        // A path is forbidden if any of its spellings is.
        ("//private/a", 403),
        ("/PRIVATE/a", 200),
    ] {
        assert_eq!(site.status(path, EXAMPLEBOT).await, status, "{path}");
    }
}

#[tokio::test]
async fn paths_that_robots_need_are_never_refused() {
    let site = strict("User-agent: *\nDisallow: /\n");
    for path in [
        "/robots.txt",
        "/robots.txt?x",
        "/%72obots.txt",
        "/sitemap.xml",
        "/.well-known/security.txt",
        "/robot-heaven",
        "/robot-heaven/",
        "/robot-heaven/a?b",
        "/robot-detection/admin/login",
    ] {
        assert_eq!(site.status(path, EXAMPLEBOT).await, 200, "{path}");
    }
    for path in [
        "/",
        "/robots.txt.bak",
        "/robot-heavenly",
        "/robot-heaven/../a",
    ] {
        assert_eq!(site.status(path, EXAMPLEBOT).await, 403, "{path}");
    }
}

#[tokio::test]
async fn a_robot_redirected_to_heaven_can_read_it() {
    let site = strict("User-agent: *\nDisallow: /\n");
    let sent = site.get("/members-only-stuff/a", EXAMPLEBOT).await;
    assert_eq!(sent.status, 302);
    assert_eq!(site.status(sent.header("location"), EXAMPLEBOT).await, 200);
    assert!(site.violations().rules.is_empty());
}

#[tokio::test]
async fn robots_that_always_pass_are_exempt_but_pass_rules_exempt_no_others() {
    use robot_detection::policy::Rule;
    let site = |policy| {
        Site::new("User-agent: *\nDisallow: /\n", |layer| {
            layer
                .policy(|_| policy)
                .enforce_robots_txt(EnforcementMode::On)
        })
    };
    let allowed = site(Policy::builder().allow_robots(["example-corp", "unlisted"]));
    assert_eq!(allowed.status("/a", EXAMPLEBOT).await, 200);
    assert_eq!(allowed.status("/a", UNLISTED).await, 200);
    assert_eq!(allowed.status("/a", NEWSBOT).await, 403);
    let ruled = site(Policy::builder().rule(Rule::builder(Action::Pass).paths(["/a"])));
    assert_eq!(ruled.status("/a", EXAMPLEBOT).await, 403);
}

#[tokio::test]
async fn each_robot_and_rule_is_logged_once() {
    log::keep();
    let site = strict("User-agent: *\nDisallow: /logged-once-only/\n");
    for host in ["a.example", "b.example", "a.example"] {
        site.ask("GET", host, "/logged-once-only/\u{e9}", EXAMPLEBOT)
            .await;
    }
    let lines = log::lines_with("/logged-once-only/");
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].contains("example-corp") && lines[0].contains("line 2"),
        "{lines:?}"
    );
}

#[tokio::test]
async fn a_hostile_rule_is_escaped_and_truncated_in_the_log() {
    let long = "x".repeat(2_000);
    let site = strict(&format!("User-agent: *\nDisallow: /\u{202e}b{long}\n"));
    let answer = site.get(&format!("/%E2%80%AEb{long}"), EXAMPLEBOT).await;
    assert_eq!(answer.status, 403);
    assert!(answer.body.len() < 1_000, "{}", answer.body);
    let is_plain = |c: char| c == '\n' || !c.is_control() && c != '\u{202e}';
    assert!(answer.body.chars().all(is_plain), "{:?}", answer.body);
}
