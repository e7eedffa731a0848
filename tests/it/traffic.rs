//! Visits are counted and stored.

use std::{io::Write as _, path::Path, process::Child};

use axum::{
    body::{Body, to_bytes},
    http::Request,
    routing::get,
};
use flate2::{Compression, write::GzEncoder};
use robot_detection::{RobotDetection, clock::Clock, layer::Outcome, store::Store};
use serde_json::Value;
use tower::Service as _;

use crate::support::{
    http::{Reply, TestServer},
    program::{FIREFOX, GOOGLEBOT, Server, command, eventually, request, run, succeed},
};

const UNLISTED: &str = "Mozilla/5.0 (compatible; frobnicator-crawler/1.0; +https://frob.example/)";
const GPTBOT: &str = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)";

/// Two sites on one server, and a log of all requests.
const SITES: &str = r#"
web_robots_db = ""
[verify]
enabled = false
[access_log]
path = "access.log"
[[site]]
name = "shop"
hosts = ["shop.example"]
upstream = "UPSTREAM"
filter_pattern = "/members/*"
redirect_url = "/robot-heaven/"
[[site]]
name = "blog"
hosts = ["blog.example"]
upstream = "UPSTREAM"
"#;

fn start(directory: &Path, upstream: &TestServer, more: &str) -> Server {
    let sites = SITES.replace("UPSTREAM", upstream.url("").trim_end_matches('/'));
    std::fs::write(
        directory.join("robot-detection.toml"),
        format!("{more}\n{sites}"),
    )
    .unwrap();
    Server::start(directory, &["serve"])
}

fn ask(server: &Server, host: &str, path: &str, user_agent: Option<&str>, times: usize) {
    let mut headers = vec![("Host", host)];
    headers.extend(user_agent.map(|user_agent| ("User-Agent", user_agent)));
    for _ in 0..times {
        request(server.addr, "GET", path, &headers);
    }
}

fn report(directory: &Path, arguments: &[&str]) -> Value {
    let mut all = vec!["report", "--json"];
    all.extend(arguments);
    all.extend(["--by", "total,robot,operator,decision,site,status"]);
    serde_json::from_str(&succeed(directory, &all)).unwrap()
}

/// Returns name and hits of the rows of a table.
fn rows<'v>(report: &'v Value, table: &str, cell: &str) -> Vec<(&'v str, u64)> {
    let rows = report[table].as_array().unwrap().iter();
    rows.map(|row| {
        (
            row[cell].as_str().unwrap_or("-"),
            row["hits"].as_u64().unwrap(),
        )
    })
    .collect()
}

/// Returns the directory of a server that has answered 39 requests to two sites.
fn asked() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let upstream = TestServer::new(Reply::text("hello, whoever you are"));
    let server = start(directory.path(), &upstream, "");
    ask(&server, "shop.example", "/members/a", Some(GOOGLEBOT), 7);
    ask(&server, "shop.example", "/", Some(GOOGLEBOT), 3);
    ask(&server, "blog.example", "/", Some(GOOGLEBOT), 2);
    ask(&server, "blog.example", "/a", Some(GPTBOT), 4);
    ask(&server, "shop.example", "/members/b", Some(UNLISTED), 5);
    ask(&server, "shop.example", "/members/b", Some(FIREFOX), 11);
    ask(&server, "blog.example", "/", None, 6);
    ask(&server, "nowhere.example", "/", Some(FIREFOX), 1);
    server.signal("TERM");
    assert!(server.wait());
    directory
}

/// Asserts that a report about the log has the same totals; returns the report.
fn identified_alike(directory: &Path, told: &Value) -> Value {
    let log = report(directory, &["access.log"]);
    for total in [
        "people",
        "shared",
        "robots",
        "unlisted",
        "no_user_agent",
        "all",
    ] {
        assert_eq!(told["totals"][total], log["totals"][total], "{total}");
    }
    log
}

