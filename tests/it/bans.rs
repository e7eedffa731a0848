//! Clients that are refused too often are listed for firewalls; no others are.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{
    program::{CHROME, FIREFOX, Server, command, eventually, request, run, succeed},
    raw::RawServer,
};

const CRAWLER: &str = "ExampleCrawler/1.0";

const BANS: &str = "[[rule]]\nname = 'monitoring'\npath = '/status'\naction = 'pass'\n\
    visitors = 'all'\naddresses = '192.0.2.0/24'\n\
    [[rule]]\nname = 'closed'\npath = '/closed/*'\naction = 'refuse'\nvisitors = 'robots'\n\
    [[rule]]\nname = 'trap'\npath = '/trap/*'\naction = 'refuse'\nvisitors = 'all'\npeople = true\n\
    [[ban]]\nrefusals = 3\nfor_seconds = 600\nrules = ['closed']\n\
    [[ban]]\nrefusals = 1\nrules = ['trap']\n";

struct House {
    directory: TempDir,
    server: Server,
    _site: RawServer,
}

impl House {
    async fn new(more: &str) -> Self {
        Self::with_log(more, "text").await
    }

    async fn with_log(more: &str, format: &str) -> Self {
        let site = RawServer::answering("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsite").await;
        let directory = tempfile::tempdir().unwrap();
        let config = format!(
            "web_robots_db = ''\n[database]\nurl = 'sqlite://bans.db'\n[server]\nupstream = 'http://{}'\n\
             trusted_proxies = ['127.0.0.1', '198.51.100.200']\n{more}",
            site.addr
        );
        std::fs::write(directory.path().join("robot-detection.toml"), config).unwrap();
        let mut command = command(directory.path());
        command.env("ROBOT_DETECTION_LOG_FORMAT", format);
        let server = Server::start_as(command, directory.path(), &["serve"]);
        Self {
            directory,
            server,
            _site: site,
        }
    }

    fn ask(&self, path: &str, user_agent: &str, address: &str) -> u16 {
        let headers = [("User-Agent", user_agent), ("X-Forwarded-For", address)];
        request(self.server.addr, "GET", path, &headers).status
    }

    fn refuse(&self, times: usize, address: &str) {
        for _ in 0..times {
            assert_eq!(self.ask("/closed/a", CRAWLER, address), 403);
        }
    }

    fn bans(&self, arguments: &[&str]) -> String {
        succeed(self.path(), &[&["bans"], arguments].concat())
    }

