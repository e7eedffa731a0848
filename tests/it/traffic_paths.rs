//! Requested paths: on a server, in an application, and from old logs.

use std::path::Path;

use axum::{
    body::{Body, to_bytes},
    http::Request,
    routing::get,
};
use robot_detection::{
    RobotDetection,
    clock::Clock,
    store::{PathSums, Store},
};
use serde_json::Value;
use tower::Service as _;

use crate::support::{
    eventually::eventually,
    http::{Reply, TestServer},
    program::{FIREFOX, GOOGLEBOT, Server, admin_json, exchange, request, run, succeed},
};

/// Segment that must never be stored for a person.
const SECRET: &str = "s3cr3t0f4p3rs0n9f86d081884c7d65";

fn start(directory: &Path, upstream: &TestServer, more: &str) -> Server {
    let upstream = upstream.url("");
    let text = format!(
        "{more}\nweb_robots_db = ''\nverify.enabled = false\naccess_log.path = 'access.log'\nserver.upstream = '{}'\n",
        upstream.trim_end_matches('/')
    );
    std::fs::write(directory.join("robot-detection.toml"), text).unwrap();
    Server::start(directory, &["serve"])
}

fn ask(server: &Server, path: &str, user_agent: &str, times: usize) {
    for _ in 0..times {
        let headers = [("Host", "a.example"), ("User-Agent", user_agent)];
        request(server.addr, "GET", path, &headers);
    }
}

fn stop(server: Server) {
    server.signal("TERM");
    assert!(server.wait());
}

fn report(directory: &Path, arguments: &[&str]) -> Value {
    let mut all = vec!["report", "--json", "--since", "all"];
    all.extend(arguments);
    serde_json::from_str(&succeed(directory, &all)).unwrap()
}

/// Returns names and numbers of a table's rows, for robots or for people.
fn rows(report: &Value, table: &str, name: &str) -> Vec<(String, u64, u64)> {
    let rows = report[table].as_array().unwrap().iter();
    let number = |row: &Value, key: &str| row[key].as_u64().unwrap();
    rows.map(|row| {
        let name = row[name].as_str().unwrap().to_owned();
        (name, number(row, "robots"), number(row, "people"))
    })
    .collect()
}

fn named(rows: &[(&str, u64, u64)]) -> Vec<(String, u64, u64)> {
    rows.iter()
        .map(|(name, robots, people)| ((*name).to_owned(), *robots, *people))
        .collect()
}

/// Returns the directory of a server with visits of robots and people, started twice.
fn asked() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let upstream = TestServer::new(Reply::text("hello"));
    let server = start(directory.path(), &upstream, "");
    ask(&server, "/docs/guide/start.html?q=1", GOOGLEBOT, 4);
    ask(&server, "/docs/guide/a.md", GOOGLEBOT, 2);
    ask(&server, &format!("/account/reset/{SECRET}"), FIREFOX, 3);
    ask(&server, &format!("/{SECRET}"), FIREFOX, 1);
    stop(server);
    let server = start(directory.path(), &upstream, "");
    ask(&server, "/docs/guide/start.html", FIREFOX, 5);
    ask(&server, "/a%0A%1B[2J,=1", GOOGLEBOT, 1);
    stop(server);
    directory
}

