//! Robots are redirected to a page's canonical URL before the site is requested.

use std::{fs, io::Write as _, path::Path};

use flate2::{Compression, write::GzEncoder};
use robot_detection::{
    registry::{Pattern, PatternKind, Purpose, Robot, Source},
    store::{LearnedCanonical, Store},
};

use crate::support::{
    http::{ReceivedRequest, Reply, TestServer},
    program::{Answer, FIREFOX, Server, eventually, request, run, succeed},
};

const HOST: &str = "www.example.com";
/// Address of the verifiable robots.
const HOME: &str = "192.0.2.7";
const RANGES: &str =
    r#"{"creationTime":"2026-11-20T10:00:00","prefixes":[{"ipv4Prefix":"192.0.2.0/24"}]}"#;

fn page(head: &str) -> Reply {
    Reply::typed(
        "text/html; charset=utf-8",
        format!("<title>Page</title>{head}<p>Words."),
    )
}

fn site(seen: &ReceivedRequest) -> Reply {
    match &*seen.path {
        "/ranges.json" => Reply::typed("application/json", RANGES),
        "/header" => page("").with("Link", "</next>; rel=next, </new>; rel=\"canonical\""),
        "/old" | "/old?page=2" => page("<link rel=canonical href=/new>"),
        "/zipped" => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder
                .write_all(b"<link rel=canonical href='http://www.example.com/new'>")
                .unwrap();
            Reply::typed("text/html", encoder.finish().unwrap()).with("Content-Encoding", "gzip")
        }
        "/private" => page("<link rel=canonical href=/new>").with("Cache-Control", "private"),
        "/elsewhere" => page("<link rel=canonical href='http://other.example/new'>"),
        "/secure" => page("<link rel=canonical href='https://www.example.com/new'>"),
        "/to-start" => page("<link rel=canonical href=/>"),
        "/self" => page("<link rel=canonical href=/self>"),
        "/one" => page("<link rel=canonical href=/two>"),
        "/two" => page("<link rel=canonical href=/one>"),
        "/chain" => page("<link rel=canonical href=/old>"),
        "/to-circle" => page("<link rel=canonical href=/back>"),
        "/back" => Reply::redirect("/to-circle"),
        "/script" => Reply::typed("application/json", "<link rel=canonical href=/new>"),
        "/gone" => Reply::status(404).with("Link", "</new>; rel=canonical"),
        _ => page(""),
    }
}

struct Site {
    directory: tempfile::TempDir,
    upstream: TestServer,
    server: Server,
}

impl Site {
    async fn new(more: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let upstream = TestServer::with(site);
        let store = store(directory.path()).await;
        for (id, purpose) in [
            ("trainbot", Purpose::AiTraining),
            ("findbot", Purpose::Search),
        ] {
            let mut robot = Robot::new(id, Source::manual());
            robot.purpose = purpose;
            robot.patterns = vec![Pattern::new(PatternKind::Token, id)];
            robot.ranges_url = Some(upstream.url("/ranges.json"));
            store.robots().add(&robot, 0).await.unwrap();
        }
        store.close().await;
        let text = format!(
            "web_robots_db = ''\nbundled_registry = false\nfilter_pattern = '/members/*'\n\
             redirect_url = '/robot-heaven/'\n[database]\nurl = 'sqlite://robots.db'\n\
             [server]\nupstream = '{}'\ntrusted_proxies = '127.0.0.1'\n\
             [verify]\nallow_private_addresses = true\n{more}\n",
            upstream.url("")
        );
        fs::write(directory.path().join("robot-detection.toml"), text).unwrap();
        let server = Server::start(directory.path(), &["serve"]);
        let site = Self {
            directory,
            upstream,
            server,
        };
        eventually("the robots are verified", || {
            site.get("/proof", "trainbot/1", &[]);
            let seen = site.upstream.seen();
            let last = seen.iter().rfind(|seen| seen.path == "/proof");
            last.is_some_and(|last| last.header("x-robot-detection-verdict") == Some("verified"))
        });
        site
    }

    fn get(&self, path: &str, agent: &str, more: &[(&str, &str)]) -> Answer {
        let common = [
            ("host", HOST),
            ("user-agent", agent),
            ("x-forwarded-for", HOME),
        ];
        request(self.server.addr, "GET", path, &[&common, more].concat())
    }

