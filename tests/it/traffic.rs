//! What is counted of visitors, and kept.

use std::{path::Path, time::Duration};

use axum::{
    body::{Body, to_bytes},
    http::Request,
    routing::get,
};
use robot_detection::{RobotDetection, clock::Clock, layer::Outcome, store::Store};
use serde_json::Value;
use tower::Service as _;

use crate::support::{
    http::{Reply, TestServer},
    program::{FIREFOX, GOOGLEBOT, Server, eventually, request, run, succeed},
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
    let mut all = vec!["traffic", "report", "--json"];
    all.extend(arguments);
    serde_json::from_str(&succeed(directory, &all)).unwrap()
}

/// Cells and hits of the rows of a table.
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

#[test]
fn the_report_tells_what_the_log_of_the_same_requests_tells() {
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

    let told = report(directory.path(), &["--since", "all"]);
    let log = [
        "identify",
        "--format",
        "combined",
        "--summary=json",
        "--input",
        "access.log",
    ];
    let log: Value = serde_json::from_str(&succeed(directory.path(), &log)).unwrap();
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

    let shop = report(directory.path(), &["--site", "shop", "--since", "all"]);
    assert_eq!(
        rows(&shop, "robots", "robot"),
        [("googlebot", 10), ("unlisted", 5)]
    );
    let table = succeed(directory.path(), &["traffic", "report"]);
    assert!(
        table.starts_with("From 20") && table.contains("\ngooglebot "),
        "{table}"
    );
    let csv = succeed(
        directory.path(),
        &["traffic", "report", "--csv", "--by", "decision"],
    );
    assert_eq!(csv.lines().nth(2), Some("redirect,12,0.307692,0,0.000000"));
    let before = report(
        directory.path(),
        &["--since", "all", "--until", "2020-01-01"],
    );
    assert_eq!(before["totals"]["all"]["hits"], 0);
}

#[test]
fn what_a_killed_server_had_counted_before_is_kept_and_the_next_one_adds_to_it() {
    let directory = tempfile::tempdir().unwrap();
    let upstream = TestServer::new(Reply::text("hello"));
    let hits = || {
        report(directory.path(), &[])["totals"]["all"]["hits"]
            .as_u64()
            .unwrap()
    };
    let server = start(directory.path(), &upstream, "");
    ask(&server, "shop.example", "/", Some(GOOGLEBOT), 4);
    eventually("the requests are kept while the server runs", || {
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
fn requests_of_the_program_s_own_pages_are_no_visits() {
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
fn nothing_is_kept_where_nobody_wants_it() {
    let directory = tempfile::tempdir().unwrap();
    let upstream = TestServer::new(Reply::text("hello"));
    let server = start(directory.path(), &upstream, "traffic.keep = false");
    ask(&server, "shop.example", "/", Some(GOOGLEBOT), 4);
    std::thread::sleep(Duration::from_millis(100));
    server.signal("TERM");
    assert!(server.wait());
    let output = run(directory.path(), &["traffic", "report"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("traffic.keep is false"), "{error}");
}

#[test]
fn wrong_usage_says_what_is_right() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (["--since", "yesterday"], "write 30m, 24h, 7d"),
        (["--until", "2020-01-01"], "--since is later than --until"),
    ] {
        let mut all = vec!["traffic", "report"];
        all.extend(arguments);
        let output = run(directory.path(), &all);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn an_application_counts_with_a_layer_outside_of_the_detection() {
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
        assert!(outcome.is_none(), "it is for the layer alone");
        to_bytes(Body::new(response.into_body()), 1_000)
            .await
            .unwrap();
    }
    robots.shutdown().await;
    let store = Store::connect(&url).await.unwrap();
    let now_ms = Clock::system().now_ms();
    let sums = store
        .traffic(now_ms / 60_000 - 5..now_ms / 60_000 + 1, now_ms)
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