#[test]
fn the_report_agrees_with_the_log_of_the_same_requests() {
    let directory = asked();
    let told = report(directory.path(), &["--since", "all"]);
    let log = identified_alike(directory.path(), &told);
    assert_eq!(told["totals"]["all"]["hits"], 39);
    let listed = |value: &Value| -> Vec<Value> {
        let robots = value["robots"].as_array().unwrap().iter();
        robots
            .filter(|robot| robot["robot"] != "unlisted")
            .cloned()
            .collect()
    };
    assert_eq!(listed(&told), listed(&log));
    assert_eq!(
        rows(&told, "operators", "operator"),
        rows(&log, "operators", "operator")
    );
    assert_eq!(
        rows(&told, "decisions", "decision"),
        [("pass", 27), ("redirect", 12)]
    );
    assert_eq!(
        rows(&told, "sites", "site"),
        [("shop", 26), ("blog", 12), ("none", 1)]
    );
    assert_eq!(
        rows(&told, "statuses", "status"),
        [("2xx", 26), ("3xx", 12), ("4xx", 1)]
    );
}

#[test]
fn the_report_can_be_limited_to_a_site_or_time_in_each_format() {
    let directory = asked();
    let shop = report(directory.path(), &["--site", "shop", "--since", "all"]);
    assert_eq!(
        rows(&shop, "robots", "robot"),
        [("googlebot", 10), ("unlisted", 5)]
    );
    let table = succeed(directory.path(), &["report"]);
    assert!(
        table.contains("\nFrom 20") && table.contains("\n  googlebot "),
        "{table}"
    );
    let csv = succeed(directory.path(), &["report", "--csv", "--by", "decision"]);
    assert_eq!(csv.lines().nth(2), Some("redirect,12,0.307692,0,0.000000"));
    let before = report(
        directory.path(),
        &["--since", "all", "--until", "2020-01-01"],
    );
    assert_eq!(before["totals"]["all"]["hits"], 0);
}

#[test]
fn counts_of_a_killed_server_are_kept_and_the_next_one_adds_to_them() {
    let directory = tempfile::tempdir().unwrap();
    let upstream = TestServer::new(Reply::text("hello"));
    let hits = || {
        report(directory.path(), &[])["totals"]["all"]["hits"]
            .as_u64()
            .unwrap()
    };
    let server = start(directory.path(), &upstream, "");
    ask(&server, "shop.example", "/", Some(GOOGLEBOT), 4);
    eventually("the counts are stored while the server runs", || {
        hits() == 4
    });
    server.signal("KILL");
    drop(server);
    let server = start(directory.path(), &upstream, "");
    ask(&server, "shop.example", "/", Some(GOOGLEBOT), 3);
    server.signal("TERM");
    assert!(server.wait());
    assert_eq!(hits(), 7);
}

#[test]
fn requests_to_the_programs_own_pages_are_not_visits() {
    let directory = tempfile::tempdir().unwrap();
    let upstream = TestServer::new(Reply::text("hello"));
    let server = start(directory.path(), &upstream, "");
    ask(
        &server,
        "shop.example",
        "/robot-detection/admin/login",
        Some(FIREFOX),
        3,
    );
    ask(&server, "shop.example", "/", Some(FIREFOX), 1);
    server.signal("TERM");
    assert!(server.wait());
    assert_eq!(report(directory.path(), &[])["totals"]["all"]["hits"], 1);
}

