//! Robot heaven generated from descriptions, over HTTP, as files, and in a browser.

use std::{collections::BTreeSet, fs, path::Path};

use robot_detection::{
    description::{ResourceDescription, name},
    heaven::{HeavenSettings, Library, publish},
    store::Store,
};
use sqlx::{Connection as _, SqliteConnection};

use crate::support::{
    browser::{Browser, Screen},
    pipelined::chunks,
    program::{Answer, FIREFOX, GOOGLEBOT, Server, eventually, request},
};

const SITE: &str = "http://www.example.com";
const AREA: &str = "/members-only-stuff";

/// Stores some descriptions of the demonstration's members' area.
async fn describe(directory: &Path) -> Store {
    let url = format!("sqlite://{}/heaven.db", directory.display());
    let store = Store::connect(&url).await.unwrap();
    let mut descriptions = vec![described(
        "/reports/",
        "Reports: Harbour Library",
        "Visits, loans and tides of the year, quarter by quarter.",
    )];
    for number in 1..=230 {
        let (path, title) = (format!("/log/{number}"), format!("Logbook, day {number}"));
        descriptions.push(described(&path, &title, "Wind from the west, and rain."));
    }
    store
        .descriptions()
        .save("default", 1, &descriptions, 1_790_000_000_000)
        .await
        .unwrap();
    store
}

fn described(path: &str, title: &str, about: &str) -> ResourceDescription {
    let mut description = ResourceDescription::new(format!("{SITE}{AREA}{path}"));
    for (name, value) in [
        (name::TITLE, title),
        (name::DESCRIPTION, about),
        (name::AUTHOR, "Ada Marlow"),
        (name::LANGUAGE, "en"),
        (name::LAST_MODIFIED, "Sun, 01 Mar 2026 12:30:05 GMT"),
        (name::CLASSIFICATION, "Library:Harbour"),
        (name::DEPTH, "2"),
        (
            name::TABLE_OF_CONTENTS,
            "First quarter\n  Loans\nSecond quarter",
        ),
        (
            name::FULL_TEXT,
            "The year began quietly. Few ships came in, and those that did brought more \
             letters than books.\nFirst quarter\nThe reading room was open on sixty-one \
             days.\nLoans\nCharts were asked for most, then almanacs, then novels about the \
             sea.\nSecond quarter\nWith the spring tides came the visitors.",
        ),
    ] {
        description.set(name, value);
    }
    description
}

fn serve(directory: &Path, more: &str) -> Server {
    let text = format!(
        "web_robots_db = ''\n{more}\n[server]\nhosts = 'www.example.com'\n\
         [database]\nurl = 'sqlite://{}/heaven.db'\n",
        directory.display()
    );
    fs::write(directory.join("robot-detection.toml"), text).unwrap();
    Server::start(directory, &["serve"])
}

/// Polls until the response matches, because descriptions are loaded after startup.
fn ask_until(server: &Server, path: &str, fits: impl Fn(&Answer) -> bool) -> Answer {
    let mut answer = server.get(path, GOOGLEBOT);
    eventually(path, || {
        let is_fit = fits(&answer);
        if !is_fit {
            answer = server.get(path, GOOGLEBOT);
        }
        is_fit
    });
    answer
}

#[tokio::test]
async fn a_robot_is_redirected_to_the_heaven_page_of_the_requested_page() {
    let directory = tempfile::tempdir().unwrap();
    describe(directory.path()).await.close().await;
    let server = serve(
        directory.path(),
        "heaven.source = 'database'\nheaven.name = 'Harbour Library'",
    );
    ask_until(&server, "/robot-heaven/", |answer| {
        answer.text().contains("231")
    });

    let sent = server.get("/members-only-stuff/log/7", GOOGLEBOT);
    let page = "/robot-heaven/members-only-stuff/log/7.htm";
    assert_eq!((sent.status, &*sent.header("location")), (302, page));
    let shown = server.get(page, GOOGLEBOT);
    assert_eq!(shown.status, 200);
    assert!(
        shown.text().contains("Logbook, day 7") && shown.text().contains("novels about the sea")
    );
    // The original redirects search engines here, so a canonical link to it would be a loop.
    let canonical = format!("<link rel=\"canonical\" href=\"http://www.example.com{page}\">");
    assert!(shown.text().contains(&canonical), "{}", shown.text());

    // Paths without a heaven page redirect to the start page; people get the requested page.
    let other = server.get("/members-only-stuff/other", GOOGLEBOT);
    assert_eq!(other.header("location"), "/robot-heaven/");
    let person = server.get("/members-only-stuff/reports/", FIREFOX);
    assert_eq!(person.status, 200);

    for (path, content_type) in [
        ("sitemap.xml", "application/xml"),
        ("feed.atom", "application/atom+xml"),
        ("llms.txt", "text/plain"),
        ("rd.jsonl", "application/jsonl"),
        ("rd.soif", "text/plain"),
        ("by/title/3.html", "text/html"),
        ("heaven.css", "text/css"),
    ] {
        let answer = server.get(&format!("/robot-heaven/{path}"), GOOGLEBOT);
        assert_eq!(answer.status, 200, "{path}");
        assert!(
            answer.header("content-type").starts_with(content_type),
            "{path}"
        );
    }
    let headers = [("User-Agent", GOOGLEBOT), ("Accept", "text/markdown")];
    let markdown = request(server.addr, "GET", page, &headers);
    assert!(markdown.text().starts_with("# Logbook, day 7\n"));
    let html = format!("<http://www.example.com{page}>");
    let link = format!("{html}; rel=\"canonical\", {html}; rel=\"alternate\"; type=\"text/html\"");
    assert_eq!(markdown.header("link"), link);
    // The original is closed to robots: the page declares that a login is needed.
    assert!(shown.text().contains("\"isAccessibleForFree\":false"));
    assert_eq!(server.get("/robot-heaven/nowhere", GOOGLEBOT).status, 404);
}

