//! A server with two sites, and an administrator with a browser.

use std::fs;

use robot_detection::{clock::Clock, store::Store};
use serde_json::Value;

use crate::support::{
    browser::Browser,
    http::{ReceivedRequest, Reply, TestServer},
    program::{Answer, Server, admin_json, exchange, request, run, succeed},
};

/// A server with data for everything that the console shows.
pub(super) struct House {
    pub(super) server: Server,
    pub(super) password: String,
    token: String,
    _directory: tempfile::TempDir,
    _upstream: TestServer,
}

/// The robots.txt of the first site.
const ROBOTS_TXT: &str = "# The shop\nUser-agent: *\nDisallow: /cart/\nCrawl-delay: 5\n\n\
     User-agent: GPTBot\nDisallow: /recipes/\nSitemap: https://shop.example/sitemap.xml\n";

/// Configuration; `UPSTREAM` is replaced by the sites' address.
const SETTINGS: &str = r#"
web_robots_db = "http://127.0.0.1:1/all.txt"
database.url = "sqlite://robots.db"
[server]
trusted_proxies = ["127.0.0.1"]
drain_timeout_seconds = 600
[admin]
time_zone = "Europe/Berlin"
[verify]
methods = ["ranges"]
spoofed = "refuse"
[[site]]
name = "shop"
hosts = ["shop.example", "www.shop.example"]
upstream = "UPSTREAM"
filter_pattern = "/members/*"
heaven.url = "http://shop.example"
robots_txt.serve = "file"
robots_txt.file = "robots.txt"
robots_txt.enforce = "on"
site_robot.starting_points = ["UPSTREAM/members/"]
site_robot.robot = "server-delay=0"
[[site.rule]]
name = "seo robots go to heaven"
purposes = ["seo"]
action = "redirect"
[[site]]
name = "blog"
hosts = ["blog.example"]
upstream = "UPSTREAM"
filter_pattern = "/drafts/*"
robots_txt.serve = "settings"
robots_txt.refuse_purposes = ["ai-training"]
robots_txt.content_signal = "search=yes, ai-train=no"
[[x_robots_tag]]
value = "noai"
[[alert]]
name = "impostors"
on = "impostor"
above = 10
url = "UPSTREAM/missing/hook"
private = true
[[alert]]
name = "sources"
on = "refresh"
url = "UPSTREAM/hook"
private = true
"#;

impl House {
    /// Starts a server with a prepared database, and runs its site robot.
    pub(super) async fn start<F: AsyncFnOnce(&Store, i64)>(fill: F) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let upstream = TestServer::with(page);
        let path = directory.path();
        let url = upstream.url("");
        let settings = SETTINGS.replace("UPSTREAM", url.trim_end_matches('/'));
        fs::write(path.join("robots.txt"), ROBOTS_TXT).unwrap();
        fs::write(path.join("robot-detection.toml"), settings).unwrap();
        let ran = run(path, &["site-robot", "run", "--site", "shop"]);
        assert!(ran.status.success(), "{ran:?}");
        let database = format!("sqlite://{}", path.join("robots.db").display());
        let store = Store::connect(&database).await.unwrap();
        fill(&store, Clock::system().now_ms()).await;
        store.close().await;
        let server = Server::start(path, &["serve"]);
        let token = succeed(path, &["admin", "token", "console"]);
        Self {
            password: server.password.clone().unwrap(),
            token: token.trim().to_owned(),
            server,
            _directory: directory,
            _upstream: upstream,
        }
    }

    pub(super) fn admin(&self, page: &str) -> String {
        format!("http://{}/robot-detection/admin/{page}", self.server.addr)
    }

    /// Requests a page of a site from an address.
    pub(super) fn visit(&self, host: &str, path: &str, agent: &str, address: &str) -> Answer {
        let headers = [
            ("Host", host),
            ("User-Agent", agent),
            ("X-Forwarded-For", address),
            ("Referer", "https://search.example/?q=shoes"),
        ];
        request(self.server.addr, "GET", path, &headers)
    }

    /// Sends a request to the JSON API of the admin pages.
    pub(super) fn json(&self, method: &str, path: &str, body: &str) -> Value {
        let answer = admin_json(self.server.addr, &self.token, (method, path), body);
        assert!(answer.status < 300, "{method} {path}: {}", answer.text());
        serde_json::from_slice(&answer.body).unwrap_or(Value::Null)
    }

    /// Logs in without a browser; returns the session's cookie.
    pub(super) fn cookie(&self) -> String {
        let body = format!("password={}", self.password);
        let (addr, length) = (self.server.addr, body.len());
        let request = format!(
            "POST /robot-detection/admin/login HTTP/1.1\r\nHost: {addr}\r\nOrigin: http://{addr}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{body}"
        );
        let answer = exchange(addr, request.as_bytes());
        let cookies = answer.headers.iter().map(|(_, value)| value);
        let mut session = cookies.filter(|value| value.starts_with("robot-detection-admin="));
        let session = session.next().unwrap_or_else(|| panic!("{answer:?}"));
        session.split(';').next().unwrap().to_owned()
    }

    pub(super) async fn log_in(&self, browser: &Browser) {
        browser.log_in(&self.admin("login"), &self.password).await;
    }

    /// Opens a page of the console.
    pub(super) async fn go(&self, browser: &Browser, page: &str) {
        browser.client.goto(&self.admin(page)).await.unwrap();
        browser.find("h1").await;
    }
}

/// Returns a page of the members' area with links to others, some of them missing.
fn page(seen: &ReceivedRequest) -> Reply {
    let path = &*seen.path;
    if path.starts_with("/missing/") || path == "/robots.txt" {
        return Reply::status(404);
    }
    let links: Vec<_> = (1..9)
        .map(|number| format!("<a href='/members/recipe-{number}.html'>Recipe {number}</a> "))
        .collect();
    let links = links.concat();
    let html = format!(
        "<!DOCTYPE html><html lang=en><title>Page {path}</title><h1>Page {path}</h1>\
         <p>What members read at {path}.</p>{links}</html>"
    );
    Reply::typed("text/html", html)
}
