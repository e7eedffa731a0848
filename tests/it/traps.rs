//! Traps, over HTTP: their robots.txt rules, their pages, and the evidence about visitors.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of a test cannot do fails the test"
)]

use std::{fs, path::Path};

use robot_detection::robots_txt::{Dialect, RobotsTxt};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{
    browser::Browser,
    program::{
        Answer, CHROME, FIREFOX, GOOGLEBOT, Server, admin_json, command, eventually, request, run,
        succeed,
    },
    raw::RawServer,
};

/// A person's browser without a language, which alone is no reason for suspicion.
const QUIET: [(&str, &str); 4] = [
    ("User-Agent", FIREFOX),
    (
        "Accept",
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    ),
    ("Accept-Encoding", "gzip, deflate"),
    ("Upgrade-Insecure-Requests", "1"),
];

/// The same with all headers of this browser.
const PERSON: [(&str, &str); 5] = [
    QUIET[0],
    QUIET[1],
    ("Accept-Language", "de,en;q=0.5"),
    QUIET[2],
    QUIET[3],
];

const THEIRS: &str = "User-agent: Googlebot\nDisallow: /x\n\nUser-agent: *\nAllow: /\n";

const SETTINGS: &str = "[traps]\nactive = true\n[robots_txt]\nserve = 'merge'\nenforce = 'report'\n\
    [[rule]]\nname = 'shut'\npath = '/shut/*'\nsuspect = true\naction = 'refuse'\npeople = true\n\
    [[rule]]\nname = 'nobody'\npath = ['/archive/*', '/library/*', '/notes/*', '/reports/*', '/press/*', '/topics/*', \
    '/series/*', '/papers/*', '/events/*', '/projects/*', '/records/*', '/reviews/*', '/guides/*', '/letters/*', '/studies/*', \
    '/issues/*']\nvisitors = 'all'\naction = 'refuse'\npeople = true\n";

struct House {
    directory: TempDir,
    server: Server,
    site: RawServer,
}

