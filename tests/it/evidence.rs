//! Evidence about single requests: a running server stores, shows and deletes it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{net::SocketAddr, path::Path};

use serde_json::Value;

use crate::support::{
    http::{Reply, TestServer},
    postgres,
    program::{CHROME, FIREFOX, GOOGLEBOT, Server, eventually, request, run, succeed},
};

const GPTBOT: &str = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)";
const UNLISTED: &str = "Mozilla/5.0 (compatible; frobnicator-crawler/1.0; +https://frob.example/)";
/// User-Agent that is shared by many people.
const SHARED: &str = "Amazon CloudFront";

const SETTINGS: &str = r#"
web_robots_db = ""
filter_pattern = "/members/*"
redirect_url = "/robot-heaven/"
[server]
upstream = "UPSTREAM"
trusted_proxies = ["127.0.0.1"]
[verify]
enabled = false
[robots_txt]
serve = "file"
file = "robots.txt"
[[rule]]
path = "/refused/*"
action = "refuse"
[[rule]]
path = "/slow/*"
action = "slow"
requests = 1
"#;

const ROBOTS_TXT: &str = "# Ours\nUser-agent: *\nAllow: /\nDisallow: /private/\n";

/// Directory of a server with an upstream.
struct House {
    directory: tempfile::TempDir,
    upstream: TestServer,
}

impl House {
    fn new(more: &str) -> Self {
        let house = Self {
            directory: tempfile::tempdir().unwrap(),
            upstream: TestServer::new(Reply::text("hello, whoever you are")),
        };
        std::fs::write(house.path().join("robots.txt"), ROBOTS_TXT).unwrap();
        house.configure(more);
        house
    }

