//! The access log: its contents, timing and readers.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    path::Path,
};

use serde_json::Value;

use crate::support::{
    http::{Reply, TestServer},
    program::{FIREFOX, GOOGLEBOT, Server, eventually, exchange, request, run, succeed},
};

use super::site::{Site, configure};

const CURL: &str = "curl/8.5.0";
const UNLISTED: &str = "Mozilla/5.0 (compatible; frobnicator-crawler/1.0; +https://frob.example/)";

fn ask(server: &Server) {
    server.get("/members-only-stuff/a?b=c", GOOGLEBOT);
    server.get("/", GOOGLEBOT);
    server.get("/members-only-stuff/", FIREFOX);
    server.get("/members-only-stuff/", UNLISTED);
}

fn lines(directory: &Path) -> Vec<String> {
    let text = fs::read_to_string(directory.join("access.log")).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Returns the robots that `explain` finds in the log.
fn identified(directory: &Path) -> Vec<String> {
    let answers = succeed(
        directory,
        &["explain", "--from-log", "access.log", "--json"],
    );
    let answers = serde_json::Deserializer::from_str(&answers).into_iter::<Value>();
    let id = |answer: Value| answer["claim"]["id"].as_str().unwrap_or("-").to_owned();
    answers.map(|answer| id(answer.unwrap())).collect()
}

#[test]
fn combined_lines_contain_robot_visitor_and_decision_and_can_be_parsed() {
    let site = Site::logging("combined", Reply::text("hello"));
    ask(&site.server);
    let directory = site.end();
    let lines = lines(directory.path());
    for (line, request, rest) in [
        (
            0,
            "GET /members-only-stuff/a?b=c HTTP/1.1",
            format!("302 0 \"-\" \"{GOOGLEBOT}\" \"googlebot\" \"listed\" \"redirect\" "),
        ),
        (
            1,
            "GET / HTTP/1.1",
            format!("200 5 \"-\" \"{GOOGLEBOT}\" \"googlebot\" \"listed\" \"pass\" "),
        ),
        (
            2,
            "GET /members-only-stuff/ HTTP/1.1",
            format!("200 5 \"-\" \"{FIREFOX}\" \"-\" \"person\" \"pass\" "),
        ),
        (
            3,
            "GET /members-only-stuff/ HTTP/1.1",
            format!("302 0 \"-\" \"{UNLISTED}\" \"unlisted\" \"unlisted\" \"redirect\" "),
        ),
    ] {
        let line = &lines[line];
        assert!(line.starts_with("127.0.0.1 - - ["), "{line}");
        assert!(
            line.contains(&format!(" +0000] \"{request}\" {rest}")),
            "{line}"
        );
        let seconds = line.rsplit(' ').next().unwrap();
        assert!(seconds.parse::<f64>().is_ok(), "{line}");
    }
    assert_eq!(lines.len(), 4);
    let answers = identified(directory.path());
    assert_eq!(answers, ["googlebot", "googlebot", "-", "unlisted"]);
}

#[test]
fn requests_that_never_reach_a_site_are_logged_too() {
    for format in ["combined", "json"] {
        let site = Site::logging(format, Reply::text("hello"));
        let addr = site.server.addr;
        let long = "a".repeat(9_000);
        let header = format!("X-A: {long}\r\n");
        for (head, status) in [
            ("GET / HTTP/1.1\r\nHost : a\r\n\r\n".to_owned(), 400),
            ("\x16\x03\x01 no TLS here\r\n\r\n".to_owned(), 400),
            (format!("GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n"), 414),
            (
                format!("GET /b HTTP/1.1\r\nHost: a\r\nUser-Agent: {GOOGLEBOT}\r\n{header}\r\n"),
                431,
            ),
            (
                "POST /c HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
                    .to_owned(),
                400,
            ),
        ] {
            assert_eq!(exchange(addr, head.as_bytes()).status, status, "{head}");
        }
        let directory = site.end();
        let mut lines = lines(directory.path());
        let ends: &[(&str, &str)] = &if format == "json" {
            [
                ("\"request_method\":null", "\"status\":400"),
                ("\"request_uri\":null", "\"status\":400"),
                ("\"request_method\":\"GET\"", "\"status\":414"),
                ("\"request_uri\":\"/b\"", "\"status\":431"),
                ("\"request_uri\":\"/c\"", "\"status\":400"),
            ]
        } else {
            [
                ("\"-\" 400 0 ", "\"-\" \"-\" \"-\" \"-\" \"refuse\" \"-\" "),
                ("\"-\" 400 0 ", "\"refuse\""),
                ("aaa HTTP/1.1\" 414 0 ", "\"refuse\""),
                ("\"GET /b HTTP/1.1\" 431 0 ", "Googlebot"),
                ("\"POST /c HTTP/1.1\" 400 0 ", "\"refuse\""),
            ]
        };
        assert_eq!(lines.len(), ends.len(), "{lines:#?}");
        // Each connection logs when it ends, so the order may differ from that of the responses.
        for (one, other) in ends {
            let found = lines
                .iter()
                .position(|line| line.contains(one) && line.contains(other));
            let Some(at) = found else {
                panic!("no line has {one} and {other}: {lines:#?}");
            };
            lines.remove(at);
        }
    }
}

#[test]
fn json_lines_have_the_field_names_that_identify_reads() {
    let site = Site::logging("json", Reply::text("hello"));
    ask(&site.server);
    let referred = [
        ("User-Agent", CURL),
        ("Referer", "https://a.example/\u{20ac}"),
        ("Host", "www.example.org"),
        ("X-Forwarded-For", "203.0.113.9"),
    ];
    request(site.server.addr, "HEAD", "/?q=1", &referred);
    let directory = site.end();
    let objects: Vec<Value> = lines(directory.path())
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let hit = &objects[0];
    for (name, value) in [
        ("remote_addr", "127.0.0.1"),
        ("request_method", "GET"),
        ("request_uri", "/members-only-stuff/a?b=c"),
        ("http_user_agent", GOOGLEBOT),
        ("robot", "googlebot"),
        ("visitor", "listed"),
        ("decision", "redirect"),
    ] {
        assert_eq!(hit[name], value, "{hit}");
    }
    assert_eq!(hit["status"], 302);
    assert_eq!(objects[2]["robot"], Value::Null);
    // A browser would have sent more headers.
    assert_eq!(objects[2]["cause"], "suspect");
    let head = &objects[4];
    assert_eq!(head["request_method"], "HEAD");
    assert_eq!(head["body_bytes_sent"], 0);
    assert_eq!(head["http_referer"], "https://a.example/\u{20ac}");
    assert_eq!(head["host"], "www.example.org");
    assert_eq!(head["remote_addr"], "127.0.0.1", "no proxy is trusted");
    assert!(head["request_time"].is_number());
    let answers = identified(directory.path());
    assert_eq!(answers[..4], ["googlebot", "googlebot", "-", "unlisted"]);
    let report = ["report", "access.log", "--json", "--by", "total"];
    let report = succeed(directory.path(), &report);
    assert!(report.contains("10"), "5 bytes twice: {report}");
}

#[test]
fn common_lines_end_with_additional_fields() {
    let site = Site::logging("common", Reply::text("hello"));
    ask(&site.server);
    let directory = site.end();
    let lines = lines(directory.path());
    for (line, words) in lines.iter().zip([
        "\" 302 0 googlebot listed redirect ",
        "\" 200 5 googlebot listed pass ",
        "\" 200 5 - person pass ",
        "\" 302 0 unlisted unlisted redirect ",
    ]) {
        assert!(line.contains(words), "{line}");
    }
    assert_eq!(identified(directory.path()), ["nameless"; 4]);
}

#[test]
fn client_input_breaks_no_line_and_secrets_are_not_logged() {
    let site = Site::logging("combined", Reply::text("hello"));
    let head = b"GET /a\"b\xc3\xa9?c=\\ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
        User-Agent: Googlebot/2.1 \" \\ \xff\x80\t\xe2\x82\xac\r\nReferer: \" 200 1 \"-\" \"Forged/1\r\n\
        Cookie: session=secret-cookie\r\nAuthorization: Bearer secret-token\r\n\r\n";
    exchange(site.server.addr, head);
    let long = format!("/{}", "\"".repeat(8_000));
    request(site.server.addr, "GET", &long, &[("User-Agent", GOOGLEBOT)]);
    let directory = site.end();
    let lines = lines(directory.path());
    assert_eq!(lines.len(), 2);
    assert!(
        lines[0].contains(
            r#""Googlebot/2.1 \x22 \x5C \xFF\x80\x09\xE2\x82\xAC" "googlebot" "listed" "#
        ),
        "{}",
        lines[0]
    );
    assert!(lines[0].contains(r#""\x22 200 1 \x22-\x22 \x22Forged/1""#));
    assert!(!lines[0].contains("secret"));
    assert!(lines.iter().all(|line| line.is_ascii()));
    let answers = identified(directory.path());
    assert_eq!(answers, ["googlebot", "googlebot"], "{lines:?}");
}

#[test]
fn lines_are_written_while_the_server_runs_and_a_moved_file_is_recreated() {
    let site = Site::logging("combined", Reply::text("hello"));
    site.server.get("/first", FIREFOX);
    eventually("the first line", || site.log().contains("GET /first "));
    fs::rename(site.path("access.log"), site.path("access.log.1")).unwrap();
    site.server.get("/second", FIREFOX);
    eventually("a new file", || site.path("access.log").exists());
    eventually("the second line", || site.log().contains("GET /second "));
    assert!(!site.log().contains("/first"));

    fs::rename(site.path("access.log"), site.path("access.log.2")).unwrap();
    eventually("a new file", || site.path("access.log").exists());
    assert_eq!(site.log(), "", "no request since the file was moved");
}

#[test]
fn a_truncated_response_is_logged_with_the_bytes_sent() {
    const LEN: usize = 64 * 1024 * 1024;
    let site = Site::logging("json", Reply::text(vec![b'x'; LEN]));
    let mut stream = TcpStream::connect(site.server.addr).unwrap();
    stream
        .write_all(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        .unwrap();
    stream.read_exact(&mut [0; 1000]).unwrap();
    drop(stream);
    eventually("the line is logged", || site.log().contains("/large"));
    let line: Value = serde_json::from_str(&site.log()).unwrap();
    assert_eq!(line["status"], 200);
    let bytes = line["body_bytes_sent"].as_u64().unwrap();
    assert!(bytes > 0 && bytes < LEN as u64, "{bytes}");
}

#[test]
fn a_client_that_disconnects_before_the_response_is_logged_as_499() {
    let upstream = TestServer::with(|seen| match &*seen.path {
        "/slow" => Reply::Hang,
        _ => Reply::status(404),
    });
    let settings = "access_log.path = 'access.log'\naccess_log.format = 'json'";
    let site = Site::behind(settings, upstream);
    let mut stream = TcpStream::connect(site.server.addr).unwrap();
    stream
        .write_all(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        .unwrap();
    eventually("the upstream has the request", || {
        site.upstream.seen().iter().any(|seen| seen.path == "/slow")
    });
    drop(stream);
    eventually("the line is logged", || site.log().contains("/slow"));
    let line: Value = serde_json::from_str(&site.log()).unwrap();
    assert_eq!(line["status"], 499);
    assert_eq!(line["body_bytes_sent"], 0);
}

#[test]
fn the_log_can_be_written_to_standard_output() {
    let directory = tempfile::tempdir().unwrap();
    configure(directory.path(), "access_log.path = '-'");
    let mut server = Server::start(directory.path(), &["serve"]);
    server.get("/somewhere", GOOGLEBOT);
    let line = server.next_line();
    assert!(line.contains("\"GET /somewhere HTTP/1.1\""), "{line}");
}

#[test]
fn impossible_settings_are_reported_before_serving() {
    let directory = tempfile::tempdir().unwrap();
    for (settings, code, text) in [
        (
            "access_log.path = 'missing/access.log'",
            1,
            "cannot open the access log missing/access.log",
        ),
        (
            "access_log.format = 'clf'",
            2,
            "unknown access log format \"clf\": expected common, combined or json",
        ),
    ] {
        configure(directory.path(), settings);
        let output = run(
            directory.path(),
            &[
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--upstream",
                "http://127.0.0.1:9",
            ],
        );
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{error}");
        assert!(error.contains(text), "{error}");
    }
}

#[test]
fn a_full_disk_stops_no_request_and_is_reported_once() {
    let directory = tempfile::tempdir().unwrap();
    configure(directory.path(), "access_log.path = '/dev/full'");
    let server = Server::start(directory.path(), &["serve"]);
    for _ in 0..3 {
        assert_eq!(server.get("/", FIREFOX).status, 200);
    }
    eventually("lost lines are counted", || {
        !server
            .metrics()
            .contains("robot_detection_access_log_lost_lines_total 0")
    });
    server.signal("TERM");
    assert!(server.wait());
    let log = fs::read_to_string(directory.path().join("stderr.log")).unwrap();
    assert_eq!(
        log.matches("cannot write the access log").count(),
        1,
        "{log}"
    );
}