#[test]
fn the_report_lists_the_pages_of_robots_and_only_patterns_of_people() {
    let directory = asked();
    let path = directory.path();
    let told = report(path, &["--by", "path,pattern,form"]);
    let expected = named(&[
        ("/docs/guide/*", 0, 5),
        ("/docs/guide/start.html", 4, 0),
        ("/account/reset/*", 0, 3),
        ("/docs/guide/a.md", 2, 0),
        ("/*", 0, 1),
        ("/a%0A%1B[2J,=1", 1, 0),
    ]);
    assert_eq!(rows(&told, "paths", "path"), expected);
    let patterns = rows(&told, "patterns", "pattern");
    assert_eq!(patterns[0], ("/docs/guide/*".to_owned(), 6, 5));
    assert_eq!(
        rows(&told, "forms", "form"),
        named(&[("html", 5, 0), ("markdown", 2, 0)])
    );
    assert_eq!(told["total"]["requests"], 16);
    assert_eq!(told["total"]["at_most_more"], 0);
    let guide = report(path, &["--path", "/docs/*", "--robot", "googlebot"]);
    assert_eq!(guide["total"]["requests"], 6);
    let csv = succeed(path, &["report", "--csv", "--by", "path"]);
    assert!(
        csv.contains("\n\"/a%0A%1B[2J,=1\",1,0,1,0,0,0,0\n"),
        "{csv}"
    );
    let table = succeed(path, &["report", "--by", "pattern"]);
    assert!(table.contains("about 16 requests"), "{table}");
    assert!(!table.contains('\u{1b}'));
    // No file of the database contains the secret.
    let kept = std::fs::read_dir(path).unwrap().flatten();
    for file in kept.filter(|file| file.file_name().to_string_lossy().contains(".db")) {
        let bytes = std::fs::read(file.path()).unwrap();
        let is_there = bytes
            .windows(SECRET.len())
            .any(|part| part == SECRET.as_bytes());
        assert!(!is_there, "{:?}", file.file_name());
    }
}

#[test]
fn an_imported_log_gives_the_same_report_as_the_server_that_wrote_it() {
    let directory = asked();
    let other = tempfile::tempdir().unwrap();
    std::fs::write(
        other.path().join("robot-detection.toml"),
        "web_robots_db = ''",
    )
    .unwrap();
    let log = directory.path().join("access.log");
    std::fs::copy(log, other.path().join("access.log")).unwrap();
    succeed(other.path(), &["traffic", "import", "access.log"]);
    let by = ["--by", "path,pattern,form"];
    let (live, imported) = (report(directory.path(), &by), report(other.path(), &by));
    for table in ["paths", "patterns", "forms", "total"] {
        assert_eq!(live[table], imported[table], "{table}");
    }
}

#[test]
fn no_path_is_stored_where_counting_is_off() {
    let directory = tempfile::tempdir().unwrap();
    let upstream = TestServer::new(Reply::text("hello"));
    let server = start(directory.path(), &upstream, "traffic.paths = false");
    ask(&server, "/a", GOOGLEBOT, 2);
    stop(server);
    let output = run(directory.path(), &["report", "--by", "path"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("traffic.paths is false"), "{error}");
    let counts = report(directory.path(), &["--by", "robot"]);
    assert_eq!(counts["totals"]["all"]["hits"], 2);
}

#[test]
fn queries_that_paths_cannot_answer_are_rejected() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (&["--by", "path,robot"][..], "use two reports"),
        (&["--by", "robot", "--path", "/a"], "--path requires"),
        (
            &["--by", "path", "--verdict", "verified"],
            "only by --site and --robot",
        ),
        (&["--csv", "--by", "path,form"], "--csv prints one table"),
    ] {
        let all: Vec<_> = ["report"].iter().chain(arguments).copied().collect();
        let output = run(directory.path(), &all);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn an_application_stores_paths_too() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", directory.path().join("app.db").display());
    let builder = RobotDetection::builder().database_url(&url);
    let robots = builder.web_robots_db("").build().await.unwrap();
    let mut app = axum::Router::new()
        .route("/docs/guide/{page}", get(async || "hello"))
        .layer(robots.layer())
        .layer(robots.traffic_layer());
    for (path, user_agent) in [
        ("/docs/guide/a", GOOGLEBOT),
        ("/docs/guide/a", FIREFOX),
        ("/docs/gone", FIREFOX),
        ("/robot-detection/admin/", FIREFOX),
    ] {
        let request = Request::get(path).header("user-agent", user_agent);
        let response = app
            .call(request.body(Body::empty()).unwrap())
            .await
            .unwrap();
        to_bytes(Body::new(response.into_body()), 1_000)
            .await
            .unwrap();
    }
    robots.shutdown().await;
    let store = Store::connect(&url).await.unwrap();
    let now_ms = Clock::system().now_ms();
    let minute = now_ms / 60_000;
    let sums: PathSums = store
        .traffic()
        .paths(minute - 60..minute + 1, None, now_ms)
        .await
        .unwrap();
    let mut told: Vec<_> = sums
        .rows
        .iter()
        .map(|row| (&*row.key.robot, &*row.key.path, row.count.client_errors))
        .collect();
    told.sort_unstable();
    let expected = [
        ("", "/docs/gone", 1),
        ("", "/docs/guide/*", 0),
        ("googlebot", "/docs/guide/a", 0),
    ];
    assert_eq!(told, expected);
}

