//! `robots-txt` as a user runs it: decisions, warnings, exit codes, JSON lines.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Output, Stdio},
};

use serde_json::{Value, json};

use crate::support::program;

const FILE: &str = "\
User-agent: *
Disallow: /private/

User-agent: ExampleBot
Disallow: /dynamic
Allow: /dynamic/open$
Crawl-delay: 2.5
";

/// Runs a command in an empty directory, with the given standard input.
fn fed(arguments: &[&str], input: &str) -> Output {
    let directory = tempfile::tempdir().unwrap();
    let mut child = program::command(directory.path())
        .arg("robots-txt")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || {
        // A program that exits before it has read all its input closes the pipe.
        let _ = stdin.write_all(input.as_bytes());
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Returns the result of each line.
fn eval(lines: &[Value]) -> Vec<Value> {
    let input: String = lines
        .iter()
        .flat_map(|line| [line.to_string(), "\n".to_owned()])
        .collect();
    let output = fed(&["eval"], &input);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = stdout(&output);
    let answers: Vec<_> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), lines.len(), "{text}");
    answers
}

fn answer(line: Value) -> Value {
    eval(&[line]).remove(0)
}

#[test]
fn check_names_rule_line_and_group() {
    let urls = [
        "/dynamic/a",
        "/dynamic/open",
        "https://shop.example/private/",
    ];
    let arguments = [
        "check",
        "--user-agent",
        "Mozilla/5.0 (compatible; ExampleBot/1.0)",
    ];
    let output = fed(&[&arguments[..], &urls].concat(), FILE);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        stdout(&output),
        "refused  /dynamic/a  line 5: Disallow: /dynamic (group at line 4, for this robot)\n\
         allowed  /dynamic/open  line 6: Allow: /dynamic/open$ (group at line 4, for this robot)\n\
         allowed  https://shop.example/private/  no rule matches (group at line 4, for this robot)\n"
    );
    let output = fed(&["check", "--user-agent", "OtherBot", "/a", "/b"], FILE);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("group at line 1, for all robots"));
}

#[test]
fn check_reads_a_file_and_prints_json() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("robots.txt");
    std::fs::write(&path, FILE).unwrap();
    let path = path.to_str().unwrap();
    let arguments = [
        "check",
        "--file",
        path,
        "--user-agent",
        "OtherBot",
        "--json",
        "/private/",
    ];
    let output = fed(&arguments, "");
    assert_eq!(output.status.code(), Some(1));
    let answers: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        answers,
        json!([{
            "url": "/private/",
            "allowed": false,
            "rule": {"line": 2, "allow": false, "path": "/private/", "implied": false},
            "group_line": 1,
            "fallback": true,
        }])
    );
}

#[test]
fn check_reports_a_file_of_another_site() {
    let from = ["--robots-url", "http://a.example/robots.txt"];
    let arguments = ["check", "--user-agent", "x", "http://b.example/a"];
    let output = fed(&[&arguments[..], &from].concat(), "");
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).starts_with("unknown  http://b.example/a  "));
    let mirror = "User-agent: *\nHost: main.example\n";
    let arguments = [
        "check",
        "--dialect",
        "yandex2003",
        "--user-agent",
        "x",
        "/a",
    ];
    let output = fed(&[&arguments[..], &from].concat(), mirror);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stdout(&output).contains("a Host line specifies another site"),
        "{output:?}"
    );
}

#[test]
fn control_characters_in_a_file_are_escaped_on_the_terminal() {
    let file = "User-agent: *\nDisallow: /\x1b[2J\nDiss\x1b[2Jallow: /\n";
    let check = fed(&["check", "--user-agent", "x", "/\x1b[2J"], file);
    let lint = fed(&["lint"], file);
    for output in [check, lint] {
        assert_eq!(output.status.code(), Some(1));
        assert!(!output.stdout.contains(&0x1b), "{}", stdout(&output));
    }
}

#[test]
fn lint_warns_and_exits_with_one() {
    let output = fed(&["lint", "-"], "User-agent: *\nDissalow: /a\n");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        stdout(&output),
        "standard input:2: unknown-field: unknown field \"Dissalow\": robots ignore the line; write Disallow\n"
    );
    let output = fed(
        &["lint", "--json", "--dialect", "v0"],
        "User-agent: *\nAllow: /a\n",
    );
    let warnings: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(warnings[0]["line"], 2);
    assert_eq!(warnings[0]["kind"], "unknown-allow");
    let whole = FILE.replace(
        "User-agent: ExampleBot\n",
        "User-agent: ExampleBot\nDisallow: /private/\n",
    );
    let output = fed(&["lint"], &whole);
    assert_eq!(
        (output.status.code(), stdout(&output).as_str()),
        (Some(0), "")
    );
}

