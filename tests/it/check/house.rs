//! A site behind our own proxy, and the decision endpoint for other proxies of the same site.

use std::os::unix::net::UnixStream;

use tempfile::TempDir;

use crate::support::{
    program::{Answer, DEADLINE, Server, exchange, exchange_on, request},
    raw::RawServer,
};

pub(super) const TOKEN: &str = "0123456789abcdef0123";

pub(super) const RULES: &str = r#"
filter_pattern = "/members-only-stuff/*"
redirect_url = "/robot-heaven/"
[robots_txt]
serve = "settings"
disallow = "/closed/*"
enforce = "on"
[[rule]]
name = "pay"
path = "/paid/*"
robots = "gptbot"
action = "refuse"
status = 402
text = "Pay first."
[[rule]]
name = "in place"
path = "/pages/*"
action = "serve"
[[rule]]
name = "pace"
path = "/slow/*"
action = "slow"
requests = 1
per_seconds = 3600
[[x_robots_tag]]
path = "/tagged/*"
value = "noindex"
"#;

pub(super) struct House {
    pub(super) directory: TempDir,
    pub(super) server: Server,
    pub(super) site: RawServer,
}

impl House {
    /// Starts a site and the program, with the decision endpoint on a socket.
    pub(super) async fn new() -> Self {
        Self::with("[check]\nlisten = \"unix:check.sock\"\n").await
    }

    /// Starts a site and the program with more settings.
    pub(super) async fn with(more: &str) -> Self {
        let site = RawServer::answering("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsite").await;
        let directory = tempfile::tempdir().unwrap();
        let config = format!("web_robots_db = ''\n{RULES}{more}");
        std::fs::write(directory.path().join("robot-detection.toml"), config).unwrap();
        let upstream = format!("http://{}", site.addr);
        let server = Server::start(directory.path(), &["serve", "--upstream", &upstream]);
        Self {
            directory,
            server,
            site,
        }
    }

    /// Sends a request through our own proxy.
    pub(super) fn own(&self, method: &str, path: &str, user_agent: &str) -> Answer {
        request(
            self.server.addr,
            method,
            path,
            &[("User-Agent", user_agent)],
        )
    }

    /// Queries the endpoint about a visitor's request, as the given kind of proxy does.
    pub(super) fn check(
        &self,
        dialect: &str,
        method: &str,
        path: &str,
        user_agent: &str,
    ) -> Answer {
        self.ask(&question(
            dialect,
            method,
            path,
            &[("User-Agent", user_agent)],
        ))
    }

    /// Sends bytes to the endpoint.
    pub(super) fn ask(&self, question: &str) -> Answer {
        if let Some(addr) = self.server.check {
            return exchange(addr, question.as_bytes());
        }
        let stream = UnixStream::connect(self.directory.path().join("check.sock")).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        exchange_on(stream, question.as_bytes())
    }
}

/// Returns a field of the header that nginx's configuration turns into a response.
pub(super) fn field(answer: &Answer, name: &str) -> String {
    let header = answer.header("x-robot-detection-answer");
    let start = format!("{name}=");
    let mut fields = header.split('\t');
    let field = fields.find_map(|field| field.strip_prefix(&start));
    field.unwrap_or_default().to_owned()
}

/// Returns the response status that the endpoint gives to nginx.
pub(super) fn told_status(answer: &Answer) -> u16 {
    let header = answer.header("x-robot-detection-answer");
    header.split('\t').next().unwrap().parse().unwrap()
}

/// Writes a proxy's query about a request, with the visitor's own headers.
pub(super) fn question(
    dialect: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> String {
    let (line, described) = match dialect {
        "envoy" => (
            format!("{method} /check/envoy{path}"),
            "X-Robot-Detection-Client: 192.0.2.7\r\nX-Robot-Detection-Scheme: http\r\n".to_owned(),
        ),
        "traefik" => (
            "GET /check/traefik".to_owned(),
            format!(
                "X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Method: {method}\r\nX-Forwarded-Uri: {path}\r\n\
                 X-Forwarded-Proto: http\r\nX-Forwarded-Host: example.org\r\n"
            ),
        ),
        _ => (
            format!("GET /check/{dialect}"),
            format!("X-Robot-Detection-Request: 192.0.2.7 http {method} - {path}\r\n"),
        ),
    };
    let headers = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"));
    let headers = headers.collect::<Vec<_>>().concat();
    format!("{line} HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n{described}{headers}\r\n")
}