/// Sends requests with different queries from several networks.
fn ask_from_networks(server: &Server, user_agent: &str, queries: impl Iterator<Item = String>) {
    for (number, query) in queries.enumerate() {
        let client = format!("198.51.{}.7", number % 4);
        let headers = [
            ("Host", "a.example"),
            ("User-Agent", user_agent),
            ("X-Forwarded-For", client.as_str()),
        ];
        request(
            server.addr,
            "GET",
            &format!("/shop/roses?{query}"),
            &headers,
        );
    }
}

#[test]
fn parameters_of_robots_lead_to_a_rule_that_stops_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let upstream = TestServer::new(Reply::text("hello"));
    let more = "server.trusted_proxies = ['127.0.0.1']";
    let server = start(path, &upstream, more);
    let colors =
        |number: u32| format!("color=c{number}&page=1&session={SECRET}{number}&{SECRET}=1");
    ask_from_networks(&server, GOOGLEBOT, (0..40).map(colors));
    ask_from_networks(&server, GOOGLEBOT, (0..10).map(|_| String::new()));
    ask_from_networks(
        &server,
        FIREFOX,
        (0..8).map(|number| format!("mine={number}")),
    );
    stop(server);
    let told = report(path, &[]);
    let rows = told["parameters"].to_string();
    assert!(rows.contains("color") && !rows.contains("mine"), "{told:#}");

    let server = start(path, &upstream, more);
    let token = succeed(path, &["admin", "token", "console"]);
    let admin = |method, path: &str, body: &str| {
        let answer = admin_json(server.addr, token.trim(), (method, path), body);
        serde_json::from_slice::<Value>(&answer.body).unwrap()
    };
    let paths = admin("GET", "traffic/paths?path=/shop/*", "");
    let row = |name: &str| {
        let rows = paths["parameters"].as_array().unwrap().iter();
        rows.clone()
            .find(|row| row["parameter"] == name)
            .unwrap_or(&Value::Null)
    };
    let color = row("color");
    assert_eq!(color["path"], "/shop/roses");
    assert_eq!(color["requests"], 40);
    assert_eq!(color["all_requests"], 50);
    assert_eq!((&color["values"], &color["pages"]), (&40.into(), &1.into()));
    assert_eq!(row("page")["rule"], Value::Null);
    assert_eq!(row("mine"), &Value::Null);
    assert!(row("session")["values"].as_u64() == Some(40), "{paths:#}");
    assert!(!paths.to_string().contains(SECRET));
    let added = admin("POST", "rules", &color["rule"].to_string());
    assert_eq!(added["outcome"], "added", "{added:#}");
    let status = |target: &str, user_agent| {
        let headers = [("Host", "a.example"), ("User-Agent", user_agent)];
        request(server.addr, "GET", target, &headers).status
    };
    eventually("the rule is in force", || {
        status("/shop/roses?a=1&color=x", GOOGLEBOT) == 403
    });
    assert_eq!(status("/shop/roses?page=1", GOOGLEBOT), 200);
    assert_eq!(status("/shop/roses?color=x", FIREFOX), 200);

    // Deleting the stored data of a robot deletes its parameters.
    stop(server);
    let arguments = ["traffic", "forget", "--robot", "googlebot"];
    succeed(path, &arguments);
    let told = report(path, &[]);
    assert_eq!(told["parameters"], Value::Array(Vec::new()));
}