#[test]
fn lint_checks_preferences() {
    let file = "User-agent: *\nContent-Signal: serch=yes, ai-train=no\nContent-Usage: train-ai=maybe\n\
        Content-Usage: /a/ train-ai=n, search=y\nContent-Usage: trian-ai=n\nContent-Signal: use=reference\n\
        Content-Signal: ai-input\nContent-Usage: train-ai=n search=y\nAllow: /\n";
    let output = fed(&["lint"], file);
    assert_eq!(
        stdout(&output),
        "standard input:2: content-signal: \"serch\" is not a known signal and is ignored; write search\n\
         standard input:3: content-usage: \"maybe\" is not a value of train-ai and is ignored; write y or n\n\
         standard input:5: content-usage: \"trian-ai\" is not a known use and is ignored; write train-ai\n\
         standard input:7: content-signal: \"ai-input\" has no value and is ignored; write ai-input=yes or ai-input=no\n\
         standard input:8: content-usage: \"n search=y\" is not a value of train-ai and is ignored; write a comma between two uses\n"
    );
}

#[test]
fn wrong_usage_explains_what_to_do() {
    for (arguments, said) in [
        (
            &["lint", "no-such-file"][..],
            "cannot read no-such-file (is it a file?)",
        ),
        (
            &["lint", "--dialect", "rfc9308"],
            "use one of rfc9309, google",
        ),
        (&["check", "--user-agent", "x"], "<URL>..."),
        (&["check", "/a"], "--user-agent"),
    ] {
        let output = fed(arguments, "");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(said), "{arguments:?}: {error}");
    }
}

#[test]
fn eval_answers_queries_about_a_file() {
    for (line, expected) in [
        (
            json!({"robots_txt": FILE, "user_agent": "examplebot", "url": "/dynamic/a"}),
            json!({"allowed": false}),
        ),
        (
            json!({"robots_txt": FILE, "queries": [["x", "/private/"], ["ExampleBot", "/private/"]]}),
            json!({"allowed": [false, true]}),
        ),
        (
            json!({"robots_txt_b64": "VXNlci1hZ2VudDogKgpEaXNhbGxvdzogL+kK", "user_agent": "x", "url": "/%E9"}),
            json!({"allowed": false}),
        ),
        (
            json!({"robots_txt": FILE, "user_agent": "ExampleBot", "want": ["crawl_delay", "request_rate"]}),
            json!({"crawl_delay": 2.5, "request_rate": null}),
        ),
        (
            json!({"robots_txt": "User-agent: *\nCrawl-delay: 3\nRequest-rate: 1/10m\nHost: h.example\nSitemap: a\nSitemap: b\n", "user_agent": "x"}),
            json!({"crawl_delay": 3, "request_rate": [1, 600], "sitemaps": ["a", "b"], "host": "h.example"}),
        ),
        (
            json!({"dialect": "geoportal", "robots_txt": "User-agent: *\nHost: https://h.example:8443\n", "url": "http://a.example/x", "want": ["effective_url"]}),
            json!({"effective_url": "https://h.example:8443/x"}),
        ),
        (
            json!({"dialect": "yandex", "robots_txt": "User-agent: *\nClean-param: ref /\n", "queries": [["x", "http://a.example/x?ref=1&b=2"]], "want": ["clean_url"]}),
            json!({"clean_url": ["http://a.example/x?b=2"]}),
        ),
    ] {
        assert_eq!(answer(line.clone()), expected, "{line}");
    }
}

#[test]
fn eval_uses_the_files_site_in_the_oldest_dialect() {
    let file = "User-agent: *\nDisallow: /a\n";
    let line = |dialect: &str| {
        json!({
            "dialect": dialect,
            "robots_url": "http://a.example/robots.txt",
            "robots_txt": file,
            "queries": [
                ["x", "http://a.example/a"],
                ["x", "http://a.example:8080/a"],
                ["x", "http://b.example/b"],
                ["x", "ftp://b.example/a"],
                ["x", "/b"],
            ],
        })
    };
    let expected = json!({"allowed": [false, null, null, true, true]});
    assert_eq!(answer(line("v0")), expected);
    let expected = json!({"allowed": [false, false, true, false, true]});
    assert_eq!(answer(line("rfc9309")), expected);
}