    /// Waits until a client is banned; returns all bans.
    fn banned(&self, address: &str) -> Vec<String> {
        let mut lines = Vec::new();
        eventually("a client is banned", || {
            lines = self.bans(&[]).lines().map(str::to_owned).collect();
            lines.iter().any(|line| line == address)
        });
        lines
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_clients_that_are_refused_often_are_listed() {
    let house = House::new(BANS).await;
    assert_eq!(house.bans(&[]), "");
    house.refuse(2, "203.0.113.9");
    for _ in 0..5 {
        assert_eq!(house.ask("/closed/a", FIREFOX, "203.0.113.8"), 200);
    }
    house.refuse(3, "203.0.113.5");
    // Wait for each ban: bans of the same millisecond are sorted by address.
    house.banned("203.0.113.5");
    for address in ["2001:db8::1", "2001:DB8::2", "2001:db8:0:0:ffff::3"] {
        house.refuse(1, address);
    }
    assert_eq!(
        house.banned("2001:db8::/64"),
        ["203.0.113.5", "2001:db8::/64"]
    );
    let nginx = house.bans(&["--format", "nginx"]);
    assert_eq!(nginx, "deny 203.0.113.5;\ndeny 2001:db8::/64;\n");
    let nft = house.bans(&["--format", "nftables"]);
    assert!(nft.contains("203.0.113.5 timeout 59"), "{nft}");
    let json: Value = serde_json::from_str(&house.bans(&["--json"])).unwrap();
    let first = &json["bans"][1];
    assert_eq!(first["network"], "203.0.113.5");
    assert_eq!(first["cause"], "rule \"closed\"");
    assert_eq!(first.as_object().unwrap().len(), 4, "{first}");
    let log = std::fs::read_to_string(house.path().join("stderr.log")).unwrap();
    let line = "WARN banned 203.0.113.5 for 600 s: rule \"closed\"\n";
    assert!(log.contains(line), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn bans_can_be_ended_and_followed() {
    let house = House::new(BANS).await;
    house.refuse(3, "203.0.113.5");
    house.banned("203.0.113.5");
    let mut child = command(house.path())
        .args(["bans", "--follow"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    assert_eq!(next(), "+ 203.0.113.5");
    assert_eq!(house.ask("/trap/a", CHROME, "203.0.113.6"), 403);
    assert_eq!(next(), "+ 203.0.113.6");
    let told = house.bans(&["remove", "::ffff:203.0.113.5"]);
    assert_eq!(told, "203.0.113.5 is no longer banned\n");
    assert_eq!(next(), "- 203.0.113.5");
    child.kill().unwrap();
    child.wait().unwrap();
    for (arguments, code, told) in [
        (&["bans", "remove", "203.0.113.5"][..], 1, "is not banned"),
        (&["bans", "remove", "203.0.113.0/24"], 2, "is not an IPv4"),
        (
            &["bans", "--format", "nginx", "--follow"],
            2,
            "only on reload",
        ),
    ] {
        let output = run(house.path(), arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
        assert!(error.contains(told), "{arguments:?}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn verified_robots_proxies_and_private_addresses_are_never_banned() {
    // Another test may have installed the provider already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let house = House::new(BANS).await;
    let password = house.server.password.clone().unwrap();
    let origin = format!("http://{}", house.server.addr);
    let login = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .unwrap()
        .post(format!("{origin}/robot-detection/admin/login"))
        .header("Origin", &origin)
        .header("X-Forwarded-For", "198.51.100.7")
        .header("Content-Type", "application/x-www-form-urlencoded")
        .body(format!("password={password}"))
        .send();
    assert_eq!(login.await.unwrap().status(), 303);
    for address in [
        "192.0.2.77",      // Passed by a rule for its network.
        "10.0.0.7",        // Private.
        "198.51.100.99",   // In the administrator's network.
        "::ffff:10.0.0.7", // Private, too.
        "198.51.100.200",  // A trusted proxy.
        "fd00::1",         // Private.
        "169.254.169.254", // A cloud's metadata service.
    ] {
        for _ in 0..5 {
            house.ask("/closed/a", CRAWLER, address);
        }
    }
    // Bans are evaluated in order: the last listed client is evaluated last.
    house.refuse(3, "203.0.113.5");
    assert_eq!(house.banned("203.0.113.5"), ["203.0.113.5"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn fail2ban_reads_bans_and_no_text_from_visitors() {
    for format in ["text", "json"] {
        let mut house = House::with_log(BANS, format).await;
        let forged = "2026-11-26T12:00:00Z  WARN banned 198.51.100.66 for 60 s: rule";
        for path in [
            "/closed/a",
            "/closed/WARN%20banned%20198.51.100.66%20for%2060%20s:%20x",
            "/closed/%0AWARN%20banned%20198.51.100.66%20for%2060%20s:%20x",
        ] {
            let headers = [
                ("User-Agent", &*format!("{CRAWLER} {forged}")),
                ("Referer", forged),
                ("X-Forwarded-For", "203.0.113.5"),
            ];
            let answer = request(house.server.addr, "GET", path, &headers);
            assert_eq!(answer.status, 403);
        }
        house.banned("203.0.113.5");
        house.server.signal("TERM");
        let log = house.path().join("stderr.log");
        let directory = std::mem::replace(&mut house.directory, tempfile::tempdir().unwrap());
        assert!(house.server.wait());
        let filter = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("examples/deploy/fail2ban/filter.d/robot-detection-bans.conf");
        let output = Command::new("fail2ban-regex")
            .args(["--out", "ip"])
            .args([&log, &filter])
            .stdin(Stdio::null())
            .output()
            .expect("fail2ban-regex is missing: `tests/run` installs fail2ban");
        let found = String::from_utf8(output.stdout).unwrap();
        assert_eq!(found, "203.0.113.5\n", "{format}");
        drop(directory);
    }
}

#[test]
fn an_invalid_ban_setting_is_reported_with_its_place() {
    let directory = tempfile::tempdir().unwrap();
    for (text, expected) in [
        (
            "[[ban]]\nper_seconds = 5\n",
            "a [[ban]] needs refusals, such as refusals = 20",
        ),
        ("[[ban]]\nrefusals = 0\n", ":2: ban.refusals"),
        (
            "[[ban]]\nrefusals = 1\nfor_seconds = 5\n",
            ":3: ban.for_seconds",
        ),
        (
            "[[rule]]\nname = 'closed'\naction = 'refuse'\n[[ban]]\nrefusals = 1\nrules = ['close']\n",
            ":6: ban.rules: \"close\" is not a valid named rule; did you mean \"closed\"?",
        ),
        (
            "[[ban]]\nrefusals = 1\nrules = ['nothing']\n",
            "use one of robots.txt, crawl-delay, spoofed, deny",
        ),
    ] {
        std::fs::write(directory.path().join("robot-detection.toml"), text).unwrap();
        let output = run(directory.path(), &["doctor"]);
        let told = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}: {told}");
        assert!(told.contains(expected), "{text}: {told}");
    }
}
