//! A server in front of an upstream, its readiness checks and its administrator.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::support::{
    http::{Reply, TestServer},
    program::{Answer, GOOGLEBOT, Server, eventually, exchange, request, succeed},
};

const ADMIN: &str = "/robot-detection/admin";

/// Directory with a configuration, and the configured upstream.
pub(super) struct Site {
    pub(super) directory: tempfile::TempDir,
    _upstream: TestServer,
}

impl Site {
    pub(super) fn new(database: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let upstream = TestServer::new(Reply::text("the page"));
        let text = format!(
            "web_robots_db = ''\nunlisted_robots = false\nfilter_pattern = '/private/*'\nredirect_url = '/robot-heaven/'\n\
             database.url = \"{database}\"\nserver.upstream = '{}'\n",
            upstream.url("/")
        );
        fs::write(directory.path().join("robot-detection.toml"), text).unwrap();
        Self {
            directory,
            _upstream: upstream,
        }
    }

    /// Creates a site with an SQLite file that a server has created, with a robot added by hand.
    pub(super) fn with_file() -> Self {
        let site = Self::new("sqlite://robots.db");
        site.end(site.start());
        let add = ["registry", "add", "housebot", "--useragent", "Petrel/1.0"];
        succeed(site.path(), &add);
        site
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(super) fn database(&self) -> PathBuf {
        self.path().join("robots.db")
    }

    pub(super) fn start(&self) -> Server {
        Server::start(self.path(), &["serve"])
    }

    pub(super) fn end(&self, server: Server) {
        server.signal("TERM");
        assert!(server.wait(), "{}", self.log());
    }

    pub(super) fn log(&self) -> String {
        fs::read_to_string(self.path().join("stderr.log")).unwrap_or_default()
    }

    /// Returns the names of the database's files, without the lock.
    pub(super) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names
            .filter(|name| name.starts_with("robots.db") && !name.contains(".lock"))
            .collect();
        names.sort();
        names
    }
}

/// Checks the readiness as a balancer does.
pub(super) fn readiness(server: &Server) -> (u16, Value) {
    let answer = server.operation("/readyz");
    (answer.status, serde_json::from_slice(&answer.body).unwrap())
}

/// Waits for a status of the database; the server must be ready all the time.
pub(super) fn wait_for(server: &Server, database: &str) -> Value {
    let mut body = Value::Null;
    eventually(&format!("the database is {database}"), || {
        let (status, told) = readiness(server);
        assert_eq!(status, 200, "{told}");
        assert!(told["robots"].as_u64() > Some(0), "{told}");
        body = told;
        body["database"] == database
    });
    body
}

/// Asserts that robots are distinguished from people.
pub(super) fn assert_serves(server: &Server) {
    let person = server.get("/private/a", "Mozilla/5.0 Firefox/140.0");
    assert_eq!(person.text(), "the page");
    assert_eq!(server.get("/private/a", GOOGLEBOT).status, 302);
}

pub(super) fn log_in(server: &Server, password: &str) -> String {
    let body = format!("password={password}");
    let head = format!(
        "POST {ADMIN}/login HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: same-origin\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    );
    let answer = exchange(server.addr, head.as_bytes());
    assert_eq!(answer.status, 303, "{}", answer.text());
    let cookies = answer.header("set-cookie");
    let session = cookies.find("robot-detection-admin=").unwrap();
    cookies[session..].split(';').next().unwrap().to_owned()
}

pub(super) fn page(server: &Server, path: &str, cookie: &str) -> Answer {
    let path = format!("{ADMIN}/{path}");
    let headers = [("Host", "localhost"), ("Cookie", cookie)];
    request(server.addr, "GET", &path, &headers)
}