/// Copies a description of the members' area until there are enough pages.
async fn describe_many(directory: &Path, pages: u32) {
    describe(directory).await.close().await;
    let database = format!("sqlite://{}/heaven.db", directory.display());
    let mut database = SqliteConnection::connect(&database).await.unwrap();
    sqlx::query(
        "WITH RECURSIVE many (number) AS (SELECT 231 UNION ALL SELECT number + 1 FROM many \
         WHERE number < $1) INSERT INTO resource_descriptions (site, url, fingerprint, title, \
         title_key, depth_key, first_seen_ms, modified_ms, run_id, attributes) SELECT site, \
         'http://www.example.com/members-only-stuff/log/' || number, fingerprint, title, \
         title_key, depth_key, first_seen_ms, modified_ms, run_id, attributes FROM many, \
         resource_descriptions WHERE url = 'http://www.example.com/members-only-stuff/log/7'",
    )
    .bind(pages - 1)
    .execute(&mut database)
    .await
    .unwrap();
    database.close().await.unwrap();
}

#[tokio::test]
async fn sitemaps_of_fifty_thousand_pages_are_split() {
    let directory = tempfile::tempdir().unwrap();
    describe_many(directory.path(), 50_100).await;
    let server = serve(directory.path(), "heaven.source = 'database'");
    let index = ask_until(&server, "/robot-heaven/sitemap.xml", |answer| {
        answer.text().contains("<sitemapindex")
    });
    assert_eq!(index.text().matches("<loc>").count(), 2);
    let mut listed = BTreeSet::new();
    for (number, urls) in [(1, 50_000), (2, 101)] {
        let path = format!("/robot-heaven/sitemap-{number}.xml");
        assert!(index.text().contains(&format!("<loc>{SITE}{path}</loc>")));
        let sitemap = server.get(&path, GOOGLEBOT);
        assert_eq!(sitemap.header("transfer-encoding"), "chunked");
        let (sitemap, _) = chunks(&sitemap.body).unwrap();
        let sitemap = String::from_utf8(sitemap).unwrap();
        let found = sitemap.lines().filter(|line| line.contains("<loc>"));
        let found: Vec<_> = found.map(str::to_owned).collect();
        assert_eq!(found.len(), urls);
        listed.extend(found);
    }
    // Each page is listed once, and so is the start page.
    assert_eq!(listed.len(), 50_101);

    let start = server.get("/robot-heaven/", GOOGLEBOT).text();
    let count = ">Pages for robots to read, index and link to: 50100</p>";
    assert!(start.contains(count), "{start}");
    for (number, links) in [(1, 100), (251, 100), (501, 100)] {
        let name = if number == 1 {
            String::new()
        } else {
            format!("{number}.html")
        };
        for view in ["title", "classification", "author", "date", "depth"] {
            let path = format!("/robot-heaven/by/{view}/{name}");
            let page = server.get(&path, GOOGLEBOT).text();
            let found = page
                .matches("href=\"/robot-heaven/members-only-stuff/")
                .count();
            assert_eq!(found, links, "{path}");
            assert!(page.len() < 40_000, "{path}: {} bytes", page.len());
        }
    }
    let behind = server.get("/robot-heaven/by/title/502.html", GOOGLEBOT);
    assert_eq!(behind.status, 404);
}

#[tokio::test]
async fn a_heaven_page_is_served_directly_at_its_originals_url() {
    let directory = tempfile::tempdir().unwrap();
    describe(directory.path()).await.close().await;
    let more = "heaven.source = 'database'\n[[rule]]\nrobots = ['googlebot']\naction = 'serve'";
    let server = serve(directory.path(), more);
    let page = ask_until(&server, "/members-only-stuff/log/7", |answer| {
        answer.text().contains("Logbook, day 7")
    });
    assert_eq!((page.status, &*page.header("location")), (200, ""));
    let canonical =
        "<link rel=\"canonical\" href=\"http://www.example.com/members-only-stuff/log/7\">";
    assert!(page.text().contains(canonical), "{}", page.text());
    assert_eq!(page.header("cache-control"), "no-store");
    assert!(page.header("vary").contains("User-Agent"));
}

