//! Fleets of robots that claim to be browsers: in logs, and among a running server's visitors.

use std::{fmt::Write as _, fs, io::Write as _, path::Path};

use flate2::{Compression, write::GzEncoder};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{
    program::{
        CHROME, FIREFOX, GOOGLEBOT, Server, admin_json, command, eventually, exchange, request,
        run, succeed,
    },
    raw::RawServer,
};

/// A browser whose User-Agent contains markup that pages and terminals must escape.
const SWARM: &str =
    "Mozilla/5.0 (X11; Linux) AppleWebKit/537.36 <b>Chrome/120.0.0.0</b> Safari/537.36";

/// Returns a line of the combined format, some seconds after 10 o'clock.
fn line(
    second: u32,
    address: &str,
    path: &str,
    status: u16,
    referrer: &str,
    agent: &str,
) -> String {
    let (hour, minute, second) = (10 + second / 3_600, second / 60 % 60, second % 60);
    let time = format!("01/Mar/2026:{hour:02}:{minute:02}:{second:02} +0000");
    format!(
        "{address} - - [{time}] \"GET {path} HTTP/1.1\" {status} 5 \"{referrer}\" \"{agent}\"\n"
    )
}

/// Returns twenty minutes of log lines with their seconds: people, a path scanner, a fleet.
fn lines(referrer: &str) -> Vec<(u32, String)> {
    let mut lines = Vec::new();
    for visit in 0..200_u32 {
        let (at, address) = (visit * 6, format!("198.51.100.{visit}"));
        let page = format!("/page/{}", visit % 20);
        lines.push((at, line(at, &address, &page, 200, "-", FIREFOX)));
        for asset in 0..6 {
            let path = format!("/{asset}.css");
            lines.push((
                at + 1,
                line(at + 1, &address, &path, 200, referrer, FIREFOX),
            ));
        }
    }
    for number in 0..300_u32 {
        let (at, network) = (
            600 + number,
            if number < 250 { "203.0.113" } else { "192.0.2" },
        );
        let address = format!("{network}.{}", number % 250 + 1 + number / 250 * 50);
        let path = format!("/archive/of/{number}?secret=x");
        lines.push((
            at,
            line(at, &address, &path, 200, "-", &format!("{SWARM} \\x1B[2J")),
        ));
        lines.push((at, line(at, "192.0.2.9", "/no.php", 404, "-", CHROME)));
        lines.push((at, line(at, "192.0.2.10", &path, 200, "-", GOOGLEBOT)));
    }
    lines.sort();
    lines
}

/// Writes the lines as a server rotates its log: the older ones are compressed.
fn write_logs(directory: &Path, referrer: &str) {
    let (mut old, mut new) = (String::new(), String::new());
    for (second, line) in lines(referrer) {
        let log = if second < 500 { &mut old } else { &mut new };
        log.push_str(&line);
    }
    writeln!(new, "no line of a log").unwrap();
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(old.as_bytes()).unwrap();
    fs::write(directory.join("access.log.1.gz"), packed.finish().unwrap()).unwrap();
    fs::write(directory.join("access.log"), new).unwrap();
}

const JUDGE: [&str; 4] = ["report", "--bundled", "access.log", "access.log.1.gz"];

fn codes(of: &Value) -> Vec<&str> {
    let reasons = of["reasons"].as_array().unwrap();
    reasons
        .iter()
        .map(|reason| reason["code"].as_str().unwrap())
        .collect()
}

