//! Single pages are asked for again, by a command or as an application tells of them.

use std::{fs, path::Path};

use crate::site_robot::site::{Page, Site};
use crate::support::program::{self, Server, admin_json, eventually, succeed};

/// A start page and two that it links to.
async fn site() -> Site {
    Site::open(&[
        ("/robots.txt", Page::text("text/plain", "")),
        ("/", Page::html("Start", &["/a", "/b"])),
        ("/a", Page::html("First", &["/c"])),
        ("/b", Page::html("Second", &[])),
        ("/c", Page::html("Third", &[])),
    ])
    .await
}

fn write(directory: &Path, site: &Site) {
    let text = format!(
        "web_robots_db = ''\ndatabase.url = 'sqlite://robot.db'\n\
         [site_robot]\nstarting_points = '{}'\n",
        site.url("/")
    );
    fs::write(directory.join("robot-detection.toml"), text).unwrap();
}

fn titles(directory: &Path) -> Vec<String> {
    let export = succeed(directory, &["site-robot", "export", "--format", "jsonl"]);
    let title = |line: &str| {
        let described: serde_json::Value = serde_json::from_str(line).unwrap();
        described["title"].as_str().unwrap_or_default().to_owned()
    };
    let mut titles: Vec<_> = export.lines().map(title).collect();
    titles.sort();
    titles
}

fn change(site: &Site) {
    site.put("/a", Page::html("First anew", &["/c", "/d"]));
    site.put("/b", Page::html("Second anew", &[]));
    site.put("/d", Page::html("Fourth", &[]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_is_asked_for_again_and_all_others_stay() {
    let (site, directory) = (site().await, tempfile::tempdir().unwrap());
    let directory = directory.path();
    write(directory, &site);
    succeed(directory, &["site-robot", "run"]);
    assert_eq!(titles(directory), ["First", "Second", "Start", "Third"]);
    change(&site);
    site.asked();
    succeed(directory, &["site-robot", "refresh", &site.url("/a")]);
    let asked = site.paths();
    assert!(
        asked
            .iter()
            .all(|path| path == "/a" || path == "/robots.txt"),
        "{asked:?}"
    );
    assert_eq!(
        titles(directory),
        ["First anew", "Second", "Start", "Third"]
    );
    // A page that is gone is gone, and it alone.
    site.remove("/c");
    succeed(directory, &["site-robot", "refresh", &site.url("/c")]);
    assert_eq!(titles(directory), ["First anew", "Second", "Start"]);
    // The next run sees the rest.
    succeed(directory, &["site-robot", "run"]);
    assert_eq!(
        titles(directory),
        ["First anew", "Fourth", "Second anew", "Start"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_outside_of_what_is_visited_is_not_asked_for() {
    let (site, directory) = (site().await, tempfile::tempdir().unwrap());
    write(directory.path(), &site);
    for url in ["http://192.0.2.1/a", &site.url("/logout"), "no URL"] {
        let output = program::run(directory.path(), &["site-robot", "refresh", url]);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{url}");
        assert!(told.contains("site_robot.starting_points"), "{told}");
    }
    assert!(site.asked().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_application_tells_of_pages_that_have_changed() {
    let (site, directory) = (site().await, tempfile::tempdir().unwrap());
    let directory = directory.path();
    write(directory, &site);
    succeed(directory, &["site-robot", "run"]);
    let token = succeed(directory, &["admin", "token", "publisher"]);
    let server = Server::start(directory, &["serve"]);
    let admin = server.admin.unwrap_or(server.addr);
    let tell = |urls: &[String]| {
        let body = serde_json::json!({ "urls": urls }).to_string();
        admin_json(admin, token.trim(), ("POST", "site-robot/changed"), &body)
    };
    change(&site);
    let answer = tell(&[site.url("/b")]);
    assert_eq!(answer.status, 202, "{}", answer.text());
    eventually("the page is described anew", || {
        titles(directory) == ["First", "Second anew", "Start", "Third"]
    });
    let answer = tell(&["http://192.0.2.1/a".to_owned()]);
    assert_eq!(answer.status, 422);
    assert!(
        answer.text().contains("starting_points"),
        "{}",
        answer.text()
    );
    let many: Vec<_> = (0..1_000)
        .map(|number| site.url(&format!("/n{number}")))
        .collect();
    assert_eq!(tell(&many).status, 429, "one was told of already");
    let stranger = admin_json(admin, "not-a-token", ("POST", "site-robot/changed"), "{}");
    assert_eq!(stranger.status, 401);
}