    /// Polls until the robot is redirected.
    fn sent(&self, path: &str) -> Answer {
        let mut answer = self.get(path, "trainbot/1", &[]);
        eventually(path, || {
            let is_sent = answer.status == 301;
            if !is_sent {
                answer = self.get(path, "trainbot/1", &[]);
            }
            is_sent
        });
        answer
    }
}

async fn store(directory: &Path) -> Store {
    Store::connect(&format!("sqlite://{}/robots.db", directory.display()))
        .await
        .unwrap()
}

const TRAINING: &str = "[canonical]\nredirect = ['ai-training']";

#[tokio::test(flavor = "multi_thread")]
async fn a_canonical_url_sent_to_one_robot_redirects_the_next() {
    let site = Site::new(TRAINING).await;
    for path in ["/header", "/old", "/zipped", "/chain"] {
        let first = site.get(path, "trainbot/1", &[]);
        assert_eq!(first.status, 200, "{path}");
        assert!(!first.body.is_empty());
        let sent = site.sent(path);
        assert_eq!(sent.header("location"), "/new", "{path}");
        assert_eq!(sent.header("vary"), "User-Agent");
        assert_eq!(sent.header("cache-control"), "no-store");
        let before = site.upstream.seen().len();
        site.get(path, "trainbot/1", &[]);
        assert_eq!(site.upstream.seen().len(), before, "the site was not asked");
    }
    // Other visitors and other URLs are unaffected.
    for agent in ["findbot/1", FIREFOX, "otherbot/1"] {
        assert_eq!(site.get("/old", agent, &[]).status, 200, "{agent}");
    }
    let forged = [("x-forwarded-for", "198.51.100.7")];
    let forged = [&[("host", HOST), ("user-agent", "trainbot/1")][..], &forged].concat();
    assert_eq!(
        request(site.server.addr, "GET", "/old", &forged).status,
        200
    );
    for path in ["/old?page=2", "/new", "/old/"] {
        assert_eq!(site.get(path, "trainbot/1", &[]).status, 200, "{path}");
    }
    let post = [
        ("host", HOST),
        ("user-agent", "trainbot/1"),
        ("x-forwarded-for", HOME),
    ];
    assert_eq!(request(site.server.addr, "POST", "/old", &post).status, 200);
    assert_eq!(request(site.server.addr, "HEAD", "/old", &post).status, 301);
}