#[test]
fn an_old_log_reveals_its_fleet_and_path_scanner() {
    let directory = tempfile::tempdir().unwrap();
    write_logs(directory.path(), "https://a.example/");
    let json = succeed(directory.path(), &[&JUDGE[..], &["--json"]].concat());
    let told: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(told["fleets"].as_array().unwrap().len(), 1, "{told:#}");
    let fleet = &told["fleets"][0];
    assert_eq!(fleet["requests"], 300);
    let addresses = fleet["addresses"].as_u64().unwrap();
    assert!((240..360).contains(&addresses), "{addresses}");
    assert_eq!(fleet["assets_share"], 0.0);
    for code in [
        "fleet-share",
        "fleet-one-request",
        "fleet-no-assets",
        "fleet-unseen",
    ] {
        assert!(codes(fleet).contains(&code), "{code}: {fleet:#}");
    }
    assert!(fleet["since"].as_str().unwrap() >= "2026-03-01T10:10:00Z");
    assert!(fleet["until"].as_str().unwrap() <= "2026-03-01T10:20:00Z");
    let samples = fleet["samples"].as_array().unwrap();
    assert_eq!(samples.len(), 3);
    assert!(
        samples
            .iter()
            .all(|path| !path.as_str().unwrap().contains("secret"))
    );
    let conduct = told["conduct"].as_array().unwrap();
    let address = conduct.iter().find(|one| one["network"] == "192.0.2.0/24");
    assert_eq!(codes(address.unwrap()), ["conduct-not-found"]);
    assert_eq!(
        (&told["lines"], &told["unreadable"]),
        (&2_301.into(), &1.into())
    );
    let classes = told["visitors"].as_array().unwrap();
    let count =
        |name: &str| classes.iter().find(|row| row["class"] == name).unwrap()["requests"].as_u64();
    // The fleet and the scanner are also counted before they were flagged.
    assert_eq!(count("Suspects"), Some(600));
    assert_eq!(
        (count("People"), count("Search engines")),
        (Some(1_400), Some(300))
    );
}

#[test]
fn report_is_readable_and_text_from_visitors_is_escaped() {
    let directory = tempfile::tempdir().unwrap();
    write_logs(directory.path(), "-");
    let output = run(directory.path(), &[&JUDGE[..], &["--full"]].concat());
    assert!(output.status.success());
    let report = String::from_utf8(output.stdout).unwrap();
    for part in [
        "2,301 lines in 2 files.\n",
        "\n  Mozilla/5.0 (X11; Linux) ",
        "\n  192.0.2.9 ",
        "requests many missing pages",
        "No line contains a referrer",
        "--robots-txt",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }
    assert!(!report.contains('\x1b'));
}

#[test]
fn paths_closed_by_robots_txt_are_shown_given_only_the_file() {
    let directory = tempfile::tempdir().unwrap();
    write_logs(directory.path(), "-");
    fs::write(
        directory.path().join("robots.txt"),
        "User-agent: *\nDisallow: /no.php\n",
    )
    .unwrap();
    let arguments = [&JUDGE[..], &["--json", "--robots-txt", "robots.txt"]].concat();
    let told: Value = serde_json::from_str(&succeed(directory.path(), &arguments)).unwrap();
    assert_eq!(
        codes(&told["conduct"][0]),
        ["conduct-not-found", "conduct-closed"]
    );
    let arguments = [&JUDGE[..], &["--robots-txt", "none.txt"]].concat();
    let failed = run(directory.path(), &arguments);
    assert_eq!(failed.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&failed.stderr).contains("cannot read none.txt"));
    let missing = run(directory.path(), &["report", "no.log"]);
    assert_eq!(missing.status.code(), Some(1));
}

/// Server in front of a site, behind a proxy that names the visitors.
struct House {
    directory: TempDir,
    server: Server,
    token: String,
    _site: RawServer,
}

impl House {
    async fn new(more: &str) -> Self {
        let site = RawServer::answering("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsite").await;
        let directory = tempfile::tempdir().unwrap();
        let config = format!(
            "web_robots_db = ''\n[database]\nurl = 'sqlite://suspects.db'\n[server]\n\
             upstream = 'http://{}'\ntrusted_proxies = ['127.0.0.1']\n{more}",
            site.addr
        );
        fs::write(directory.path().join("robot-detection.toml"), config).unwrap();
        let server = Server::start_as(command(directory.path()), directory.path(), &["serve"]);
        let token = succeed(directory.path(), &["admin", "token", "test"]);
        Self {
            server,
            token: token.trim().to_owned(),
            directory,
            _site: site,
        }
    }

