//! Readers of robot heaven: all visitors, robots, or verified robots.

use std::fs;

use robot_detection::{
    description::{ResourceDescription, name},
    registry::{Pattern, PatternKind, Robot, Source},
    store::Store,
};

use crate::support::{
    http::{Reply, TestServer},
    program::{Answer, FIREFOX, Server, admin_json, eventually, request, run, succeed},
};

const SITE: &str = "http://www.example.com";
const HOME: &str = "192.0.2.7";
const ELSEWHERE: &str = "198.51.100.7";
const RANGES: &str =
    r#"{"creationTime":"2026-11-20T10:00:00","prefixes":[{"ipv4Prefix":"192.0.2.0/24"}]}"#;
const WORDS: &str = "Words that members read.";
const PAGE: &str = "/robot-heaven/members/a.htm";

struct Site {
    directory: tempfile::TempDir,
    server: Server,
    _upstream: TestServer,
}

impl Site {
    async fn new(open_to: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let upstream = TestServer::with(|seen| match &*seen.path {
            "/ranges.json" => Reply::typed("application/json", RANGES),
            // The site redirects visitors without a login to heaven, which must break the loop.
            "/members/a" => Reply::redirect(PAGE),
            _ => Reply::text(seen.header("x-robot-detection-verdict").unwrap_or("none")),
        });
        let url = format!("sqlite://{}/robots.db", directory.path().display());
        let store = Store::connect(&url).await.unwrap();
        let mut robot = Robot::new("listbot", Source::manual());
        robot.patterns = vec![Pattern::new(PatternKind::Token, "listbot")];
        robot.ranges_url = Some(upstream.url("/ranges.json"));
        store.robots().add(&robot, 0).await.unwrap();
        let descriptions = ["/members/a", "/open"].map(|path| {
            let mut description = ResourceDescription::new(format!("{SITE}{path}"));
            description.set(name::TITLE, "A page");
            description.set(name::DESCRIPTION, "What it is about.");
            description.set(name::FULL_TEXT, WORDS);
            description
        });
        store
            .descriptions()
            .save("default", 1, &descriptions, 1_790_000_000_000)
            .await
            .unwrap();
        store.close().await;
        let text = format!(
            "web_robots_db = ''\nbundled_registry = false\nfilter_pattern = '/members/*'\n\
             redirect_url = '/robot-heaven/'\ndatabase.url = 'sqlite://robots.db'\n\
             [server]\nupstream = '{}'\ntrusted_proxies = '127.0.0.1'\nhosts = 'www.example.com'\n\
             [verify]\nallow_private_addresses = true\n[suspects]\naction = 'heaven'\n\
             [heaven]\nsource = 'database'\nopen_to = '{open_to}'\n",
            upstream.url("")
        );
        fs::write(directory.path().join("robot-detection.toml"), text).unwrap();
        let server = Server::start(directory.path(), &["serve"]);
        let site = Self {
            directory,
            server,
            _upstream: upstream,
        };
        eventually("the robot is verified, and heaven has pages", || {
            let is_proven = site.get("/proof", "listbot/1", HOME, &[]).text() == "verified";
            is_proven
                && site
                    .get(PAGE, "listbot/1", HOME, &[])
                    .text()
                    .contains(WORDS)
        });
        site
    }

