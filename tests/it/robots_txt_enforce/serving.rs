//! A running server that enforces its robots.txt.

use std::net::SocketAddr;

use axum::{body::Body, http::Request};
use http_body_util::BodyExt as _;
use reqwest::{Client, redirect};
use robot_detection::{
    app::{self, RobotDetection, ServerSettings},
    config::{ConfigErrors, Loaded, Loader},
};
use tokio::task::JoinHandle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt as _;

use crate::support::program::{FIREFOX, GOOGLEBOT};

const BINGBOT: &str = "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)";
/// A file that disallows /about.html for Googlebot.
const FILE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/data/robots_txt/about.txt"
);

struct Running {
    robots: RobotDetection,
    addr: SocketAddr,
    operation: SocketAddr,
    client: Client,
    stop: CancellationToken,
    done: JoinHandle<()>,
}

fn loaded(text: &str) -> Loaded {
    load(text).unwrap()
}

fn load(text: &str) -> Result<Loaded, ConfigErrors> {
    let text = format!(
        "web_robots_db = ''\ndatabase.url = 'sqlite::memory:'\nserver.listen = '127.0.0.1:0'\noperation.listen = '127.0.0.1:0'\n\
         robots_txt.serve = 'file'\nrobots_txt.file = '{FILE}'\n{text}"
    );
    Loader::new().file("f.toml", &text).load()
}

impl Running {
    async fn start(text: &str) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let loaded = loaded(text);
        let builder = app::assemble(&loaded).unwrap();
        let robots = builder.build_idle().await.unwrap();
        let settings = ServerSettings::new(&loaded, true).unwrap();
        let server = settings.bind().await.unwrap();
        let (addr, stop) = (server.local_addr(), CancellationToken::new());
        let operation = server.operation_addr().unwrap();
        let (ours, until) = (robots.clone(), stop.clone());
        let tasks = TaskTracker::new();
        let done = tasks.spawn(async move { server.run(&ours, until).await });
        let client = Client::builder().redirect(redirect::Policy::none());
        Self {
            robots,
            addr,
            operation,
            client: client.build().unwrap(),
            stop,
            done,
        }
    }

    async fn get(&self, path: &str, user_agent: &str) -> (u16, String) {
        let url = format!("http://{}{path}", self.addr);
        let request = self.client.get(url).header("user-agent", user_agent);
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    }

    async fn admin_page(&self, path: &str) -> (u16, String) {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let pages = self.robots.admin_router_without_login();
        let answer = pages.oneshot(request).await.unwrap();
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    async fn status(&self, path: &str, user_agent: &str) -> u16 {
        self.get(path, user_agent).await.0
    }

    async fn end(self) {
        self.stop.cancel();
        self.done.await.unwrap();
        self.robots.shutdown().await;
    }
}