    fn ask(&self, path: &str, agent: &str, address: &str, has_referrer: bool) {
        let mut headers = vec![("User-Agent", agent), ("X-Forwarded-For", address)];
        if has_referrer {
            headers.push(("Referer", "https://a.example/"));
        }
        assert_eq!(request(self.server.addr, "GET", path, &headers).status, 200);
    }

    /// Sends requests of thirty people with five assets each, of a fleet, and of a known robot.
    fn visit(&self) {
        for person in 0..30 {
            let address = format!("198.51.100.{person}");
            self.ask(&format!("/page/{}", person % 5), FIREFOX, &address, false);
            for asset in 0..5 {
                self.ask(&format!("/{asset}.css"), FIREFOX, &address, true);
            }
        }
        for number in 0..100 {
            let path = format!("/archive/of/{number}?secret=x");
            self.ask(&path, SWARM, &format!("203.0.113.{number}"), false);
            self.ask(&path, GOOGLEBOT, "192.0.2.10", false);
        }
    }

    fn told(&self) -> Value {
        let of = ("GET", "suspects");
        let answer = admin_json(self.server.addr, &self.token, of, "");
        serde_json::from_str(&answer.text()).unwrap()
    }

    /// Logs in; returns the page.
    fn page(&self) -> String {
        let form = format!("password={}", self.server.password.as_deref().unwrap());
        let head =
            |line: &str| format!("{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
        let login = format!(
            "{}Origin: http://localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {}\r\n\r\n{form}",
            head("POST /robot-detection/admin/login"),
            form.len()
        );
        let answer = exchange(self.server.addr, login.as_bytes());
        assert_eq!(answer.status, 303, "{}", answer.text());
        let cookies = answer.header("set-cookie");
        let mut cookies = cookies.split([';', ',']).map(str::trim);
        let cookie = cookies.find(|cookie| cookie.starts_with("robot-detection-admin="));
        let cookie = cookie.unwrap();
        let look = head("GET /robot-detection/admin/suspects");
        let look = format!("{look}Cookie: {cookie}\r\n\r\n");
        exchange(self.server.addr, look.as_bytes()).text()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_server_shows_the_fleet_among_its_visitors() {
    let house = House::new("[traffic]\nfleets = true\n").await;
    let told = house.told();
    assert_eq!(
        (&told["enabled"], &told["fleets"]),
        (&true.into(), &Value::Array(Vec::new()))
    );
    house.visit();
    let told = house.told();
    assert_eq!(told["fleets"].as_array().unwrap().len(), 1, "{told:#}");
    let fleet = &told["fleets"][0];
    assert_eq!(fleet["user_agent"], SWARM);
    // If a window has ended meanwhile, its requests count slightly less.
    assert!(fleet["requests"].as_u64() >= Some(90), "{fleet:#}");
    assert!(codes(fleet).contains(&"fleet-no-assets"), "{fleet:#}");
    assert_eq!(told["unexamined"], 0);
    // The counts are written to the database every few seconds.
    eventually("the database has the counts", || {
        let report = succeed(house.directory.path(), &["report", "--json"]);
        let told: Value = serde_json::from_str(&report).unwrap();
        let found = &told["fleets"][0];
        found["user_agent"] == SWARM
    });
    let page = house.page();
    assert!(page.contains("&#60;b&#62;Chrome/120.0.0.0"), "{page}");
    assert!(
        page.contains("fleet-one-request") && !page.contains("secret"),
        "{page}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn disabled_detection_shows_a_note() {
    let house = House::new("[traffic]\nfleets = false\n").await;
    house.visit();
    let told = house.told();
    assert_eq!(
        (&told["enabled"], &told["fleets"]),
        (&false.into(), &Value::Array(Vec::new()))
    );
    assert!(house.page().contains("traffic.fleets"));
    let report = succeed(house.directory.path(), &["report"]);
    assert!(report.contains("traffic.fleets is false"), "{report}");
}
