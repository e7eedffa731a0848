//! Single pages are visited again by a command or when an application reports changes.

use std::{fs, path::Path};

use crate::site_robot::site::{Page, Site};
use crate::support::program::{self, Server, admin_json, eventually, succeed};

/// Returns a start page with links to two others.
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
    write_with(directory, site, "");
}

fn write_with(directory: &Path, site: &Site, more: &str) {
    let text = format!(
        "web_robots_db = ''\ndatabase.url = 'sqlite://robot.db'\n\
         [site_robot]\nstarting_points = '{}'\n{more}\n",
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
async fn a_single_page_is_visited_again_and_all_others_stay() {
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
    // A page that is gone is removed, and no other.
    site.remove("/c");
    succeed(directory, &["site-robot", "refresh", &site.url("/c")]);
    assert_eq!(titles(directory), ["First anew", "Second", "Start"]);
    // The next run finds the other changes.
    succeed(directory, &["site-robot", "run"]);
    assert_eq!(
        titles(directory),
        ["First anew", "Fourth", "Second anew", "Start"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_outside_the_scope_is_not_requested() {
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
async fn an_application_reports_changed_pages() {
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
    eventually("the page has a new description", || {
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
    assert_eq!(tell(&many).status, 429, "one page was reported before");
    let stranger = admin_json(admin, "not-a-token", ("POST", "site-robot/changed"), "{}");
    assert_eq!(stranger.status, 401);
}

/// Returns the pages requested by a run.
fn requested_pages(directory: &Path, site: &Site) -> Vec<String> {
    site.asked();
    succeed(directory, &["site-robot", "run"]);
    let mut asked = site.paths();
    let lists = ["txt", "xml"];
    asked.retain(|path| !lists.iter().any(|ending| path.ends_with(ending)));
    asked
}

fn sitemap(site: &Site, entries: &[(&str, &str)]) -> Page {
    let entry = |(path, date): &(&str, &str)| {
        let url = site.url(path);
        format!("<url><loc>{url}</loc><lastmod>{date}</lastmod></url>")
    };
    let entries: String = entries.iter().map(entry).collect();
    Page::text("application/xml", format!("<urlset>{entries}</urlset>"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_visits_a_limited_number_of_pages_and_the_next_the_others() {
    let (site, directory) = (site().await, tempfile::tempdir().unwrap());
    let directory = directory.path();
    let robots = format!("Sitemap: {}\n", site.url("/map.xml"));
    site.put("/robots.txt", Page::text("text/plain", robots));
    site.put("/map.xml", sitemap(&site, &[("/a", "2026-01-01")]));
    write_with(
        directory,
        &site,
        "requests_per_run = 4\nrobot = 'site-max-connections=1'\n[heaven]\nparity_pages = 0",
    );
    // The start page, the sitemap, and two more.
    let first = requested_pages(directory, &site);
    assert_eq!((first.len(), first[0].as_str()), (3, "/"), "{first:?}");
    let second = requested_pages(directory, &site);
    assert!(second.len() == 2 || second.len() == 3, "{second:?}");
    assert!(
        second[1..].iter().all(|path| !first.contains(path)),
        "{first:?} {second:?}"
    );
    assert_eq!(
        requested_pages(directory, &site),
        ["/"],
        "no other page is due"
    );
    assert_eq!(titles(directory), ["First", "Second", "Start", "Third"]);
    // Other pages stay, and pages with newer dates in the sitemap are requested.
    site.put("/map.xml", sitemap(&site, &[("/a", "2999-01-01")]));
    site.put("/a", Page::html("First anew", &["/c"]));
    assert_eq!(requested_pages(directory, &site), ["/", "/a"]);
    assert_eq!(
        titles(directory),
        ["First anew", "Second", "Start", "Third"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sitemaps_and_feeds_provide_dates_that_pages_lack() {
    let (site, directory) = (site().await, tempfile::tempdir().unwrap());
    let directory = directory.path();
    let robots = format!(
        "Sitemap: {0}/map.xml\nSitemap: {0}/feed.xml\n",
        site.url("")
    );
    site.put("/robots.txt", Page::text("text/plain", robots));
    site.put(
        "/map.xml",
        sitemap(&site, &[("/a", "2026-05-01"), ("/c", "soon")]),
    );
    let feed = format!(
        "<rss><channel><item><link>{}</link><pubDate>Fri, 01 May 2026 10:00:00 +0200</pubDate>\
         </item></channel></rss>",
        site.url("/b")
    );
    site.put("/feed.xml", Page::text("application/rss+xml", feed));
    write_with(directory, &site, "robot = 'site-max-connections=1'");
    succeed(directory, &["site-robot", "run"]);
    let export = succeed(directory, &["site-robot", "export", "--format", "jsonl"]);
    let dates = |title: &str| {
        let mut lines = export
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let page = lines.find(|page| page["title"] == title).unwrap();
        let date = |name: &str| page[name].as_str().unwrap_or("none").to_owned();
        (date("published"), date("modified"))
    };
    let none = || "none".to_owned();
    assert_eq!(dates("First"), (none(), "2026-05-01".to_owned()));
    assert_eq!(dates("Second"), ("2026-05-01T08:00:00Z".to_owned(), none()));
    assert_eq!(dates("Third"), (none(), none()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_run_finishes_before_single_pages_are_visited() {
    let (site, directory) = (site().await, tempfile::tempdir().unwrap());
    let directory = directory.path();
    let names: Vec<String> = (0..40).map(|number| format!("/slow{number}")).collect();
    let links: Vec<&str> = names.iter().map(String::as_str).collect();
    site.put("/", Page::html("Start", &links));
    for name in &names {
        site.put(name, Page::html(name, &[]));
    }
    write(directory, &site);
    let mut run = program::command(directory)
        .args(["site-robot", "run"])
        .spawn()
        .unwrap();
    site.wait_for_requests(8).await;
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(titles(directory).len() < 41);
    succeed(directory, &["site-robot", "refresh", &site.url("/slow0")]);
    assert_eq!(titles(directory).len(), 41);
    assert_eq!(
        site.paths()
            .iter()
            .filter(|path| *path == "/slow39")
            .count(),
        1
    );
}
