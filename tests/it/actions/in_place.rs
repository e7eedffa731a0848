//! Heaven pages served directly at the URLs that robots request.

use std::{fs, path::Path};

use robot_detection::{
    clock::Clock,
    policy::{Action, Policy, Rule},
};

use super::app;
use crate::support::{
    http::{Reply, TestServer},
    program::{Answer, FIREFOX, GOOGLEBOT, Server, request},
};

const BINGBOT: &str = "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)";

const RULE: &str = "web_robots_db = ''
[[rule]]
robots = ['googlebot']
action = 'serve'
";

fn start(directory: &Path, more: &str) -> Server {
    let text = format!("{RULE}{more}");
    fs::write(directory.join("robot-detection.toml"), text).unwrap();
    Server::start(directory, &["serve"])
}

/// Asserts that a response is a directly served page, not a redirect and not cacheable.
fn assert_in_place(answer: &Answer, body: &str) {
    assert_eq!((answer.status, &*answer.text()), (200, body));
    assert!(answer.header("vary").contains("User-Agent"));
    assert_eq!(answer.header("cache-control"), "no-store");
    assert_eq!(answer.header("location"), "");
}

#[test]
fn a_directory_serves_the_page_of_the_same_path_or_its_index() {
    let directory = tempfile::tempdir().unwrap();
    let pages = directory.path().join("pages/members-only-stuff/deep");
    fs::create_dir_all(&pages).unwrap();
    fs::write(directory.path().join("pages/index.html"), "index").unwrap();
    fs::write(pages.join("a.html"), "a").unwrap();
    fs::write(pages.join("index.html"), "deep").unwrap();
    let server = start(directory.path(), "[heaven]\ndirectory = 'pages'");
    for (path, body) in [
        ("/members-only-stuff/deep/a.html", "a"),
        ("/members-only-stuff/deep/a.html?b=c", "a"),
        ("/members-only-stuff/deep/", "deep"),
        ("/members-only-stuff/deep", "deep"),
        ("/members-only-stuff/other", "index"),
        ("/members-only-stuff/", "index"),
        ("/members-only-stuff/%2e%2e/members-only-stuff/x", "index"),
    ] {
        assert_in_place(&server.get(path, GOOGLEBOT), body);
    }
    let later = [
        ("User-Agent", GOOGLEBOT),
        ("If-Modified-Since", "Fri, 01 Jan 2100 00:00:00 GMT"),
        ("Range", "bytes=0-0"),
    ];
    let answer = request(server.addr, "GET", "/members-only-stuff/", &later);
    assert_in_place(&answer, "index");
    let head = request(server.addr, "HEAD", "/members-only-stuff/", &later[..1]);
    assert_in_place(&head, "");
}

#[test]
fn other_visitors_get_the_usual_response() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path(), "");
    let served = server.get("/members-only-stuff/", GOOGLEBOT);
    assert!(served.text().contains("Robot heaven"));
    assert_in_place(&served, &served.text());
    let direct = server.get("/robot-heaven/", GOOGLEBOT);
    assert_eq!(direct.text(), served.text());
    assert_eq!(direct.header("vary"), "");
    assert_eq!(server.get("/members-only-stuff/", BINGBOT).status, 302);
    let person = server.get("/members-only-stuff/", FIREFOX);
    let kept = person.header("cache-control");
    assert_eq!(
        (person.status, &*kept),
        (200, "private, no-store"),
        "the login"
    );
    assert_ne!(person.text(), served.text());
    assert!(person.header("vary").contains("User-Agent"));
    let headers = [("User-Agent", GOOGLEBOT)];
    let posted = request(server.addr, "POST", "/members-only-stuff/", &headers);
    assert_eq!(posted.text(), "received\n");
}

#[test]
fn robots_txt_applies_to_the_requested_path() {
    let directory = tempfile::tempdir().unwrap();
    let settings = "[robots_txt]\nserve = 'settings'\nenforce = 'on'
disallow = ['/members-only-stuff/secret', '/robot-heaven/']";
    let server = start(directory.path(), settings);
    let status = |path| server.get(path, GOOGLEBOT).status;
    assert_eq!(status("/members-only-stuff/secret/a"), 403);
    assert_eq!(status("/members-only-stuff/a"), 200);
}

#[test]
fn heaven_pages_are_fetched_from_an_upstream_heaven() {
    let directory = tempfile::tempdir().unwrap();
    let upstream = TestServer::new(Reply::text("heaven").with("Cache-Control", "max-age=60"));
    let settings = format!(
        "[heaven]\nserve = false\n[server]\nupstream = '{}'",
        upstream.url("")
    );
    let server = start(directory.path(), &settings);
    let answer = server.get("/members-only-stuff/a?b=c", GOOGLEBOT);
    assert_eq!((answer.status, &*answer.text()), (200, "heaven"));
    assert_eq!(answer.header("cache-control"), "max-age=60");
    server.get("/members-only-stuff/a?b=c", FIREFOX);
    let seen = upstream.seen();
    let seen: Vec<_> = seen
        .iter()
        .filter(|seen| seen.path != "/robots.txt")
        .map(|seen| (&*seen.path, seen.header("x-robot-detection")))
        .collect();
    let person = ("/members-only-stuff/a?b=c", None);
    assert_eq!(seen, [("/robot-heaven/", Some("googlebot")), person]);
}

#[tokio::test]
async fn an_application_inside_the_layer_serves_its_own_heaven() {
    let rule = Rule::builder(Action::Serve).redirect_url("/robot-heaven/?from=robot");
    let layer = app::layer(Policy::builder().rule(rule), &Clock::manual(0));
    let addr = app::serve(&layer).await;
    let answer = app::visit(addr, "GET", "/members-only-stuff/a?b=c", GOOGLEBOT).await;
    let body = "heaven /robot-heaven/?from=robot for /members-only-stuff/a?b=c";
    assert_in_place(&answer, body);
    let answer = app::visit(addr, "GET", "/members-only-stuff/a", FIREFOX).await;
    assert_eq!(answer.text(), "page /members-only-stuff/a");
    let answer = app::visit(addr, "GET", "/robot-heaven/", GOOGLEBOT).await;
    assert_eq!(answer.text(), "heaven /robot-heaven/");
}
