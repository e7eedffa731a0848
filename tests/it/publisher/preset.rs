//! A publisher's configuration, as written by `init`: the served documents are consistent.

use std::path::Path;

use robot_detection::robots_txt::{Dialect, RobotsTxt};
use serde_json::{Value, json};

use crate::support::{
    http::{Reply, TestServer},
    program::{FIREFOX, GOOGLEBOT, Server, run, succeed},
};

const GPTBOT: &str = "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)";
const CCBOT: &str = "CCBot/2.0 (https://commoncrawl.org/faq/)";

const LINK: &str =
    "<https://news.example/license.xml>; rel=\"license\"; type=\"application/rsl+xml\"";

/// Writes the preset for a site at a URL.
fn preset(directory: &Path, upstream: &str) -> String {
    let file = directory.join("robot-detection.toml");
    let arguments = ["init", "--preset", "publisher", "--host", "news.example"];
    let told = succeed(directory, &arguments);
    assert!(told.contains("wrote robot-detection.toml"), "{told}");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains("example.com"), "{text}");
    let text = text
        .replace("http://127.0.0.1:3000", upstream)
        .replace("127.0.0.1:8080", "127.0.0.1:0");
    let text = format!("web_robots_db = \"\"\n{text}");
    std::fs::write(&file, &text).unwrap();
    text
}

fn site() -> TestServer {
    TestServer::with(|seen| {
        if seen.path.starts_with("/robots.txt") {
            Reply::text("User-agent: *\nDisallow: /search\n")
        } else {
            Reply::text("page").with("Content-Usage", "train-ai=y")
        }
    })
}

#[test]
fn search_robots_read_everything_and_training_needs_a_licence() {
    let (site, directory) = (site(), tempfile::tempdir().unwrap());
    preset(directory.path(), &site.url(""));
    let server = Server::start(directory.path(), &["serve"]);
    for user_agent in [FIREFOX, GOOGLEBOT] {
        let page = server.get("/articles/1", user_agent);
        assert_eq!((page.status, &*page.text()), (200, "page"));
        for (name, value) in [
            ("content-usage", "train-ai=n, search=y"),
            ("tdm-reservation", "1"),
            ("link", LINK),
            ("x-robots-tag", "noai, noimageai"),
            ("vary", "User-Agent"),
            ("www-authenticate", ""),
        ] {
            assert_eq!(page.header(name), value, "{user_agent} {name}");
        }
    }
    for user_agent in [GPTBOT, CCBOT] {
        let refused = server.get("/articles/1", user_agent);
        assert_eq!(refused.status, 402, "{user_agent}");
        for (name, value) in [
            ("www-authenticate", "License"),
            ("link", LINK),
            ("content-usage", "train-ai=n, search=y"),
            ("tdm-reservation", "1"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(refused.header(name), value, "{user_agent} {name}");
        }
        assert!(refused.text().contains("https://news.example/license.xml"));
    }
}

#[test]
fn the_served_documents_are_consistent_and_readable_by_refused_robots() {
    let (site, directory) = (site(), tempfile::tempdir().unwrap());
    preset(directory.path(), &site.url(""));
    let server = Server::start(directory.path(), &["serve"]);
    crate::support::program::eventually("the site's robots.txt", || {
        server.get("/robots.txt", GPTBOT).status == 200
    });
    let text = server.get("/robots.txt", GPTBOT).text();
    let robots_txt = RobotsTxt::parse(text.as_bytes(), Dialect::default());
    let licenses: Vec<_> = robots_txt.licenses().collect();
    assert_eq!(licenses, ["https://news.example/license.xml"]);
    assert!(
        text.contains("Content-Usage: train-ai=n, search=y\n"),
        "{text}"
    );
    assert!(
        text.contains("Content-Signal: ai-train=no, search=yes\n"),
        "{text}"
    );
    assert!(
        !robots_txt
            .for_robot("GPTBot")
            .check("/articles/1")
            .allowed()
    );
    assert!(
        robots_txt
            .for_robot("Googlebot")
            .check("/articles/1")
            .allowed()
    );
    assert!(!robots_txt.for_robot("Googlebot").check("/search").allowed());
    let rsl = server.get("/license.xml", GPTBOT);
    assert_eq!(rsl.status, 200);
    assert!(
        rsl.text()
            .contains("<permits type=\"usage\">search</permits>")
    );
    assert!(
        rsl.text()
            .contains("<prohibits type=\"usage\">ai-train</prohibits>")
    );
    let tdmrep = server.get("/.well-known/tdmrep.json", GPTBOT).text();
    let entries: Value = serde_json::from_str(&tdmrep).unwrap();
    assert_eq!(entries, json!([{"location": "/", "tdm-reservation": 1}]));
}

#[test]
fn doctor_finds_inconsistencies() {
    let (site, directory) = (site(), tempfile::tempdir().unwrap());
    let text = preset(directory.path(), &site.url(""));
    let doctor = |text: &str| {
        std::fs::write(directory.path().join("robot-detection.toml"), text).unwrap();
        let output = run(directory.path(), &["doctor", "--offline"]);
        let told = String::from_utf8(output.stdout).unwrap();
        (output.status.code(), told)
    };
    let (code, told) = doctor(&text);
    assert!(told.contains("agree about the use of content"), "{told}");
    assert_eq!(code, Some(0), "{told}");
    for (from, to, expected, exit) in [
        (
            "content_usage = [\"search=y\"]",
            "content_usage = [\"train-ai=y, search=y\"]",
            "\"reserved\" contradicts",
            2,
        ),
        (
            "TDM-Reservation = \"1\"",
            "TDM-Reservation = \"0\"",
            "says tdm-reservation 0",
            1,
        ),
        (
            "prohibits = [\"ai-train\"]",
            "tdm_reservation = false",
            "tdmrep.json rule 1 says tdm-reservation 0",
            1,
        ),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        let (code, told) = doctor(&changed);
        assert!(told.contains(expected), "{expected}\n{told}");
        assert_eq!(code, Some(exit), "{told}");
    }
}

#[test]
fn invalid_hosts_and_presets_are_rejected() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (&["--preset", "shop"][..], "possible values: publisher"),
        (&["--host", "a.example"], "--preset"),
        (
            &["--preset", "publisher", "--host", "https://a.example/"],
            "is not a host name",
        ),
        (
            &["--preset", "publisher", "--host", "a\"b"],
            "is not a host name",
        ),
    ] {
        let output = run(
            directory.path(),
            &[&["init", "--stdout"], arguments].concat(),
        );
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(expected), "{expected}\n{text}");
    }
}
