//! The demonstration: people log in, the site robot fills heaven, and robots are redirected there.

use std::path::Path;

use regex::Regex;

use crate::support::{
    browser::{Browser, Screen},
    program::{Answer, FIREFOX, GOOGLEBOT, Server, exchange, request, run},
};

const PAGES: [&str; 9] = [
    "/members-only-stuff/",
    "/members-only-stuff/cat.html",
    "/members-only-stuff/charts.html",
    "/members-only-stuff/logbooks/",
    "/members-only-stuff/logbooks/petrel.html",
    "/members-only-stuff/logbooks/saint-anne.html",
    "/members-only-stuff/reports/",
    "/members-only-stuff/restoration.html",
    "/members-only-stuff/tides.html",
];

fn demo(directory: &Path) -> Server {
    Server::start(directory, &["serve", "--demo"])
}

/// Sends the login form.
fn log_in(server: &Server, to: &str, password: &str) -> Answer {
    let form = format!("to={}&password={password}", to.replace('/', "%2F"));
    let head = format!(
        "POST /login HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\nUser-Agent: {FIREFOX}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
        form.len()
    );
    exchange(server.addr, head.as_bytes())
}

fn as_member(server: &Server, cookie: &str, path: &str) -> Answer {
    let headers = [("User-Agent", FIREFOX), ("Cookie", cookie)];
    request(server.addr, "GET", path, &headers)
}

/// Returns the text of a page or a part of it.
fn words(html: &str) -> String {
    let tags =
        Regex::new(r"(?s)<(head|script|style|svg).*?</(head|script|style|svg)>|<[^>]*>").unwrap();
    let text = tags.replace_all(html, " ");
    let text = text
        .replace("&#39;", "'")
        .replace("&#38;", "&")
        .replace("&amp;", "&");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_demonstrations_robots_txt_applies() {
    for arguments in [&["serve", "--demo"][..], &["serve"]] {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(
            directory.path().join("robot-detection.toml"),
            "web_robots_db = ''\n",
        )
        .unwrap();
        let server = Server::start(directory.path(), arguments);
        let answer = server.get("/robots.txt", GOOGLEBOT);
        assert_eq!(answer.status, 200, "{arguments:?}");
        assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
        let text = answer.text();
        assert!(text.contains("User-agent: *\n"), "{text}");
        assert!(text.contains("Content-Signal: "), "{text}");
        // Paths that redirect to heaven must stay open to robots.
        assert!(!text.contains("members-only-stuff"), "{text}");
        assert_eq!(server.get("/members-only-stuff/", GOOGLEBOT).status, 302);
        std::fs::write(directory.path().join("served.txt"), &text).unwrap();
        let lint = run(directory.path(), &["robots-txt", "lint", "served.txt"]);
        assert!(lint.status.success(), "{lint:?}");
    }
}

#[test]
fn a_robot_finds_the_members_texts_in_heaven_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let server = demo(directory.path());
    let entered = log_in(&server, "/members-only-stuff/", "lantern");
    let cookie = entered.header("set-cookie");
    let cookie = cookie.split(';').next().unwrap();
    let headings = Regex::new("<h1[^>]*>(.*?)</h1>").unwrap();
    let paragraphs = Regex::new(r"(?s)<(p|h2|h3)( [^>]*)?>(.*?)</").unwrap();
    for path in PAGES {
        let sent = server.get(path, GOOGLEBOT);
        let own_page = format!("/robot-heaven{path}");
        assert_eq!(
            (sent.status, sent.header("location")),
            (302, own_page.clone())
        );
        let own_page = server.get(&own_page, GOOGLEBOT);
        assert_eq!(own_page.status, 200, "{path}");

        let human_page = words(&as_member(&server, cookie, path).text());
        let text = own_page.text();
        let (_, article) = text.split_once("<article").unwrap();
        let (article, _) = article.split_once("</article>").unwrap();
        let mut sentences = 0;
        for paragraph in paragraphs.captures_iter(article) {
            for sentence in words(&paragraph[3]).split_inclusive(". ") {
                assert!(human_page.contains(sentence.trim()), "{path}: {sentence:?}");
                sentences += 1;
            }
        }
        assert!(sentences >= 4, "{path}: {article}");
        for around in ["Skip to", "Welcome", "About", "Its pages are included in"] {
            assert!(!words(article).contains(around), "{path}: {around}");
        }
        let heading = headings.captures(article).unwrap();
        assert_eq!(
            article.matches(&format!(">{}<", &heading[1])).count(),
            1,
            "{path}"
        );
    }
}

