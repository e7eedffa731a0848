//! Suspects, robots that claim to be people: marked, explained, slowed and refused, over HTTP.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of a test cannot do fails the test"
)]

use std::{fs, path::Path};

use robot_detection::{app, config::Loader};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{
    program::{Answer, CHROME, FIREFOX, GOOGLEBOT, Server, eventually, exchange, request, succeed},
    raw::RawServer,
};

mod fronts;
mod person_word;

/// Firefox's headers of a page request over plain HTTP, except Host and Connection.
const PERSON: [(&str, &str); 5] = [
    ("User-Agent", FIREFOX),
    (
        "Accept",
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    ),
    ("Accept-Language", "de,en;q=0.5"),
    ("Accept-Encoding", "gzip, deflate"),
    ("Upgrade-Insecure-Requests", "1"),
];

/// Headers of curl with a browser's User-Agent.
const LIAR: [(&str, &str); 2] = [("User-Agent", CHROME), ("Accept", "*/*")];

struct House {
    directory: TempDir,
    server: Server,
    site: RawServer,
}

impl House {
    async fn new(settings: &str) -> Self {
        let site = RawServer::answering("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsite").await;
        Self::of(site, settings)
    }

    fn of(site: RawServer, settings: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let config = format!(
            "web_robots_db = ''\naccess_log = {{ path = 'access.log', format = 'json' }}\n\
             server.upstream = 'http://{}'\n{settings}",
            site.addr
        );
        fs::write(directory.path().join("robot-detection.toml"), config).unwrap();
        let server = Server::start(directory.path(), &["serve"]);
        Self {
            directory,
            server,
            site,
        }
    }

    fn ask(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        request(self.server.addr, "GET", path, headers)
    }

