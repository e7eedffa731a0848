//! Rules of a configuration file in the running program.

use std::{fs, path::Path};

use serde_json::Value;

use crate::support::program::{Answer, FIREFOX, GOOGLEBOT, Server, eventually, run, succeed};

const BINGBOT: &str = "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)";
const GPTBOT: &str = "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)";
const AHREFSBOT: &str = "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)";
const CURL: &str = "curl/8.5.0";
const OURS: &str = "HouseRobot/1.0";

const UNLISTED: &str = "Mozilla/5.0 (compatible; MysteryCrawler/0.1; +https://mystery.example/)";

const RULES: &str = "
allow_robots = ['bingbot']
deny_robots = ['curl']
[[rule]]
name = 'engines may read the archive'
path = '/members-only-stuff/archive/*'
robots = ['googlebot']
action = 'pass'

[[rule]]
operators = ['openai']
action = 'redirect'
redirect_url = '/for-ai/'

[[rule]]
path = '/prices/*'
purposes = ['seo']
action = 'redirect'

[[rule]]
sources = ['manual']
action = 'pass'
";

fn configure(directory: &Path, more: &str) {
    let text = format!("web_robots_db = ''\n{more}");
    fs::write(directory.join("robot-detection.toml"), text).unwrap();
}

fn log(directory: &Path) -> String {
    fs::read_to_string(directory.join("stderr.log")).unwrap()
}

/// Returns the redirect target of a response, or `-` if there is none.
fn place(answer: &Answer) -> String {
    match answer.status {
        302 => answer.header("location"),
        _ => "-".to_owned(),
    }
}

#[test]
fn rules_and_lists_apply_over_http() {
    let directory = tempfile::tempdir().unwrap();
    configure(directory.path(), RULES);
    let arguments = ["registry", "add", "house", "--useragent", "HouseRobot"];
    succeed(directory.path(), &arguments);
    let server = Server::start(directory.path(), &["serve"]);
    for (user_agent, path, location) in [
        (GOOGLEBOT, "/members-only-stuff/a", "/robot-heaven/"),
        (GOOGLEBOT, "/members-only-stuff/archive/a", "-"),
        (GOOGLEBOT, "/prices/1", "-"),
        (BINGBOT, "/members-only-stuff/a", "-"),
        (GPTBOT, "/members-only-stuff/archive/a", "/for-ai/"),
        (GPTBOT, "/for-ai/a", "-"),
        (AHREFSBOT, "/members-only-stuff/a", "/robot-heaven/"),
        (AHREFSBOT, "/prices/1", "/robot-heaven/"),
        (CURL, "/members-only-stuff/archive/a", "/robot-heaven/"),
        (CURL, "/prices/1", "-"),
        (OURS, "/members-only-stuff/a", "-"),
        (FIREFOX, "/members-only-stuff/a", "-"),
        (FIREFOX, "/prices/1", "-"),
    ] {
        let answer = server.get(path, user_agent);
        assert_eq!(place(&answer), location, "{user_agent} {path}");
        let varies = path.starts_with("/members") || path.starts_with("/prices");
        let vary = answer.header("vary").contains("User-Agent");
        assert_eq!(vary, varies, "{user_agent} {path}");
    }
}

#[test]
fn unlisted_robots_are_recognised_over_http() {
    let directory = tempfile::tempdir().unwrap();
    configure(directory.path(), "");
    let server = Server::start(directory.path(), &["serve"]);
    let places = || {
        let of = |user_agent| place(&server.get("/members-only-stuff/a", user_agent));
        [UNLISTED, GOOGLEBOT, FIREFOX].map(of).join(" ")
    };
    assert_eq!(places(), "/robot-heaven/ /robot-heaven/ -");
    for (settings, expected) in [
        ("redirect_purposes = 'search'", "- /robot-heaven/ -"),
        ("redirect_purposes = 'unknown'", "/robot-heaven/ - -"),
        (
            "[[rule]]\nvisitors = 'unlisted'\naction = 'redirect'\nredirect_url = '/who-are-you/'",
            "/who-are-you/ /robot-heaven/ -",
        ),
        (
            "[[rule]]\nvisitors = 'listed'\naction = 'pass'",
            "/robot-heaven/ - -",
        ),
        ("allow_robots = 'unlisted'", "- /robot-heaven/ -"),
        (
            "redirect_purposes = 'seo'\ndeny_robots = 'unlisted'",
            "/robot-heaven/ - -",
        ),
        ("unlisted_robots = false", "- /robot-heaven/ -"),
    ] {
        configure(directory.path(), settings);
        server.signal("HUP");
        eventually(settings, || places() == expected);
    }
}

