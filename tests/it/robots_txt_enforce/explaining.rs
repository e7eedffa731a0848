//! `explain` with a robots.txt.

use std::fs;

use serde_json::Value;

use super::site::FILE;
use crate::support::program::{FIREFOX, GOOGLEBOT, run, succeed};

/// Path, User-Agent and settings, with a line of the explanation and the decision.
const CASES: [[&str; 5]; 9] = [
    [
        "/private/a",
        GOOGLEBOT,
        "enforce = 'on'",
        "robots.txt  Line 3, \"Disallow: /private/\", disallows the path, in the group at line 2, \"Googlebot\".",
        "refuse 403",
    ],
    [
        "/a?sort=b",
        GOOGLEBOT,
        "enforce = 'on'\nrefusal = '429'",
        "robots.txt  The response is 429.",
        "refuse 429",
    ],
    [
        "/private/a",
        GOOGLEBOT,
        "enforce = 'on'\nrefusal = 'redirect'",
        "robots.txt  The robot is redirected to robot heaven.",
        "redirect 302 /robot-heaven/",
    ],
    [
        "/private/a",
        GOOGLEBOT,
        "",
        "robots.txt  The request passes and is counted, because robots_txt.enforce is report.",
        "pass",
    ],
    [
        "/private/a",
        GOOGLEBOT,
        "enforce = 'off'",
        "robots.txt  robots.txt is not enforced: robots_txt.enforce is off.",
        "pass",
    ],
    [
        "/private/open/a",
        GOOGLEBOT,
        "enforce = 'on'",
        "robots.txt  Line 4, \"Allow: /private/open/\", allows the path, in the group at line 2, \"Googlebot\".",
        "pass",
    ],
    [
        "/private/a",
        "bingbot/2.0",
        "enforce = 'on'",
        "robots.txt  No rule in the group at line 7, \"*\", matches, so the path is allowed.",
        "pass",
    ],
    [
        "/robot-heaven/",
        GOOGLEBOT,
        "enforce = 'on'",
        "robots.txt  The path belongs to robot heaven, so robots.txt is not checked.",
        "pass",
    ],
    [
        "/private/a",
        FIREFOX,
        "enforce = 'on'",
        "robots.txt  robots.txt is enforced for robots only.",
        "pass",
    ],
];

#[test]
fn explain_names_group_rule_line_and_response() {
    let directory = tempfile::tempdir().unwrap();
    let text = FILE.replace("ExampleBot", "Googlebot");
    fs::write(directory.path().join("robots.txt"), text).unwrap();
    let explain = |path: &str, user_agent: &str, settings: &str| {
        let configuration = format!("web_robots_db = ''\n[robots_txt]\n{settings}");
        fs::write(directory.path().join("robot-detection.toml"), configuration).unwrap();
        let mut arguments = vec!["explain", "--path", path, "--user-agent", user_agent];
        arguments.extend(["--robots-txt", "robots.txt"]);
        succeed(directory.path(), &arguments)
    };
    for [path, user_agent, settings, line, decision] in CASES {
        let text = explain(path, user_agent, settings);
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        let decision = format!("decision  {decision}\n");
        assert!(text.contains(&decision), "{path} {settings}: {text}");
    }
}

#[test]
fn explain_prints_the_same_as_json() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("robots.txt"), FILE).unwrap();
    let configuration = "web_robots_db = ''\nrobots_txt.enforce = 'on'";
    fs::write(directory.path().join("robot-detection.toml"), configuration).unwrap();
    let mut arguments = vec!["explain", "--path", "/hidden/a", "--user-agent", GOOGLEBOT];
    arguments.extend(["--robots-txt", "robots.txt", "--json"]);
    let answer = succeed(directory.path(), &arguments);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["decision"], "refuse", "{answer}");
    assert_eq!(answer["pass_reason"], Value::Null, "{answer}");
    let steps = answer["steps"].as_array().unwrap();
    assert_eq!(steps.last().unwrap()["name"], "robots.txt", "{answer}");
}

#[test]
fn a_missing_file_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = [
        "explain",
        "--path",
        "/",
        "--user-agent",
        "x",
        "--robots-txt",
        "nowhere",
    ];
    let output = run(directory.path(), &arguments);
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("cannot read nowhere"), "{error}");
}
