//! `explain` with requests from access logs.

use std::{
    fs,
    io::Write as _,
    path::Path,
    process::{Output, Stdio},
};

use serde_json::Value;

use crate::support::program::{GOOGLEBOT, command, run, succeed};

const SETTINGS: &str = "web_robots_db = ''
[[rule]]
path = '/api/*'
methods = 'POST'
hosts = 'api.example.org'
action = 'refuse'
[[rule]]
path = '/shop/*'
action = 'slow'
requests = 10
burst = 5
";

fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("robot-detection.toml"), SETTINGS).unwrap();
    directory
}

fn combined(request: &str, user_agent: &str) -> String {
    format!(
        "192.0.2.7 - - [01/Mar/2026:10:00:00 +0000] \"{request}\" 200 512 \"-\" \"{user_agent}\"\n"
    )
}

fn json_line(method: &str, host: &str) -> String {
    format!(
        r#"{{"request_method":"{method}","http_host":"{host}","request_uri":"/api/a?b","http_user_agent":"Googlebot/2.1"}}"#
    ) + "\n"
}

fn from_stdin(directory: &Path, arguments: &[&str], text: &str) -> Output {
    let mut child = command(directory)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_log_line_is_explained_like_its_request() {
    let directory = directory();
    let line = combined("GET /members-only-stuff/a?b=c HTTP/1.1", GOOGLEBOT);
    let told = succeed(directory.path(), &["explain", "--log-line", &line]);
    assert!(
        told.starts_with("line      1: GET /members-only-stuff/a?b=c from \"Mozilla"),
        "{told}"
    );
    assert!(
        told.ends_with("decision  redirect 302 /robot-heaven/\n\n"),
        "{told}"
    );
    let arguments = [
        "explain",
        "--path",
        "/members-only-stuff/a?b=c",
        "--user-agent",
        GOOGLEBOT,
    ];
    let asked = succeed(directory.path(), &arguments);
    assert_eq!(
        told.split_once('\n').unwrap().1.trim_end(),
        asked.trim_end()
    );
}

#[test]
fn lines_of_every_format_are_explained_in_order() {
    let directory = directory();
    let log = [
        combined("GET /shop/a HTTP/1.1", GOOGLEBOT),
        "not a line of a log\n".to_owned(),
        json_line("POST", "api.example.org"),
        json_line("GET", "api.example.org"),
        json_line("POST", "www.example.org"),
        combined("GET /members-only-stuff/ HTTP/1.1", "-"),
    ];
    let arguments = ["explain", "--json", "--from-log", "-"];
    let output = from_stdin(directory.path(), &arguments, &log.concat());
    assert!(output.status.success());
    let note = String::from_utf8(output.stderr).unwrap();
    assert!(
        note.contains("1 of 6 lines do not contain a request"),
        "{note}"
    );
    let told = String::from_utf8(output.stdout).unwrap();
    let told: Vec<Value> = told
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let field = |name: &str| {
        told.iter()
            .map(|told| told[name].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(field("line"), [1, 3, 4, 5, 6]);
    assert_eq!(
        field("decision"),
        ["pass", "refuse", "pass", "pass", "pass"]
    );
    assert_eq!(told[0]["slowed"], "at most 10 requests in 60 s, 5 at once");
    assert_eq!(told[1]["rule"], "rule 1");
    assert_eq!(told[1]["path"], "/api/a?b");
    assert_eq!(told[4]["claim"]["id"], "nameless");
    assert_eq!(told[4]["pass_reason"], "nameless");
}

#[test]
fn hosts_missing_from_a_log_can_be_given() {
    let directory = directory();
    let line = combined("POST /api/a HTTP/1.1", GOOGLEBOT);
    let arguments = ["explain", "--log-line", &line, "--host", "api.example.org"];
    let told = succeed(directory.path(), &arguments);
    assert!(told.contains("decision  refuse 403\n"), "{told}");
    let log = directory.path().join("access.log");
    fs::write(&log, &line).unwrap();
    let arguments = ["explain", "--from-log", "access.log"];
    let told = succeed(directory.path(), &arguments);
    assert!(told.contains("decision  pass\n"), "{told}");
}

#[test]
fn unexplainable_input_is_rejected() {
    let directory = directory();
    fs::write(directory.path().join("x.log"), "x\ny\n").unwrap();
    for (arguments, code) in [
        (&["explain"][..], 2),
        (&["explain", "--path", "/a"], 2),
        (&["explain", "--log-line", "Googlebot/2.1"], 2),
        (&["explain", "--log-line", "x", "--path", "/a"], 2),
        (&["explain", "--from-log", "nowhere.log"], 1),
        (&["explain", "--from-log", "x.log"], 1),
    ] {
        let output = run(directory.path(), arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        assert!(!output.stderr.is_empty(), "{arguments:?}");
    }
    let line = combined("GET /a HTTP/1.1", r"a\x1b[2J Googlebot/2.1");
    let told = succeed(directory.path(), &["explain", "--log-line", &line]);
    assert!(!told.contains('\u{1b}'), "{told}");
}