#[tokio::test]
async fn a_published_heaven_is_served_from_files() {
    let directory = tempfile::tempdir().unwrap();
    let store = describe(directory.path()).await;
    let settings = HeavenSettings::new(SITE).unwrap();
    let library = Library::new(store.clone(), "default");
    let pages = directory.path().join("pages");
    publish(&library, &pages, &settings).await.unwrap();
    store.close().await;
    let server = serve(directory.path(), "heaven.directory = 'pages'");
    let shown = server.get("/robot-heaven/members-only-stuff/log/7.htm", GOOGLEBOT);
    assert!(shown.text().contains("Logbook, day 7"));
    assert!(shown.header("content-type").starts_with("text/html"));
    ask_until(&server, "/members-only-stuff/log/7", |answer| {
        answer.header("location").ends_with("/log/7.htm")
    });
}

#[tokio::test]
async fn a_running_server_loads_new_publications() {
    let directory = tempfile::tempdir().unwrap();
    let store = describe(directory.path()).await;
    let more = "heaven.directory = 'pages'\n[[rule]]\nrobots = ['bingbot']\naction = 'serve'";
    let server = serve(directory.path(), more);
    let (asked, page) = (
        "/members-only-stuff/log/7",
        "/robot-heaven/members-only-stuff/log/7.htm",
    );
    let sent = server.get(asked, GOOGLEBOT);
    assert_eq!(
        (sent.status, &*sent.header("location")),
        (302, "/robot-heaven/")
    );

    // Another process publishes.
    let settings = HeavenSettings::new(SITE).unwrap().markdown_files(true);
    let library = Library::new(store.clone(), "default");
    let pages = directory.path().join("pages");
    publish(&library, &pages, &settings).await.unwrap();
    ask_until(&server, asked, |answer| answer.header("location") == page);

    let headers = [("User-Agent", GOOGLEBOT), ("Accept", "text/markdown")];
    let markdown = request(server.addr, "GET", page, &headers);
    assert!(
        markdown.text().starts_with("# Logbook, day 7\n"),
        "{}",
        markdown.text()
    );
    assert_eq!(markdown.header("content-type"), "text/markdown");
    assert_eq!(markdown.header("vary"), "Accept");
    let html = server.get(page, GOOGLEBOT);
    assert!(html.header("content-type").starts_with("text/html"));
    assert_eq!(html.header("vary"), "Accept");
    let in_place = server.get(asked, "bingbot/2.0");
    assert_eq!(in_place.status, 200);
    let canonical = format!("<link rel=\"canonical\" href=\"{SITE}{asked}\">");
    assert!(in_place.text().contains(&canonical), "{}", in_place.text());

    // The server also removes withdrawn pages.
    let kept = [described("/reports/", "Reports", "What stays.")];
    store.frontier().clear_site("default").await.unwrap();
    store
        .descriptions()
        .save("default", 2, &kept, 1_790_000_000_000)
        .await
        .unwrap();
    publish(&library, &pages, &settings).await.unwrap();
    store.close().await;
    ask_until(&server, asked, |answer| {
        answer.header("location") == "/robot-heaven/"
    });
    assert_eq!(server.get(page, GOOGLEBOT).status, 404);
}

#[tokio::test]
async fn pages_look_right_in_a_browser() {
    let directory = tempfile::tempdir().unwrap();
    describe(directory.path()).await.close().await;
    let server = serve(
        directory.path(),
        "heaven.source = 'database'\nheaven.name = 'Harbour Library'",
    );
    ask_until(&server, "/robot-heaven/", |answer| {
        answer.text().contains("231")
    });
    let mut browser = Browser::start().await;
    for (screen, scheme, size) in [
        (Screen::DESK, "light", "desk"),
        (Screen::DESK, "dark", "desk"),
        (Screen::PHONE, "light", "phone"),
    ] {
        browser.look(screen, scheme).await;
        for (path, picture) in [
            ("", "start"),
            ("members-only-stuff/reports/", "page"),
            ("by/title/2.html", "index"),
        ] {
            let url = format!("http://{}/robot-heaven/{path}", server.addr);
            browser.client.goto(&url).await.unwrap();
            browser.find("h1").await;
            let script = "return document.documentElement.scrollWidth > window.innerWidth;";
            let is_too_wide = browser.client.execute(script, vec![]).await.unwrap();
            assert_eq!(is_too_wide, false, "{path} {size}");
            browser
                .keep_screenshot(&format!("heaven-{picture}-{size}-{scheme}"))
                .await;
        }
    }
    browser.end().await;
}