#[tokio::test]
async fn a_named_robot_is_refused_and_a_browser_is_never_affected() {
    let server = Running::start("robots_txt.enforce = 'on'").await;
    let (status, text) = server.get("/about.html", GOOGLEBOT).await;
    assert_eq!(status, 403);
    assert!(
        text.contains("line 2 of /robots.txt disallows this: Disallow: /about.html"),
        "{text}"
    );
    assert_eq!(server.status("/", GOOGLEBOT).await, 200);
    assert_eq!(server.status("/about.html", BINGBOT).await, 200);
    for path in ["/", "/about.html"] {
        assert_eq!(server.status(path, FIREFOX).await, 200, "{path}");
    }
    let (status, page) = server.admin_page("/robots-txt").await;
    assert_eq!(status, 200);
    for words in [
        "googlebot",
        "Disallow: /about.html",
        "refused",
        "robots.txt is enforced",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let head = server
        .client
        .head(format!("http://{}/about.html", server.addr));
    let head = head.header("user-agent", GOOGLEBOT).send().await.unwrap();
    assert_eq!(head.status().as_u16(), 403);
    assert_eq!(head.text().await.unwrap(), "");
    server.end().await;
}

#[tokio::test]
async fn googles_other_robots_follow_googlebots_rules_if_they_have_none() {
    let server = Running::start("robots_txt.enforce = 'on'").await;
    assert_eq!(
        server.status("/about.html", "Googlebot-Image/1.0").await,
        403
    );
    assert_eq!(server.status("/", "Googlebot-Image/1.0").await, 200);
    server.end().await;
}

#[tokio::test]
async fn requests_that_would_not_be_redirected_are_refused() {
    let text = "robots_txt.enforce = 'on'\nrobots_txt.refusal = 'redirect'";
    let server = Running::start(text).await;
    assert_eq!(server.status("/about.html", GOOGLEBOT).await, 302);
    let post = server
        .client
        .post(format!("http://{}/about.html", server.addr));
    let post = post.header("user-agent", GOOGLEBOT).send().await.unwrap();
    assert_eq!(post.status().as_u16(), 403);
    server.end().await;
}

#[tokio::test]
async fn a_reload_changes_the_enforcement() {
    let server = Running::start("").await;
    assert_eq!(server.status("/about.html", GOOGLEBOT).await, 200);
    for (text, status) in [
        ("robots_txt.enforce = 'on'", 403),
        ("robots_txt.enforce = 'on'\nrobots_txt.refusal = '429'", 429),
        (
            "robots_txt.enforce = 'on'\nrobots_txt.refusal = 'redirect'",
            302,
        ),
        (
            "robots_txt.enforce = 'on'\nrobots_txt.refusal = 'pass'",
            200,
        ),
        ("robots_txt.enforce = 'off'", 200),
    ] {
        app::reload(&server.robots, &loaded(text)).unwrap();
        assert_eq!(
            server.status("/about.html", GOOGLEBOT).await,
            status,
            "{text}"
        );
    }
    let error = load("filter_pattern = '/other/*'\nrobots_txt.enforce = 'onn'").unwrap_err();
    assert!(
        error.to_string().contains("did you mean \"on\"?"),
        "{error}"
    );
    let wrong =
        loaded("filter_pattern = '/other/*'\nredirect_url = ''\nrobots_txt.refusal = 'redirect'");
    let error = app::reload(&server.robots, &wrong).unwrap_err().to_string();
    assert!(error.contains("there is no redirect target"), "{error}");
    let policy = server.robots.policy().load();
    assert_eq!(
        policy.filter_patterns().collect::<Vec<_>>(),
        ["/members-only-stuff/*"]
    );
    let shown = server.robots.shown_settings().load();
    let enforce = shown.iter().find(|shown| shown.key == "robots_txt.enforce");
    assert_eq!(enforce.unwrap().value, "off");
    server.end().await;
}

#[tokio::test]
async fn violations_are_counted_by_robot_in_the_metrics() {
    let server = Running::start("").await;
    server.status("/about.html", GOOGLEBOT).await;
    app::reload(&server.robots, &loaded("robots_txt.enforce = 'on'")).unwrap();
    server.status("/about.html", GOOGLEBOT).await;
    server.status("/about.html", GOOGLEBOT).await;
    let metrics = format!("http://{}/metrics", server.operation);
    let metrics = server.client.get(metrics).send().await.unwrap();
    let metrics = metrics.text().await.unwrap();
    for (answer, number) in [("pass", 1), ("refuse", 2)] {
        let line = metrics.lines().find(|line| {
            line.starts_with("robot_detection_robots_txt_violations_total{")
                && line.contains(r#"robot="googlebot""#)
                && line.contains(r#"broken="rule""#)
                && line.contains(&format!("answer=\"{answer}\""))
        });
        let found = line.and_then(|line| line.rsplit(' ').next());
        assert_eq!(found, Some(&*number.to_string()), "{metrics}");
    }
    server.end().await;
}