#[tokio::test(flavor = "multi_thread")]
async fn private_canonical_urls_are_not_learnt() {
    let site = Site::new(TRAINING).await;
    let session = ("cookie", "session=1");
    let password = ("authorization", "Basic YTpi");
    // Nothing is learnt from people, from robots of other purposes, or from private responses.
    site.get("/old", FIREFOX, &[]);
    site.get("/old", "findbot/1", &[]);
    site.get("/old", "trainbot/1", &[session]);
    site.get("/old", "trainbot/1", &[password]);
    site.get("/old?page=2", "trainbot/1", &[]);
    for path in [
        "/elsewhere",
        "/secure",
        "/to-start",
        "/self",
        "/script",
        "/gone",
        "/one",
        "/two",
        "/members/a",
    ] {
        site.get(path, "trainbot/1", &[]);
    }
    // All responses before this one have been read, since later ones are known.
    assert_eq!(site.get("/header", "trainbot/1", &[]).status, 200);
    site.sent("/header");
    for path in [
        "/old",
        "/elsewhere",
        "/secure",
        "/to-start",
        "/self",
        "/script",
        "/one",
        "/two",
    ] {
        let headers: &[(&str, &str)] = if path == "/old" { &[session] } else { &[] };
        assert_eq!(site.get(path, "trainbot/1", headers).status, 200, "{path}");
    }
    assert_eq!(
        site.get("/members/a", "trainbot/1", &[]).header("location"),
        "/robot-heaven/"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_canonical_url_that_redirects_back_is_forgotten() {
    let site = Site::new(TRAINING).await;
    site.get("/to-circle", "trainbot/1", &[]);
    assert_eq!(site.sent("/to-circle").header("location"), "/back");
    assert_eq!(site.get("/back", "trainbot/1", &[]).status, 302);
    eventually("the canonical URL is forgotten", || {
        site.get("/to-circle", "trainbot/1", &[session()]).status == 200
    });
}

/// Returns the header that prevents learning the URL again.
fn session() -> (&'static str, &'static str) {
    ("cookie", "session=1")
}

#[tokio::test(flavor = "multi_thread")]
async fn all_instances_share_canonical_urls_and_rules_take_precedence() {
    let site = Site::new(
        "[canonical]\nredirect = ['ai-training']\nverdicts = ['verified', 'unverifiable']\n\
         [[rule]]\npath = '/kept/*'\nrobots = 'trainbot'\naction = 'pass'\n\
         [[rule]]\npath = '/paid/*'\nrobots = 'trainbot'\naction = 'refuse'",
    )
    .await;
    let store = store(site.directory.path()).await;
    let learnt = ["/a", "/kept/a", "/paid/a"].map(|path| LearnedCanonical {
        url: format!("{HOST}{path}"),
        canonical: Some(format!("{HOST}/new?from={path}")),
    });
    let now_ms = i64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_millis());
    store
        .canonicals()
        .save("default", &learnt, now_ms.unwrap(), 0)
        .await
        .unwrap();
    // Learning a URL also loads the URLs that other instances have learnt.
    site.get("/header", "trainbot/1", &[]);
    site.sent("/header");
    assert_eq!(
        site.get("/a", "trainbot/1", &[]).header("location"),
        "/new?from=/a"
    );
    assert_eq!(site.get("/kept/a", "trainbot/1", &[]).status, 200);
    let explain = |path: &str, agent: &str| {
        let flags = [
            "explain",
            "--host",
            HOST,
            "--path",
            path,
            "--user-agent",
            agent,
        ];
        succeed(site.directory.path(), &flags)
    };
    let told = explain("/a", "trainbot/1");
    assert!(told.contains("canonical URL is /new?from=/a."), "{told}");
    assert!(told.contains("decision  redirect 301"), "{told}");
    let told = explain("/b", "trainbot/1");
    assert!(
        told.contains("This page has no known canonical URL."),
        "{told}"
    );
    let told = explain("/a", "findbot/1");
    assert!(
        told.contains("Not redirected to a canonical URL: the robot's purpose is search"),
        "{told}"
    );
    assert_eq!(site.get("/paid/a", "trainbot/1", &[]).status, 403);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn canonical_urls_found_by_the_site_robot_are_used() {
    let site = Site::new(
        "[canonical]\nredirect = ['ai-training']\nverdicts = ['verified']\n\
         [site_robot]\nstarting_points = ['http://www.example.com/start']",
    )
    .await;
    // Here the site robot visits the site at the upstream's own address.
    let url = site.upstream.url("");
    site.upstream.answer(|seen| match &*seen.path {
        "/start" => page("<a href=/print>Print</a><a href=/real>Real</a>"),
        "/print" => page("<link rel=canonical href=/real>").with("X-Of", "robot"),
        _ => site_of_run(seen),
    });
    let config = site.directory.path().join("robot-detection.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(
        &config,
        text.replace("http://www.example.com/start", &format!("{url}/start")),
    )
    .unwrap();
    succeed(site.directory.path(), &["site-robot", "run"]);
    site.get("/header", "trainbot/1", &[]);
    site.sent("/header");
    let host = url.trim_start_matches("http://");
    let headers = [
        ("host", host),
        ("user-agent", "trainbot/1"),
        ("x-forwarded-for", HOME),
    ];
    let sent = request(site.server.addr, "GET", "/print", &headers);
    assert_eq!((sent.status, &*sent.header("location")), (301, "/real"));
}

fn site_of_run(seen: &ReceivedRequest) -> Reply {
    match &*seen.path {
        "/robots.txt" => Reply::status(404),
        "/real" => page("").with("X-Of", "real"),
        _ => site(seen),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_redirected_by_default() {
    let site = Site::new("").await;
    for _ in 0..3 {
        assert_eq!(site.get("/header", "trainbot/1", &[]).status, 200);
    }
    let wrong = site.directory.path().join("robot-detection.toml");
    let text = fs::read_to_string(&wrong).unwrap();
    fs::write(
        &wrong,
        format!("{text}[canonical]\nredirect = 'ai-trainng'\n"),
    )
    .unwrap();
    let output = run(site.directory.path(), &["doctor", "--offline"]);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        told.contains("canonical.redirect") && told.contains("ai-training"),
        "{told}"
    );
}