#[test]
fn nothing_is_stored_where_counting_is_off() {
    let directory = tempfile::tempdir().unwrap();
    let upstream = TestServer::new(Reply::text("hello"));
    let server = start(directory.path(), &upstream, "traffic.keep = false");
    ask(&server, "shop.example", "/", Some(GOOGLEBOT), 4);
    server.signal("TERM");
    assert!(server.wait());
    let output = run(directory.path(), &["report"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("traffic.keep is false"), "{error}");
    let file = directory.path().join("robot-detection.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("traffic.keep = false", "")).unwrap();
    assert_eq!(report(directory.path(), &[])["totals"]["all"]["hits"], 0);
}

#[test]
fn wrong_usage_explains_the_right_one() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (["--since", "yesterday"], "use 30m, 24h, 7d"),
        (
            ["--until", "2020-01-01"],
            "--since must not be later than --until",
        ),
    ] {
        let mut all = vec!["report"];
        all.extend(arguments);
        let output = run(directory.path(), &all);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn an_application_counts_with_a_layer_outside_the_detection() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", directory.path().join("app.db").display());
    let builder = RobotDetection::builder().database_url(&url);
    let robots = builder.web_robots_db("").build().await.unwrap();
    let mut app = axum::Router::new()
        .route("/", get(async || "hello"))
        .layer(robots.layer())
        .layer(robots.traffic_layer());
    for (path, user_agent) in [
        ("/", GOOGLEBOT),
        ("/", FIREFOX),
        ("/", FIREFOX),
        ("/members-only-stuff/a", GOOGLEBOT),
        ("/robot-detection/admin/", FIREFOX),
    ] {
        let request = Request::get(path).header("user-agent", user_agent);
        let response = app
            .call(request.body(Body::empty()).unwrap())
            .await
            .unwrap();
        let outcome = response.extensions().get::<Outcome>();
        assert!(outcome.is_none(), "the outcome must not leave the layer");
        to_bytes(Body::new(response.into_body()), 1_000)
            .await
            .unwrap();
    }
    robots.shutdown().await;
    let store = Store::connect(&url).await.unwrap();
    let now_ms = Clock::system().now_ms();
    let sums = store
        .traffic()
        .read(now_ms / 60_000 - 5..now_ms / 60_000 + 1, now_ms)
        .await
        .unwrap();
    let mut told: Vec<_> = sums
        .iter()
        .map(|sum| {
            (
                &*sum.key.robot,
                &*sum.key.decision,
                sum.count.requests,
                sum.count.bytes,
            )
        })
        .collect();
    told.sort_unstable();
    let expected = [
        ("", "pass", 2, 10),
        ("googlebot", "pass", 1, 5),
        ("googlebot", "redirect", 1, 0),
    ];
    assert_eq!(told, expected);
}

/// Returns an nginx log of a number of requests, ten a minute.
fn nginx_log(requests: std::ops::Range<usize>) -> String {
    let agents = [
        GOOGLEBOT,
        FIREFOX,
        GPTBOT,
        UNLISTED,
        "-",
        FIREFOX,
        "curl/8.5.0",
    ];
    let line = |number: usize| {
        let (day, minute) = (1 + number / 14_400, number / 10 % 1_440);
        format!(
            "192.0.2.{} - - [{day:02}/Mar/2026:{:02}:{:02}:{:02} +0000] \"GET /{number} HTTP/1.1\" {} {} \"-\" \"{}\"\n",
            number % 250,
            minute / 60,
            minute % 60,
            number % 10,
            [200, 200, 404, 301][number % 4],
            number % 900,
            agents[number % agents.len()]
        )
    };
    requests.map(line).collect()
}

/// A command that follows a log; killed when dropped.
struct Following(Child);

impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn import(directory: &Path, arguments: &[&str]) -> Value {
    let mut all = vec!["traffic", "import", "--json"];
    all.extend(arguments);
    serde_json::from_str(&succeed(directory, &all)).unwrap()
}

#[test]
fn a_log_is_counted_once_however_often_it_is_imported_and_however_it_grows() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    std::fs::write(path.join("robot-detection.toml"), "web_robots_db = ''").unwrap();
    let (log, old) = (path.join("access.log"), nginx_log(0..20_000));
    // The last line is not yet complete.
    std::fs::write(&log, format!("{old}192.0.2.1 - - [02/Mar/2026:09:")).unwrap();
    assert_eq!(import(path, &["access.log"])[0]["requests"], 20_000);
    let again = import(path, &["access.log"]);
    assert_eq!(again[0]["requests"], 0, "{again}");
    let whole = nginx_log(0..30_000);
    std::fs::write(&log, &whole).unwrap();
    assert_eq!(import(path, &["access.log"])[0]["requests"], 10_000);
    // Rotated and compressed.
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(whole.as_bytes()).unwrap();
    std::fs::write(path.join("access.log.1.gz"), packed.finish().unwrap()).unwrap();
    let again = import(path, &["access.log.1.gz", "access.log"]);
    assert_eq!(
        (&again[0]["requests"], &again[1]["requests"]),
        (&0.into(), &0.into())
    );

    let told = report(path, &["--since", "2026-03-01"]);
    identified_alike(path, &told);
    let day = report(path, &["--since", "2026-03-02", "--until", "2026-03-03"]);
    assert_eq!(day["totals"]["all"]["hits"], 14_400);
}

#[test]
fn minutes_counted_by_a_server_are_skipped_in_its_log() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let upstream = TestServer::new(Reply::text("hello"));
    let server = start(path, &upstream, "");
    ask(&server, "shop.example", "/members/a", Some(GOOGLEBOT), 3);
    ask(&server, "blog.example", "/", Some(GOOGLEBOT), 2);
    server.signal("TERM");
    assert!(server.wait());
    let now = std::fs::read_to_string(path.join("access.log")).unwrap();
    std::fs::write(path.join("all.log"), nginx_log(0..100) + &now).unwrap();
    let imported = import(path, &["--site", "shop", "all.log"]);
    assert_eq!(imported[0]["requests"], 100, "{imported}");
    assert_eq!(imported[0]["counted_live"], 5);
    let shop = report(path, &["--since", "all", "--site", "shop"]);
    assert_eq!(shop["totals"]["all"]["hits"], 103);
}