#[test]
fn explain_shows_each_rule() {
    let directory = tempfile::tempdir().unwrap();
    configure(directory.path(), RULES);
    let explain = |path: &str, user_agent: &str, json: bool| {
        let mut arguments = vec!["explain", "--path", path, "--user-agent", user_agent];
        arguments.extend(json.then_some("--json"));
        succeed(directory.path(), &arguments)
    };
    let text = explain("/members-only-stuff/archive/1", GPTBOT, false);
    for line in [
        "allow     The robot is not configured to always pass.",
        "rule      Rule \"engines may read the archive\" (robot-detection.toml:5) does not match: the robot is \"gptbot\".",
        "rule      Rule 2 (robot-detection.toml:11) matches; its action is redirect.",
        "decision  redirect 302 /for-ai/",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    for (path, user_agent, reason) in [
        ("/members-only-stuff/archive/1", GOOGLEBOT, "rule"),
        ("/members-only-stuff/archive/1", BINGBOT, "allowed"),
        ("/prices/1", GOOGLEBOT, "no-rule"),
        ("/elsewhere", GPTBOT, "path-not-filtered"),
    ] {
        let answer: Value = serde_json::from_str(&explain(path, user_agent, true)).unwrap();
        assert_eq!(answer["decision"], "pass", "{answer}");
        assert_eq!(answer["pass_reason"], reason, "{answer}");
    }
}

#[test]
fn a_reload_applies_rules_and_lists_and_an_invalid_rule_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    configure(directory.path(), RULES);
    let server = Server::start(directory.path(), &["serve"]);
    let place = |user_agent: &str| place(&server.get("/members-only-stuff/a", user_agent));
    assert_eq!(
        (place(BINGBOT), place(CURL)),
        ("-".into(), "/robot-heaven/".into())
    );
    configure(
        directory.path(),
        "deny_robots = ['bingbot']\n[[rule]]\nrobots = ['gptbot']\naction = 'redirect'\nredirect_url = '/x/'",
    );
    server.reload(directory.path());
    eventually("the new rule applies", || place(GPTBOT) == "/x/");
    assert_eq!(
        (place(BINGBOT), place(CURL)),
        ("/robot-heaven/".into(), "-".into())
    );
    configure(
        directory.path(),
        "\n[[rule]]\naction = 'redirect'\nrobots = []",
    );
    server.signal("HUP");
    eventually("the log contains the error", || {
        log(directory.path()).contains("robot-detection.toml:5: rule.robots: the list is empty")
    });
    assert_eq!(place(GPTBOT), "/x/");
}

#[test]
fn invalid_rules_are_rejected_with_their_line() {
    let directory = tempfile::tempdir().unwrap();
    for (wrong, told) in [
        (
            "[[rule]]\naction = 'pas'",
            ":3: rule.action: \"pas\" is not a valid action; did you mean \"pass\"?",
        ),
        ("[[rule]]\npath = '/x'", ":2: a [[rule]] needs an action"),
        (
            "[[rule]]\naction = 'pass'\npurposes = ['serch']",
            ":4: rule.purposes: \"serch\" is not a valid purpose; did you mean \"search\"?",
        ),
        (
            "[[rule]]\naction = 'pass'\nrobot = ['x']",
            ":4: unknown key \"robot\" in [[rule]]; did you mean \"robots\"?",
        ),
        (
            "[[rule]]\naction = 'pass'\npeople = 'yes'",
            ":4: rule.people: \"yes\" is not true or false",
        ),
        (
            "[[rule]]\naction = 'pass'\nsources = ['A B']",
            ":4: rule.sources: \"A B\": a source name must consist",
        ),
        (
            "[[rule]]\naction = 'pass'\npath = '/a[b'",
            ":4: rule.path: \"/a[b\": the [ has no matching ]",
        ),
        (
            "[[rule]]\naction = 'pass'\n[[rule]]\naction = 'redirect'\nredirect_url = '//evil.example/'",
            ":6: rule.redirect_url: two leading slashes",
        ),
        (
            "[rule]\naction = 'pass'",
            ":2: unknown key \"rule\"; to write an array of tables, use [[rule]]",
        ),
        (
            "redirect_url = ''\ndeny_robots = 'x'",
            ":3: deny_robots: no redirect target",
        ),
    ] {
        configure(directory.path(), wrong);
        let output = run(directory.path(), &["serve", "--listen", "127.0.0.1:0"]);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(
            error.contains(&format!("robot-detection.toml{told}")),
            "{wrong}: {error}"
        );
    }
}

#[test]
fn lists_have_environment_variables_and_rules_have_none() {
    let directory = tempfile::tempdir().unwrap();
    configure(directory.path(), "");
    let explain = |name: &str| {
        let mut command = crate::support::program::command(directory.path());
        let path = "/members-only-stuff/a";
        command.args(["explain", "--path", path, "--user-agent", GOOGLEBOT]);
        command.env(name, "googlebot, bingbot").output().unwrap()
    };
    let output = explain("ROBOT_DETECTION_ALLOW_ROBOTS");
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("decision  pass\n"));
    let output = explain("ROBOT_DETECTION_RULE_ROBOTS");
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("[[rule]] cannot be set by an environment variable"),
        "{error}"
    );
}

#[test]
fn doctor_reports_unused_names_and_unreachable_rules() {
    let directory = tempfile::tempdir().unwrap();
    configure(
        directory.path(),
        "unlisted_robots = false
allow_robots = ['bingbott', 'gptbot', 'unlisted']
deny_robots = ['gptbot']
[[rule]]
robots = ['googlebot']
action = 'pass'
[[rule]]
robots = ['goglebot']
operators = ['gogle']
sources = ['bundeld']
action = 'pass'
[[rule]]
name = 'late'
robots = ['googlebot']
purposes = ['seo']
action = 'redirect'
[server]
listen = '127.0.0.1:0'
max_connections = 100
",
    );
    let report = succeed(directory.path(), &["doctor", "--offline"]);
    for line in [
        "allow_robots contains the unknown robot \"bingbott\"; did you mean \"bingbot\"?",
        "allow_robots contains unlisted robots, which are not detected because unlisted_robots is false",
        "deny_robots contains \"gptbot\", which allow_robots also contains; remove it from one of them",
        "rule 2 contains the unknown robot \"goglebot\"; did you mean \"googlebot\"?",
        "rule 2 contains the unknown operator \"gogle\"; did you mean \"Google\"?",
        "rule 2 contains the unknown source \"bundeld\"; did you mean \"bundled\"?",
        "rule \"late\" never decides because the earlier rule 1 matches all of its requests",
    ] {
        let line = format!("warn  rules: {line}");
        assert!(
            report.lines().any(|found| found == line),
            "{line}\n{report}"
        );
    }
    // The last one is about the missing upstream.
    assert_eq!(report.matches("warn").count(), 8, "{report}");
}