impl House {
    async fn new(settings: &str) -> Self {
        let length = THEIRS.len();
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{THEIRS}");
        let site = RawServer::answering(answer).await;
        let directory = tempfile::tempdir().unwrap();
        let config = format!(
            "web_robots_db = ''\nserver.upstream = 'http://{}'\n{settings}",
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

    fn traps(&self) -> Vec<String> {
        traps(self.directory.path())
    }

    /// Returns the stored evidence, newest first, once there are enough samples.
    fn evidence(&self, number: usize) -> Vec<Value> {
        let printed = succeed(self.directory.path(), &["admin", "token", "test"]);
        let token = printed.split_whitespace().last().unwrap().to_owned();
        let mut kept = Vec::new();
        eventually("evidence", || {
            let text = admin_json(self.server.addr, &token, ("GET", "evidence"), "").text();
            let value: Value = serde_json::from_str(&text).unwrap_or_default();
            kept = value["evidence"].as_array().cloned().unwrap_or_default();
            kept.len() >= number
        });
        kept
    }
}

fn traps(directory: &Path) -> Vec<String> {
    let printed = succeed(directory, &["traps", "--json"]);
    let value: Value = serde_json::from_str(&printed).unwrap();
    let paths = value[0]["paths"].as_array().unwrap().iter();
    paths
        .map(|path| path.as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn robots_txt_disallows_traps_in_each_group_and_they_stay_the_same() {
    let mut house = House::new(SETTINGS).await;
    let traps = house.traps();
    assert_eq!(traps.len(), 3);
    for _ in 0..2 {
        let text = house.ask("/robots.txt", &[]).text();
        let file = RobotsTxt::parse(text.as_bytes(), Dialect::default());
        for robot in ["Googlebot", "anybody"] {
            let rules = file.for_robot(robot);
            for path in &traps {
                assert!(!rules.check(path).allowed(), "{robot} {path}\n{text}");
            }
            assert!(rules.check("/a").allowed(), "{text}");
        }
        assert!(!file.for_robot("Googlebot").check("/x").allowed());
        house.server = Server::start(house.directory.path(), &["serve"]);
    }
    let text = succeed(house.directory.path(), &["traps"]);
    for part in [
        &*traps[0],
        "tabindex=\"-1\"",
        "rel=\"nofollow\"",
        "aria-hidden=\"true\"",
        "hidden",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_custom_robots_txt_disallows_them_too() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("own.txt"), THEIRS).unwrap();
    let settings = "web_robots_db = ''\n[traps]\nactive = true\n[robots_txt]\nserve = 'file'\nfile = 'own.txt'\n";
    fs::write(directory.path().join("robot-detection.toml"), settings).unwrap();
    let server = Server::start(directory.path(), &["serve"]);
    let text = request(server.addr, "GET", "/robots.txt", &[]).text();
    for path in traps(directory.path()) {
        assert_eq!(
            text.matches(&format!("Disallow: {path}\n")).count(),
            2,
            "{text}"
        );
    }
    assert!(
        text.starts_with("User-agent: Googlebot\nDisallow: /"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_visitor_of_a_trap_gets_a_page_whatever_the_rules_and_is_marked() {
    let house = House::new(SETTINGS).await;
    let traps = house.traps();
    let status = |path: &str, headers: &[(&str, &str)]| house.ask(path, headers).status;
    let directory = traps[0].split('/').nth(1).unwrap();
    assert_eq!(
        status(&format!("/{directory}/other"), &PERSON),
        403,
        "the rule applies to other paths"
    );
    assert_eq!(
        (status("/shut/1", &QUIET), status("/shut/1", &PERSON)),
        (200, 200)
    );
    let before = house.site.requests().len();
    for headers in [&QUIET[..], &PERSON] {
        let answer = house.ask(&traps[0], headers);
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(answer.header("x-robots-tag"), "noindex");
        let text = answer.text();
        assert!(
            text.contains(&traps[1]) && text.matches("href").count() == 1,
            "{text}"
        );
    }
    let head = request(house.server.addr, "HEAD", &traps[0], &[]);
    assert_eq!((head.status, head.text().as_str()), (200, ""));
    assert_eq!(house.site.requests().len(), before, "no request forwarded");
    assert_eq!(
        (status("/shut/1", &QUIET), status("/shut/1", &PERSON)),
        (403, 200),
        "a suspect needs two kinds of evidence"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn evidence_shows_whether_robots_txt_was_requested_and_its_line() {
    let house = House::new(SETTINGS).await;
    let traps = house.traps();
    let reader = [("User-Agent", CHROME)];
    assert_eq!(house.ask("/robots.txt", &reader).status, 200);
    house.ask(&traps[0], &reader);
    house.ask(&traps[1], &PERSON);
    house.ask(&traps[2], &[("User-Agent", GOOGLEBOT)]);
    let mut kept = house.evidence(3);
    kept.retain(|one| one["cause"] == "trap");
    let of = |path: &str| kept.iter().find(|one| one["path"] == path).unwrap();
    let file = house.ask("/robots.txt", &[]).text();
    let line = |one: &Value| {
        let line = one["robots_txt"]["line"].as_u64().unwrap();
        file.lines()
            .nth(usize::try_from(line).unwrap() - 1)
            .unwrap()
            .to_owned()
    };
    let told = of(&traps[0]);
    assert_eq!(
        (&told["event"], &told["decision"]),
        (&"trap".into(), &"pass".into()),
        "{told}"
    );
    assert_eq!(line(told), format!("Disallow: {}", traps[0]));
    let told = of(&traps[1]);
    assert_eq!(
        (&told["event"], &told["robots_txt"]),
        (&"trap".into(), &Value::Null),
        "{told}"
    );
    let told = of(&traps[2]);
    assert_eq!(
        (&told["event"], &told["robot"]),
        (&"violation".into(), &"googlebot".into()),
        "{told}"
    );
    assert_eq!(line(told), format!("Disallow: {}", traps[2]));
}

#[test]
fn the_demonstration_has_the_hidden_link_and_its_heaven_does_not() {
    let directory = tempfile::tempdir().unwrap();
    let settings = "traps.active = true\ndatabase.url = 'sqlite://demo.db'\n";
    fs::write(directory.path().join("robot-detection.toml"), settings).unwrap();
    let mut demo = command(directory.path());
    demo.env("ROBOT_DETECTION_TRAPS_ACTIVE", "true");
    let arguments = ["serve", "--demo", "--database", "sqlite://demo.db"];
    let server = Server::start_as(demo, directory.path(), &arguments);
    let traps = traps(directory.path());
    let ask = |path: &str| request(server.addr, "GET", path, &PERSON);
    for path in ["/", "/about.html"] {
        let text = ask(path).text();
        assert_eq!(text.matches(&traps[0]).count(), 1, "{text}");
    }
    let sitemap = ask("/robot-heaven/sitemap.xml").text();
    let pages = sitemap
        .split("<loc>")
        .skip(1)
        .filter_map(|rest| rest.split("</loc>").next());
    let pages: Vec<_> = pages
        .filter_map(|url| url.split_once("/robot-heaven/"))
        .collect();
    assert!(pages.len() > 3, "{sitemap}");
    let of_pages = pages
        .iter()
        .map(|(_, page)| ask(&format!("/robot-heaven/{page}")).text());
    for text in of_pages.chain([sitemap.clone(), ask("/robot-heaven/").text()]) {
        assert!(traps.iter().all(|trap| !text.contains(&**trap)), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keyboard_and_assistive_technology_never_reach_a_trap() {
    const PRESSES: usize = 40;
    let directory = tempfile::tempdir().unwrap();
    let settings = "web_robots_db = ''\ntraps.active = true\n";
    fs::write(directory.path().join("robot-detection.toml"), settings).unwrap();
    let server = Server::start(directory.path(), &["serve"]);
    let trap = traps(directory.path()).remove(0);
    let browser = Browser::start().await;
    let url = format!("http://{}/", server.addr);
    browser.client.goto(&url).await.unwrap();
    assert!(browser.client.source().await.unwrap().contains(&trap));
    let tree = browser.accessibility_tree().await;
    assert!(tree.contains("Members"), "{tree}");
    assert!(
        !tree.contains(&trap) && !tree.contains("\"Index\""),
        "{tree}"
    );
    let mut met = std::collections::BTreeSet::new();
    for _ in 0..PRESSES {
        let here = browser.client.active_element().await.unwrap();
        here.send_keys("\u{e004}").await.unwrap();
        let script = "return document.activeElement.getAttribute('href') || '';";
        let link = browser.client.execute(script, Vec::new()).await.unwrap();
        met.insert(link.as_str().unwrap().to_owned());
    }
    assert!(
        met.contains("/about.html") && !met.contains(&trap),
        "{met:?}"
    );
    browser.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_warns_of_a_robots_txt_that_allows_traps() {
    let house = House::new("traps.active = true\n").await;
    let told = |house: &House| {
        let output = run(house.directory.path(), &["doctor"]);
        String::from_utf8(output.stdout).unwrap()
    };
    let open = told(&house);
    assert!(
        open.contains("does not disallow the traps for \"Googlebot\", \"*\""),
        "{open}"
    );
    let merged = House::new(SETTINGS).await;
    let closed = told(&merged);
    assert!(
        closed.contains("disallows the traps of default in every group"),
        "{closed}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn there_are_no_traps_unless_enabled() {
    let house = House::new("robots_txt.serve = 'settings'\n").await;
    assert_eq!(
        house.ask("/robots.txt", &[]).text(),
        "User-agent: *\nDisallow:\n"
    );
    assert_eq!(succeed(house.directory.path(), &["traps"]), "");
}