#[test]
fn people_get_a_login_form_and_no_word_of_the_text() {
    let directory = tempfile::tempdir().unwrap();
    let server = demo(directory.path());
    for path in PAGES {
        let page = server.get(path, FIREFOX);
        assert_eq!(page.status, 200);
        let text = page.text();
        assert!(text.contains("type=\"password\""), "{path}");
        for secret in [
            "Petrel",
            "Sextant",
            "wheat paste",
            "nineteen steps",
            "4.31 m",
        ] {
            assert!(!text.contains(secret), "{path}: {secret}");
        }
    }
    let wrong = log_in(&server, "/members-only-stuff/cat.html", "x");
    assert_eq!((wrong.status, &*wrong.header("set-cookie")), (200, ""));
    assert!(wrong.text().contains("role=\"alert\""));
    let forged = as_member(&server, "harbour=", "/members-only-stuff/cat.html");
    assert!(!forged.text().contains("Sextant"));

    let right = log_in(&server, "/members-only-stuff/cat.html", "lantern");
    assert_eq!(right.status, 303);
    assert_eq!(right.header("location"), "/members-only-stuff/cat.html");
    let cookie = right.header("set-cookie");
    let cookie = cookie.split(';').next().unwrap();
    let page = as_member(&server, cookie, "/members-only-stuff/cat.html");
    assert!(page.text().contains("Sextant"));
}

#[test]
fn paths_without_a_heaven_page_redirect_to_heavens_start_page() {
    let directory = tempfile::tempdir().unwrap();
    let server = demo(directory.path());
    let sent = server.get("/members-only-stuff/a", GOOGLEBOT);
    assert_eq!(
        (sent.status, &*sent.header("location")),
        (302, "/robot-heaven/")
    );
    let start = server.get("/robot-heaven/", GOOGLEBOT).text();
    assert!(start.contains("Harbour Library"), "{start}");
    let sitemap = server.get("/robot-heaven/sitemap.xml", GOOGLEBOT);
    let urls = sitemap.text().matches("<loc>").count();
    assert!(urls >= PAGES.len(), "{}", sitemap.text());
}

#[tokio::test]
async fn the_demonstration_looks_right_in_a_browser() {
    let directory = tempfile::tempdir().unwrap();
    let server = demo(directory.path());
    let mut browser = Browser::start().await;
    for (screen, scheme, size) in [
        (Screen::DESK, "light", "desk"),
        (Screen::DESK, "dark", "desk"),
        (Screen::PHONE, "light", "phone"),
    ] {
        browser.look(screen, scheme).await;
        for (path, picture) in [
            ("/members-only-stuff/reports/", "login"),
            ("/robot-heaven/", "start"),
            (
                "/robot-heaven/members-only-stuff/logbooks/petrel.html",
                "page",
            ),
        ] {
            let url = format!("http://{}{path}", server.addr);
            browser.client.goto(&url).await.unwrap();
            browser.find("h1").await;
            let script = "return document.documentElement.scrollWidth > window.innerWidth;";
            let is_too_wide = browser.client.execute(script, vec![]).await.unwrap();
            assert_eq!(is_too_wide, false, "{path} {size}");
            browser
                .keep_screenshot(&format!("demo-{picture}-{size}-{scheme}"))
                .await;
        }
    }
    let url = format!("http://{}/members-only-stuff/cat.html", server.addr);
    browser.client.goto(&url).await.unwrap();
    let field = browser.find("#password").await;
    field.send_keys("lantern").await.unwrap();
    browser.find("button.button").await.click().await.unwrap();
    browser.wait_for_text("h1", "The library cat").await;
    browser.keep_screenshot("demo-member-phone-light").await;
    browser.end().await;
}