    fn get(&self, path: &str, agent: &str, from: &str, more: &[(&str, &str)]) -> Answer {
        let common = [
            ("host", "www.example.com"),
            ("user-agent", agent),
            ("x-forwarded-for", from),
        ];
        request(self.server.addr, "GET", path, &[&common, more].concat())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn people_are_redirected_to_the_original_once() {
    let site = Site::new("robots").await;
    let sent = site.get(PAGE, FIREFOX, ELSEWHERE, &[]);
    let to = "http://www.example.com/members/a";
    assert_eq!((sent.status, &*sent.header("location")), (302, to));
    assert_eq!(sent.header("cache-control"), "no-store");
    assert_eq!(sent.header("vary"), "User-Agent");
    // The site redirects the visitor back; then heaven shows a summary without another redirect.
    let back = site.get("/members/a", FIREFOX, ELSEWHERE, &[]);
    assert_eq!((back.status, &*back.header("location")), (302, PAGE));
    let cookie = sent.header("set-cookie");
    let cookie = cookie.split(';').next().unwrap();
    let shown = site.get(PAGE, FIREFOX, ELSEWHERE, &[("cookie", cookie)]);
    assert_eq!(shown.status, 200);
    assert!(shown.text().contains("What it is about.") && !shown.text().contains(WORDS));

    // All robots get the whole page.
    for (agent, from) in [
        ("listbot/1", ELSEWHERE),
        ("otherbot/1", ELSEWHERE),
        ("", ELSEWHERE),
    ] {
        let page = site.get(PAGE, agent, from, &[]);
        assert!(page.text().contains(WORDS), "{agent}: {}", page.text());
        assert!(page.header("vary").contains("User-Agent"), "{agent}");
        assert_eq!(page.header("cache-control"), "no-store", "{agent}");
    }
    // Files with all text need permission to read it; indexes are open to all.
    for file in ["rd.jsonl", "rd.soif", "llms-full.txt"] {
        let path = format!("/robot-heaven/{file}");
        assert_eq!(
            site.get(&path, FIREFOX, ELSEWHERE, &[]).status,
            403,
            "{file}"
        );
        assert!(
            site.get(&path, "otherbot/1", ELSEWHERE, &[])
                .text()
                .contains(WORDS),
            "{file}"
        );
    }
    assert_eq!(
        site.get("/robot-heaven/", FIREFOX, ELSEWHERE, &[]).status,
        200
    );
    let told = run(site.directory.path(), &["doctor", "--offline"]).stdout;
    let told = String::from_utf8(told).unwrap();
    assert!(
        told.contains("suspects.action is heaven, but heaven.open_to is robots"),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_cookies_is_not_redirected_in_circles() {
    let site = Site::new("robots").await;
    // Imitates a browser that follows redirects but stores no cookies.
    let follow = |start: &str, from: &str| {
        let mut path = start.to_owned();
        let mut places = Vec::new();
        for _ in 0..10 {
            let answer = site.get(&path, FIREFOX, from, &[]);
            places.push(path);
            if answer.status != 302 {
                return (places, answer);
            }
            let to = answer.header("location");
            path = to.strip_prefix(SITE).unwrap_or(&to).to_owned();
        }
        panic!("redirect loop: {places:?}");
    };
    let (places, shown) = follow(PAGE, ELSEWHERE);
    assert_eq!(places, [PAGE, "/members/a", PAGE]);
    assert_eq!(shown.status, 200);
    assert!(shown.text().contains("What it is about.") && !shown.text().contains(WORDS));
    // Another page, or another visitor, is redirected to the original again.
    let (places, _) = follow("/robot-heaven/open.htm", ELSEWHERE);
    assert_eq!(places, ["/robot-heaven/open.htm", "/open"]);
    let (places, _) = follow(PAGE, HOME);
    assert_eq!(places, [PAGE, "/members/a", PAGE]);
}

#[test]
fn doctor_reports_rules_that_redirect_people_in_circles() {
    let directory = tempfile::tempdir().unwrap();
    let text = "web_robots_db = ''\nredirect_url = '/robot-heaven/'\n\
        [server]\nhosts = 'www.example.com'\n[heaven]\nsource = 'database'\nopen_to = 'OPEN'\n\
        [[rule]]\nname = 'all'\npath = '/a/*'\nvisitors = 'all'\npeople = true\n\
        action = 'redirect'\n";
    let warning =
        "rule \"all\" redirects human visitors, but heaven.open_to robots redirects them back";
    for (open_to, is_told) in [("robots", true), ("all", false)] {
        let text = text.replace("OPEN", open_to);
        fs::write(directory.path().join("robot-detection.toml"), text).unwrap();
        let told = run(directory.path(), &["doctor", "--offline"]).stdout;
        let told = String::from_utf8(told).unwrap();
        assert_eq!(told.contains(warning), is_told, "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_text_is_only_for_verified_robots() {
    let site = Site::new("verified").await;
    let markdown = [("accept", "text/markdown")];
    for (path, from) in [(PAGE, HOME), ("/robot-heaven/members/a.htm.md", HOME)] {
        assert!(
            site.get(path, "listbot/1", from, &[])
                .text()
                .contains(WORDS),
            "{path}"
        );
    }
    assert!(
        site.get("/open", "listbot/1", HOME, &markdown)
            .text()
            .contains(WORDS)
    );
    for (agent, from) in [("otherbot/1", HOME), ("listbot/1", ELSEWHERE)] {
        let page = site.get(PAGE, agent, from, &[]);
        assert_eq!(page.status, 200, "{agent}");
        assert!(
            page.text().contains("What it is about."),
            "{agent}: {}",
            page.text()
        );
        assert!(!page.text().contains(WORDS), "{agent}: {}", page.text());
        let page = site.get(&format!("{PAGE}.md"), agent, from, &[]);
        assert!(!page.text().contains(WORDS), "{agent}: {}", page.text());
        assert_eq!(
            site.get("/robot-heaven/rd.jsonl", agent, from, &[]).status,
            403
        );
        // The site responds at the original's own URL.
        let own = site.get("/open", agent, from, &markdown);
        assert_eq!(own.header("content-type"), "text/plain", "{agent}");
    }
    assert_eq!(site.get(PAGE, FIREFOX, HOME, &[]).status, 302);
    let own = site.get("/open", FIREFOX, HOME, &markdown);
    assert_eq!(own.header("content-type"), "text/plain");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_visitors_may_read_by_default() {
    let site = Site::new("all").await;
    for agent in [FIREFOX, "otherbot/1"] {
        let page = site.get(PAGE, agent, ELSEWHERE, &[]);
        assert!(page.text().contains(WORDS), "{agent}");
        assert!(!page.header("vary").contains("User-Agent"), "{agent}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_behind_a_login_are_not_published_before_their_readers_are_configured() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let upstream = TestServer::with(|seen| match seen.header("authorization") {
        Some("Bearer t") => Reply::typed(
            "text/html",
            format!(
                "<title>Secret of {0}</title><p>Words of {0}. <a href=/members/b>b</a>",
                seen.path
            ),
        ),
        _ => Reply::status(401),
    });
    let url = format!("sqlite://{}/robots.db", path.display());
    let store = Store::connect(&url).await.unwrap();
    let mut old = ResourceDescription::new(format!("{SITE}/members/a"));
    old.set(name::TITLE, "Known before");
    old.set(name::FULL_TEXT, WORDS);
    let saved = [old];
    let saving = store
        .descriptions()
        .save("default", 1, &saved, 1_790_000_000_000);
    saving.await.unwrap();
    store.close().await;
    let text = format!(
        "web_robots_db = ''\nfilter_pattern = '/members/*'\ndatabase.url = 'sqlite://robots.db'\n\
         [server]\nupstream = '{}'\nhosts = 'www.example.com'\n\
         [site_robot]\nstarting_points = '{SITE}/members/a'\nlogin = 'bearer t'\n\
         [heaven]\nsource = 'database'\n",
        upstream.url("")
    );
    let file = path.join("robot-detection.toml");
    fs::write(&file, &text).unwrap();
    let token = succeed(path, &["admin", "token", "console"]);
    let server = Server::start(path, &["serve"]);
    let visit = |more: &[&str]| {
        let output = run(
            path,
            &[&["site-robot", "run", "--delay", "0"], more].concat(),
        );
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let get = |file: &str| {
        let headers = [("host", "www.example.com"), ("user-agent", FIREFOX)];
        request(
            server.addr,
            "GET",
            &format!("/robot-heaven/{file}"),
            &headers,
        )
        .text()
    };
    eventually("the published pages are served", || {
        get("members/a.htm").contains(WORDS)
    });
    let (code, told) = visit(&[]);
    assert_eq!(code, Some(1), "{told}");
    assert!(
        told.contains("heaven.open_to does not specify who") && told.contains("2 new or changed"),
        "{told}"
    );
    assert_eq!(visit(&["--accept"]).0, Some(1));
    for file in [
        "sitemap.xml",
        "feed.atom",
        "llms.txt",
        "llms-full.txt",
        "members/a.htm",
    ] {
        let text = get(file);
        assert!(
            !text.contains("Secret") && !text.contains("members/b"),
            "{file}: {text}"
        );
    }
    assert!(get("members/a.htm").contains(WORDS));
    let doctor = String::from_utf8(run(path, &["doctor", "--offline"]).stdout).unwrap();
    let log = fs::read_to_string(path.join("stderr.log")).unwrap();
    let admin = server.admin.unwrap_or(server.addr);
    let console = admin_json(admin, token.trim(), ("GET", "site-robot"), "").text();
    for told in [doctor, log, console] {
        assert!(
            told.contains("heaven.open_to does not specify who"),
            "{told}"
        );
    }

    fs::write(&file, text + "open_to = 'all'\n").unwrap();
    let (code, told) = visit(&["--accept"]);
    assert_eq!(code, Some(0), "{told}");
    eventually("the pages are published", || {
        get("sitemap.xml").contains("members/b")
    });
    assert!(get("members/a.htm").contains("Secret"));
}