#[test]
fn a_growing_log_is_followed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    std::fs::write(path.join("robot-detection.toml"), "web_robots_db = ''").unwrap();
    std::fs::write(path.join("access.log"), nginx_log(0..10)).unwrap();
    let arguments = ["traffic", "import", "--follow", "access.log"];
    let following = Following(command(path).args(arguments).spawn().unwrap());
    let all = || report(path, &["--since", "2026-03-01"])["totals"]["all"]["hits"].clone();
    eventually("the existing lines are counted", || all() == 10);
    std::fs::write(path.join("access.log"), nginx_log(0..35)).unwrap();
    eventually("the new lines are counted", || all() == 35);
    // Rotated: another log with the same name.
    std::fs::write(path.join("access.log"), nginx_log(100..120)).unwrap();
    eventually("the next log is counted", || all() == 55);
    drop(following);
}

#[test]
fn a_file_that_is_not_a_log_is_reported_and_the_others_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    std::fs::write(path.join("robot-detection.toml"), "web_robots_db = ''").unwrap();
    std::fs::write(path.join("a.log"), nginx_log(0..10)).unwrap();
    std::fs::write(path.join("noise"), [0_u8, 255, 10, 13, 0, 10, 200]).unwrap();
    std::fs::write(path.join("cut.gz"), [0x1f, 0x8b, 8, 0, 0]).unwrap();
    std::fs::write(path.join("empty"), "").unwrap();
    let files = ["missing", "noise", "cut.gz", "empty", "a.log"];
    let mut all = vec!["traffic", "import"];
    all.extend(files);
    let output = run(path, &all);
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("error: missing: ") && error.contains("error: cut.gz: "),
        "{error}"
    );
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        told.contains("a.log: 10 requests counted, import "),
        "{told}"
    );
    assert!(error.contains("error: noise: no line is "), "{error}");
    assert!(!told.contains("noise"), "{told}");
}

#[test]
fn unknown_log_formats_are_rejected_and_imports_can_be_undone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    std::fs::write(path.join("robot-detection.toml"), "web_robots_db = ''").unwrap();
    let log = nginx_log(0..10);
    let common = log.lines().filter_map(|line| line.split_once(" \"-\" "));
    let common = common.map(|(common, _)| common.to_owned() + "\n");
    let common = common.collect::<Vec<_>>().concat();
    for (name, text, recognised) in [
        (
            "common.log",
            &*common,
            "recognised: common with bytes, client, method, path, status, time",
        ),
        (
            "own.log",
            "{\"ua\":\"A/1\",\"time\":\"2026-03-01T10:00:00Z\"}\n",
            "recognised: JSON with time",
        ),
        (
            "nested.log",
            "{\"httpRequest\":{\"agent\":\"A/1\",\"status\":200},\"timestamp\":\"2026-03-01T10:00:00Z\"}\n",
            "recognised: JSON with status, time",
        ),
    ] {
        std::fs::write(path.join(name), text).unwrap();
        let refused = run(path, &["traffic", "import", name]);
        let error = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{error}");
        assert!(
            error.contains("no line has a User-Agent") && error.contains(recognised),
            "{error}"
        );
    }
    let total = || report(path, &["--since", "2026-03-01"])["totals"]["all"]["hits"].clone();
    assert_eq!(total(), 0);
    std::fs::write(path.join("a.log"), nginx_log(0..100)).unwrap();
    let shown = run(path, &["traffic", "import", "a.log"]);
    let shown = String::from_utf8_lossy(&shown.stderr);
    assert!(
        shown
            .contains("a.log: combined with User-Agent, bytes, client, method, path, status, time"),
        "{shown}"
    );
    let wrong = import(path, &["--without-user-agent", "common.log"]);
    let id = wrong[0]["import"].as_str().unwrap();
    assert_eq!(total(), 110);
    let undone = succeed(path, &["traffic", "import", "--undo", id]);
    assert_eq!(undone, "common.log: 10 requests subtracted\n");
    assert_eq!(total(), 100);
    assert_eq!(
        run(path, &["traffic", "import", "--undo", id])
            .status
            .code(),
        Some(1)
    );
}