#[test]
fn eval_applies_the_http_status() {
    let line = |dialect: &str, status: u16, redirects: u32| {
        json!({
            "dialect": dialect, "status": status, "redirects": redirects,
            "robots_txt": FILE, "user_agent": "x",
            "queries": [["x", "/private/"], ["x", "/"], ["x", "/robots.txt"]],
        })
    };
    for (dialect, status, redirects, access, allowed) in [
        ("rfc9309", 200, 5, "rules", [false, true, true]),
        ("rfc9309", 200, 6, "allow_all", [true, true, true]),
        ("rfc9309", 403, 0, "allow_all", [true, true, true]),
        ("rfc9309", 0, 0, "disallow_all", [false, false, true]),
        ("google", 429, 0, "disallow_all", [false, false, false]),
        ("tdg", 403, 0, "disallow_all", [false, false, true]),
        ("v0", 500, 0, "allow_all", [true, true, true]),
    ] {
        let answer = answer(line(dialect, status, redirects));
        let expected = json!({"access": access, "allowed": allowed});
        assert_eq!(answer, expected, "{dialect} {status}");
    }
    assert_eq!(
        answer(json!({"status": 404})),
        json!({"access": "allow_all"})
    );
}

#[test]
fn eval_combines_tags_and_headers() {
    let html = "<meta name=robots content='noindex, max-snippet:50'><meta name=examplebot content=noarchive>";
    let headers = json!([["X-Robots-Tag", "nofollow, max-image-preview:large"]]);
    let want = json!([
        "index",
        "follow",
        "archive",
        "max_snippet",
        "max_image_preview",
        "unavailable_after"
    ]);
    let line = |user_agent: &str| json!({"html": html, "headers": headers, "user_agent": user_agent, "want": want});
    for (user_agent, archive) in [("ExampleBot", false), ("OtherBot", true)] {
        assert_eq!(
            answer(line(user_agent)),
            json!({
                "index": false, "follow": false, "archive": archive, "max_snippet": 50,
                "max_image_preview": "large", "unavailable_after": null,
            })
        );
    }
    let all = answer(json!({"html": ""}));
    assert_eq!(all.as_object().unwrap().len(), 11);
    assert_eq!(
        (&all["index"], &all["max_video_preview"]),
        (&json!(true), &Value::Null)
    );
}

#[test]
fn eval_reports_unknown_input() {
    let file = json!({"dialect": "rfc9310", "robots_txt": FILE, "user_agent": "x", "url": "/"});
    assert_eq!(answer(file), json!({"unsupported": true}));
    let line =
        json!({"robots_txt": FILE, "user_agent": "x", "url": "/", "want": ["allowed", "colour"]});
    assert_eq!(answer(line), json!({"allowed": true, "unsupported": true}));
}

#[test]
fn an_invalid_line_does_not_stop_the_next() {
    let good = json!({"robots_txt": FILE, "user_agent": "x", "url": "/private/"}).to_string();
    let bad = [
        "",
        "nonsense",
        "{",
        "[]",
        "1",
        "{\"url\": 1}",
        "{\"status\": -1}",
        "{}",
        "\u{1}",
        "{\"robots_txt_b64\": \"*\", \"url\": \"/\"}",
        "{\"want\": [\"allowed\"]}",
        "{\"want\": [\"access\"]}",
        "{\"robots_txt\": \"\", \"robots_txt_b64\": \"\", \"url\": \"/\"}",
    ];
    let input = bad.map(|bad| format!("{bad}\n{good}\n")).concat();
    let output = fed(&["eval"], input.trim_end());
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    assert_eq!(text.lines().count(), 2 * bad.len());
    for (at, line) in text.lines().enumerate() {
        let answer: Value = serde_json::from_str(line).unwrap();
        if at % 2 == 0 {
            assert!(answer["error"].is_string(), "{:?}: {line}", bad[at / 2]);
        } else {
            assert_eq!(answer, json!({"allowed": false}));
        }
    }
}

#[test]
fn eval_answers_before_reading_the_next_query() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = program::command(directory.path())
        .args(["robots-txt", "eval"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for (path, allowed) in [("/private/", false), ("/", true)] {
        writeln!(
            stdin,
            "{}",
            json!({"robots_txt": FILE, "user_agent": "x", "url": path})
        )
        .unwrap();
        let answer: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(answer["allowed"], allowed);
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}