    fn configure(&self, more: &str) {
        let upstream = self.upstream.url("");
        let text = SETTINGS.replace("UPSTREAM", upstream.trim_end_matches('/'));
        std::fs::write(
            self.path().join("robot-detection.toml"),
            format!("{more}\n{text}"),
        )
        .unwrap();
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn serve(&self) -> Server {
        Server::start(self.path(), &["serve"])
    }

    fn token(&self) -> String {
        let token = succeed(self.path(), &["admin", "token", "test"]);
        token.trim().to_owned()
    }
}

fn ask(server: &Server, path: &str, user_agent: &str, address: &str) -> u16 {
    let headers = [("User-Agent", user_agent), ("X-Forwarded-For", address)];
    request(server.addr, "GET", path, &headers).status
}

fn api(at: SocketAddr, token: &str, query: &str) -> crate::support::program::Answer {
    let path = format!("/robot-detection/admin/api/v1/evidence{query}");
    let bearer = format!("Bearer {token}");
    request(at, "GET", &path, &[("Authorization", &bearer)])
}

fn kept(server: &Server, token: &str, query: &str) -> Vec<Value> {
    let told = api(server.addr, token, query).text();
    let told: Value = serde_json::from_str(&told).unwrap_or_else(|_| panic!("{told}"));
    told["evidence"]
        .as_array()
        .unwrap_or_else(|| panic!("{told}"))
        .clone()
}

/// Returns some fields of each sample, the oldest first.
fn fields(rows: &[Value], names: &[&str]) -> Vec<String> {
    let row = |row: &Value| {
        let fields = names.iter().map(|name| match &row[name] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        fields.collect::<Vec<_>>().join(" ")
    };
    rows.iter().rev().map(row).collect()
}

#[test]
fn evidence_of_actions_survives_a_restart_and_passed_requests_leave_none() {
    let house = House::new("");
    let token = house.token();
    let server = house.serve();
    assert_eq!(ask(&server, "/", GOOGLEBOT, "203.0.113.1"), 200);
    assert_eq!(ask(&server, "/members/a", FIREFOX, "203.0.113.2"), 200);
    assert_eq!(
        ask(&server, "/members/a?secret=1", GOOGLEBOT, "203.0.113.3"),
        302
    );
    assert_eq!(ask(&server, "/refused/a", UNLISTED, "203.0.113.4"), 403);
    assert_eq!(ask(&server, "/slow/a", GPTBOT, "203.0.113.5"), 200);
    assert_eq!(ask(&server, "/slow/a", GPTBOT, "203.0.113.5"), 429);
    assert_eq!(
        ask(&server, "/private/a?secret=2", GPTBOT, "203.0.113.5"),
        200
    );
    let expected = [
        "redirect googlebot redirect 302 /members/a 203.0.113.3",
        "refuse unlisted refuse 403 /refused/a 203.0.113.0/24",
        "slow gptbot slow 429 /slow/a 203.0.113.5",
        "violation gptbot pass 200 /private/a 203.0.113.5",
    ];
    let names = ["event", "robot", "decision", "status", "path", "address"];
    // A passed request is counted at the end of its body, possibly after the client has read it.
    eventually("all samples are stored", || {
        kept(&server, &token, "").len() == expected.len()
    });
    assert_eq!(fields(&kept(&server, &token, ""), &names), expected);
    server.signal("KILL");
    drop(server);
    let server = house.serve();
    let rows = kept(&server, &token, "");
    assert_eq!(fields(&rows, &names), expected);
    let broken = &rows[0]["robots_txt"];
    assert_eq!(
        (&broken["line"], &broken["group_line"]),
        (&4.into(), &2.into())
    );
    assert_eq!(broken["rule"], "Disallow: /private/");
    assert_eq!(rows[1]["cause"], "rule 2");
    let database = std::fs::read(house.path().join("robot-detection.db")).unwrap();
    let wal = std::fs::read(house.path().join("robot-detection.db-wal")).unwrap_or_default();
    for secret in ["secret=", "203.0.113.4", "203.0.113.2", "203.0.113.1"] {
        let has = |bytes: &[u8]| memchr::memmem::find(bytes, secret.as_bytes()).is_some();
        assert!(!has(&database) && !has(&wal), "{secret} is in the database");
    }
}

#[test]
fn a_dry_run_stores_evidence_and_people_appear_only_by_pattern() {
    let house = House::new("mode = \"report\"\ntraffic.addresses = \"none\"");
    let place = house.path().join("robot-detection.toml");
    let rule = "[[rule]]\npath = \"/orders/*\"\nvisitors = [\"shared\"]\naction = \"refuse\"\n";
    let text = std::fs::read_to_string(&place).unwrap();
    std::fs::write(&place, text + rule).unwrap();
    let token = house.token();
    let server = house.serve();
    assert_eq!(ask(&server, "/members/a", GOOGLEBOT, "203.0.113.3"), 200);
    assert_eq!(
        ask(&server, "/orders/4711/secret", SHARED, "203.0.113.3"),
        200
    );
    eventually("both are stored", || kept(&server, &token, "").len() == 2);
    let names = ["kind", "decision", "path", "address"];
    assert_eq!(
        fields(&kept(&server, &token, ""), &names),
        [
            "listed would-redirect /members/a null",
            "shared would-refuse /orders/* null"
        ]
    );
}

#[test]
fn suspects_are_stored_with_their_reasons_whatever_the_decision() {
    let house = House::new("suspects.action = \"report\"");
    let place = house.path().join("robot-detection.toml");
    let rule = "[[rule]]\nname = \"shut\"\npath = \"/shut/*\"\nsuspect = true\naction = \"refuse\"\npeople = true\n";
    let text = std::fs::read_to_string(&place).unwrap();
    std::fs::write(&place, text + rule).unwrap();
    let token = house.token();
    let server = house.serve();
    let impossible = CHROME.replace("Safari/537.36", "Safari/537.3");
    assert_eq!(ask(&server, "/orders/4711", CHROME, "203.0.113.2"), 200);
    assert_eq!(
        ask(&server, "/orders/4712", &impossible, "203.0.113.3"),
        200
    );
    assert_eq!(ask(&server, "/shut/a", &impossible, "203.0.113.3"), 403);
    assert_eq!(ask(&server, "/refused/a", GPTBOT, "203.0.113.5"), 403);
    eventually("all are stored", || kept(&server, &token, "").len() == 3);
    let names = [
        "event", "kind", "decision", "cause", "path", "address", "suspect",
    ];
    let reasons = "[\"version-impossible\"]";
    let expected = [
        format!("suspect person pass suspect /orders/* 203.0.113.0/24 {reasons}"),
        format!("refuse person refuse rule \"shut\" /shut/* 203.0.113.0/24 {reasons}"),
    ];
    for filter in ["?suspect=any", "?suspect=version-impossible"] {
        assert_eq!(fields(&kept(&server, &token, filter), &names), expected);
    }
    assert_eq!(kept(&server, &token, "?event=suspect").len(), 1);
    let report = succeed(house.path(), &["report", "--json"]);
    let report: Value = serde_json::from_str(&report).unwrap();
    let figures = &report["suspects"];
    assert_eq!(
        (&figures[0]["number"], &figures[1]["number"]),
        (&3.into(), &1.into()),
        "{figures}"
    );
    assert!(kept(&server, &token, "?suspect=header-order").is_empty());
    let wrong = api(server.addr, &token, "?suspect=header");
    assert_eq!(wrong.status, 422);
    assert!(
        wrong.text().contains("must be one of any, "),
        "{}",
        wrong.text()
    );
    let csv = api(server.addr, &token, "?suspect=any&format=csv").text();
    assert!(csv.lines().next().unwrap().contains(",suspect,"), "{csv}");
    assert_eq!(csv.matches(",version-impossible,").count(), 2, "{csv}");
}

#[test]
fn hostile_visitors_are_escaped_in_json_and_spreadsheets() {
    let house = House::new("");
    let token = house.token();
    let server = house.serve();
    let hostile = "=HYPERLINK(\"http://evil.example\") GPTBot/1.2 <script>,";
    for path in ["/members/%3Cscript%3E=1+1", "/members/-2"] {
        assert_eq!(ask(&server, path, hostile, "203.0.113.3"), 302);
    }
    let rows = kept(&server, &token, "");
    assert_eq!(rows[0]["user_agent"], hostile);
    let csv = api(server.addr, &token, "?format=csv");
    assert_eq!(csv.header("content-type"), "text/csv; charset=utf-8");
    let text = csv.text();
    assert_eq!(text.lines().count(), 3, "{text}");
    let cell = "\"'=HYPERLINK(\"\"http://evil.example\"\") GPTBot/1.2 <script>,\"";
    assert!(text.contains(cell), "{text}");
}

#[test]
fn the_evidence_api_rejects_unknown_parameters_and_pages_results() {
    let house = House::new("");
    let token = house.token();
    let server = house.serve();
    for number in 0..5 {
        ask(
            &server,
            &format!("/members/{number}"),
            GOOGLEBOT,
            "203.0.113.3",
        );
    }
    for (query, status, words) in [
        ("?robott=x", 400, "did you mean robot?"),
        ("?event=crash", 422, "must be one of redirect, serve"),
        ("?decision=kill", 422, "must be one of pass"),
        ("?verdict=maybe", 422, "spoofed"),
        ("?limit=0", 422, "limit: must be a number from 1 to 1000"),
        ("?cursor=x", 422, "the previous page"),
        ("?since=yesterday", 422, "since: use 30m, 24h, 7d, 4w"),
        ("?format=xml", 422, "json, csv"),
    ] {
        let answer = api(server.addr, &token, query);
        assert_eq!(answer.status, status, "{query}: {}", answer.text());
        assert!(answer.text().contains(words), "{query}: {}", answer.text());
    }
    assert_eq!(api(server.addr, "nobody", "").status, 401);
    let first: Value = serde_json::from_str(&api(server.addr, &token, "?limit=3").text()).unwrap();
    let cursor = first["next"].as_str().unwrap();
    let rest = kept(&server, &token, &format!("?limit=3&cursor={cursor}"));
    assert_eq!(fields(&rest, &["path"]), ["/members/0", "/members/1"]);
    assert!(kept(&server, &token, "?until=2020-01-01").is_empty());
    assert_eq!(
        kept(&server, &token, "?since=1h&robot=googlebot&event=redirect").len(),
        5
    );
}

#[test]
fn evidence_about_a_visitor_can_be_deleted() {
    let house = House::new("");
    let server = house.serve();
    for address in ["203.0.113.3", "203.0.113.9", "198.51.100.1"] {
        assert_eq!(ask(&server, "/members/a", GOOGLEBOT, address), 302);
    }
    assert_eq!(ask(&server, "/refused/a", UNLISTED, "203.0.113.77"), 403);
    server.signal("TERM");
    assert!(server.wait());
    let forget = |arguments: &[&str]| {
        let mut all = vec!["traffic", "forget"];
        all.extend(arguments);
        succeed(house.path(), &all)
    };
    let told = forget(&["--address", "203.0.113.3", "--dry-run"]);
    assert_eq!(
        told,
        "2 evidence requests would be deleted, 1 of them stored only by network and possibly from other visitors\n"
    );
    let told: Value =
        serde_json::from_str(&forget(&["--address", "203.0.113.3", "--json"])).unwrap();
    assert_eq!(
        (&told["evidence"], &told["of_networks"]),
        (&2.into(), &1.into())
    );
    assert_eq!(
        forget(&["--robot", "googlebot", "--before", "1d"]),
        "0 evidence requests were deleted\n"
    );
    assert_eq!(
        forget(&["--address", "203.0.0.0/16"]),
        "1 evidence requests were deleted\n"
    );
    // Without an address, the paths of robots and people are deleted too.
    let told = forget(&["--before", "now"]);
    assert!(
        told.starts_with("1 evidence requests and ") && told.ends_with(" path rows were deleted\n"),
        "{told}"
    );
    for (arguments, words) in [
        (&[][..], "--address"),
        (&["--before", "all"], "--before now"),
        (&["--address", "203.0.113"], "write 203.0.113.7"),
    ] {
        let mut all = vec!["traffic", "forget"];
        all.extend(arguments);
        let output = run(house.path(), &all);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains(words), "{arguments:?}: {error}");
    }
}

#[test]
fn a_retention_of_zero_days_stores_nothing() {
    let house = House::new("traffic.evidence_days = 0");
    let token = house.token();
    let server = house.serve();
    assert_eq!(ask(&server, "/members/a", GOOGLEBOT, "203.0.113.3"), 302);
    assert!(kept(&server, &token, "").is_empty());
    let answer: Value = serde_json::from_str(&api(server.addr, &token, "").text()).unwrap();
    assert_eq!(
        (&answer["kept_days"], &answer["lost"]),
        (&0.into(), &0.into())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn two_instances_see_each_others_evidence() {
    let url = postgres::database_url().await;
    let houses = [(); 2].map(|()| House::new(&format!("database.url = {url:?}")));
    let token = houses[0].token();
    let [one, other] = &houses.each_ref().map(House::serve);
    assert_eq!(ask(one, "/members/a", GOOGLEBOT, "203.0.113.3"), 302);
    assert_eq!(ask(other, "/members/b", GOOGLEBOT, "203.0.113.3"), 302);
    for server in [one, other] {
        eventually("each sees both", || kept(server, &token, "").len() == 2);
    }
}