    fn lines(&self, number: usize) -> Vec<Value> {
        let file = self.directory.path().join("access.log");
        let read = || fs::read_to_string(&file).unwrap_or_default();
        eventually("lines of the access log", || {
            read().lines().count() >= number
        });
        let text = read();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_liar_is_marked_and_served() {
    let house = House::new("suspects.action = 'report'\n").await;
    for headers in [&PERSON[..], &LIAR, &[("User-Agent", GOOGLEBOT)]] {
        assert_eq!(house.ask("/a", headers).status, 200);
    }
    let reasons = "accept-language-missing,accept-encoding-missing,request-bare";
    let lines = house.lines(3);
    let told: Vec<_> = lines
        .iter()
        .map(|line| (&line["visitor"], &line["suspect"]))
        .collect();
    assert_eq!(
        told,
        [
            (&"person".into(), &Value::Null),
            (&"person".into(), &reasons.into()),
            (&"listed".into(), &Value::Null),
        ]
    );
    let metrics = house.server.metrics();
    for expected in [
        "robot_detection_suspects_total{site=\"default\"} 1\n",
        "robot_detection_suspect_reasons_total{site=\"default\",reason=\"request-bare\"} 1\n",
        "robot_detection_requests_total{site=\"default\",visitor=\"person\",decision=\"pass\"} 2\n",
    ] {
        assert!(metrics.contains(expected), "{expected}{metrics}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_matches_suspects_by_their_reasons() {
    let house = House::new(
        "[[rule]]\nname = 'shut'\npath = '/shut/*'\nsuspect = true\naction = 'refuse'\npeople = true\n\
         [[rule]]\nname = 'by reason'\npath = '/reason/*'\nreasons = 'request-bare'\naction = 'refuse'\nstatus = 429\npeople = true\n\
         [[rule]]\nname = 'by another'\npath = '/other/*'\nreasons = ['header-order', 'accept-foreign']\naction = 'refuse'\npeople = true\n\
         [[rule]]\nname = 'tried'\npath = '/tried/*'\nsuspect = true\naction = 'refuse'\n",
    )
    .await;
    for (path, of_liar) in [
        ("/shut/1", 403),
        ("/reason/1", 429),
        ("/other/1", 200),
        ("/tried/1", 200),
        ("/elsewhere", 200),
    ] {
        assert_eq!(house.ask(path, &LIAR).status, of_liar, "{path}");
        assert_eq!(house.ask(path, &PERSON).status, 200, "{path}");
        let robot = [("User-Agent", GOOGLEBOT)];
        assert_eq!(house.ask(path, &robot).status, 200, "{path}");
    }
    let lines = house.lines(15);
    let tried = lines
        .iter()
        .find(|line| line["request_uri"] == "/tried/1")
        .unwrap();
    assert_eq!(tried["decision"], "would-refuse");
}

const FRIENDS: &str = "[[rule]]\nname = 'monitoring'\npath = '/watched*'\nvisitors = 'all'\n\
    request_headers = 'X-Monitor'\naction = 'pass'\n";

#[tokio::test(flavor = "multi_thread")]
async fn suspects_are_refused_unless_a_rule_passes_them() {
    let house = House::new(&format!("suspects.action = 'refuse'\n{FRIENDS}")).await;
    let refused = house.ask("/", &LIAR);
    assert_eq!(refused.status, 403);
    assert_eq!(refused.header("cache-control"), "no-store");
    let friend = [&LIAR[..], &[("X-Monitor", "1")]].concat();
    for (path, headers, status) in [
        ("/", &PERSON[..], 200),
        ("/", &friend, 403),
        ("/watched", &friend, 200),
        ("/robots.txt", &LIAR, 200),
        ("/", &[("User-Agent", "w3m/0.5.3")], 200),
        ("/", &[("User-Agent", GOOGLEBOT)], 200),
    ] {
        assert_eq!(
            house.ask(path, headers).status,
            status,
            "{path} {headers:?}"
        );
    }
    let lines = house.lines(7);
    let told = |at: usize| (lines[at]["cause"].clone(), lines[at]["suspect"].is_string());
    assert_eq!(told(0), ("suspects".into(), true));
    assert_eq!(
        lines[3]["suspect"],
        Value::Null,
        "a visitor passed by a rule is not a suspect"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn suspects_are_slowed_by_address() {
    let rule = "[[rule]]\npath = '/*'\nsuspect = true\npeople = true\naction = 'slow'\n\
                per = 'address'\nrequests = 2\nper_seconds = 3600\n";
    let house = House::new(rule).await;
    let statuses: Vec<_> = (0..4).map(|_| house.ask("/", &LIAR).status).collect();
    assert_eq!(statuses, [200, 200, 429, 429]);
    assert_eq!(house.ask("/", &PERSON).status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn visitors_are_not_examined_where_detection_is_off() {
    let house = House::new(
        "suspects.action = 'off'\n[[rule]]\npath = '/*'\nsuspect = true\naction = 'refuse'\npeople = true\n",
    )
    .await;
    assert_eq!(house.ask("/", &LIAR).status, 200);
    assert_eq!(house.lines(1)[0]["suspect"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_removed_by_a_trusted_proxy_are_not_missed() {
    let house =
        House::new("server.trusted_proxies = ['127.0.0.1']\nsuspects.action = 'refuse'\n").await;
    let through = |headers: &[(&str, &str)]| {
        let told = [
            ("X-Forwarded-For", "192.0.2.7"),
            ("X-Forwarded-Proto", "https"),
        ];
        house.ask("/", &[&told[..], headers].concat()).status
    };
    assert_eq!(
        through(&LIAR),
        200,
        "it is not known yet which headers the proxy forwards"
    );
    let person = [&PERSON[..], &[("Referer", "http://example.org/")]].concat();
    assert_eq!(through(&person), 200, "the proxy forwards no Sec-Fetch");
    assert_eq!(through(&LIAR), 403, "languages and encodings are forwarded");
}

const HEAD: &str = "GET /a HTTP/1.1\r\nHost: example.org\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; \
    rv:153.0) Gecko/20100101 Firefox/153.0\r\nAccept-Encoding: gzip, deflate\r\nAccept: */*\r\n\
    Connection: keep-alive\r\n\r\n";

fn explained(directory: &Path, settings: &str, more: &[&str]) -> String {
    let settings = format!("web_robots_db = ''\n{settings}");
    fs::write(directory.join("robot-detection.toml"), settings).unwrap();
    fs::write(directory.join("head"), HEAD).unwrap();
    succeed(
        directory,
        &[&["explain", "--request", "head"], more].concat(),
    )
}

#[test]
fn explain_shows_each_reason_with_the_observed_header() {
    let directory = tempfile::tempdir().unwrap();
    let text = explained(directory.path(), "", &[]);
    for expected in [
        "suspect   The User-Agent claims to be firefox 153 (latest known version:",
        "The request's suspicion weight is 13 (threshold 10): the visitor is a suspect.",
        "reason    accept-language-missing (4): browsers send Accept-Language with every request. The request has no accept-language.",
        "reason    header-order (5): this browser sends its headers in a different order.",
        "decision  pass",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    assert!(!text.contains("fetch-metadata-missing"), "{text}");
    let secure = explained(directory.path(), "", &["--https"]);
    assert!(
        secure.contains("reason    fetch-metadata-missing (4)"),
        "{secure}"
    );
    let refused = explained(
        directory.path(),
        "suspects.action = 'refuse'\n",
        &["--json"],
    );
    let refused: Value = serde_json::from_str(&refused).unwrap();
    assert_eq!(refused["decision"], "refuse");
    assert_eq!(refused["rule"], "suspects");
    let reasons = ["accept-language-missing", "header-order", "request-bare"];
    assert_eq!(refused["suspect"], serde_json::json!(reasons));
    let off = explained(directory.path(), "suspects.action = 'off'\n", &[]);
    assert!(!off.contains("suspect"), "{off}");
}

#[test]
fn invalid_settings_are_reported_by_line() {
    for (text, expected) in [
        (
            "[suspects]\naction = 'ban'\n",
            "c.toml:2: suspects.action: \"ban\" is not a valid action; use one of off, report, heaven, refuse",
        ),
        (
            "[[rule]]\npath = '/*'\naction = 'refuse'\nsuspect = true\nvisitors = 'robots'\n",
            "c.toml:4: rule.suspect: only people can be suspects",
        ),
        (
            "[[rule]]\npath = '/*'\naction = 'refuse'\nsuspect = false\nreasons = 'header-order'\n",
            "c.toml:5: rule.reasons: suspect is false",
        ),
        (
            "[[rule]]\npath = '/*'\naction = 'refuse'\nreasons = ['headers-order']\n",
            "c.toml:4: rule.reasons: \"headers-order\" is not a valid reason; did you mean \"header-order\"?",
        ),
        (
            "[[rule]]\npath = '/*'\naction = 'refuse'\nreasons = []\n",
            "c.toml:4: rule.reasons: the list is empty",
        ),
    ] {
        let loaded = Loader::new().file("c.toml", text).load();
        let policy = loaded.and_then(|loaded| app::policy(&loaded));
        let error = policy
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        assert!(error.contains(expected), "{text}\n{expected}\n{error}");
    }
}