/// Part of every name and value that must not be found anywhere.
const PERSONAL: &str = "p3rs0n";

/// Returns a query with names and values of a person.
fn personal_query(number: u32) -> String {
    let token = format!(
        "{PERSONAL}{:x}",
        u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    );
    match number % 6 {
        0 => format!("email={token}%40mail.example&page=2"),
        1 => format!("{token}@mail.example"),
        2 => format!("PHPSESSID={token}&{token}[]=1"),
        3 => format!("a=1&{PERSONAL}=1;{token};b"),
        4 => format!("next=/reset/{token}?{token}={token}#{token}"),
        _ => format!("%70{}%00{token}&q={token}+{token}%FF", &PERSONAL[1..]),
    }
}

/// Sends 10,000 requests of people, whose queries contain personal names and values.
fn ask_as_people(server: &Server) {
    for first in (0..10_000).step_by(100) {
        let requests = (first..first + 100).map(|number| {
            let end = if number % 100 == 99 {
                "Connection: close\r\n"
            } else {
                ""
            };
            let target = format!("/shop/{}?{}", number % 7, personal_query(number));
            format!(
                "GET {target} HTTP/1.1\r\nHost: a.example\r\nUser-Agent: {FIREFOX}\r\n{end}\r\n"
            )
        });
        let answer = exchange(server.addr, requests.collect::<String>().as_bytes());
        assert!([200, 403].contains(&answer.status));
    }
}

#[test]
fn nothing_of_a_persons_query_is_stored_or_shown() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let upstream = TestServer::new(Reply::text("hello"));
    let text = format!(
        "web_robots_db = ''\nserver.upstream = '{}'\nserver.trusted_proxies = ['127.0.0.1']\n\
         [[rule]]\nvisitors = 'all'\nquery = ['q']\naction = 'refuse'\n[suspects]\naction = 'report'\n",
        upstream.url("").trim_end_matches('/')
    );
    std::fs::write(path.join("robot-detection.toml"), text).unwrap();
    let server = Server::start(path, &["serve"]);
    ask_as_people(&server);
    // A robot whose requests are shown, with a value of a person.
    ask_from_networks(
        &server,
        GOOGLEBOT,
        (0..20).map(|number| format!("color={PERSONAL}{number}")),
    );
    let mut shown = vec![server.metrics()];
    stop(server);
    let server = Server::start(path, &["serve"]);
    let token = succeed(path, &["admin", "token", "console"]);
    for subject in [
        "traffic",
        "traffic/paths",
        "evidence",
        "suspects",
        "rules",
        "audit",
    ] {
        let answer = admin_json(server.addr, token.trim(), ("GET", subject), "");
        shown.push(answer.text());
    }
    assert!(shown[2].contains("color"), "{}", shown[2]);
    // `explain` names the parameters of the URL that it is given, without their values.
    let target = format!("/shop/1?{}", personal_query(0));
    let arguments = [
        "explain",
        "--json",
        "--user-agent",
        FIREFOX,
        "--path",
        &target,
    ];
    let explained = succeed(path, &arguments);
    stop(server);
    shown.push(succeed(path, &["report", "--since", "all"]));
    shown.push(explained.replace(&target, ""));
    for file in std::fs::read_dir(path).unwrap().flatten() {
        if file.file_type().unwrap().is_file() {
            shown.push(String::from_utf8_lossy(&std::fs::read(file.path()).unwrap()).into_owned());
        }
    }
    assert!(shown.len() > 9);
    for text in &shown {
        let place = text.to_ascii_lowercase().find(PERSONAL);
        let around = place.map(|at| text.get(at.saturating_sub(80)..at + 80));
        assert_eq!(around, None);
    }
}
