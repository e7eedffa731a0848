//! A server in front of an upstream, and a client with a token that creates rules.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant as Time},
};

use serde_json::Value;

use crate::support::{
    http::{Reply, TestServer},
    program::{Answer, GOOGLEBOT, Server, admin_json, succeed},
};

/// Time limit for a change to reach each instance.
const AT_ONCE: Duration = Duration::from_secs(1);

/// Directory with a configuration, and the configured upstream.
pub(super) struct House {
    pub(super) directory: tempfile::TempDir,
    upstream: TestServer,
    database: String,
}

/// Running server of a house.
pub(super) struct Instance {
    pub(super) server: Server,
    token: String,
}

impl House {
    pub(super) fn new(database: &str, more: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let upstream = TestServer::new(Reply::text("the page"));
        let house = Self {
            directory,
            upstream,
            database: database.to_owned(),
        };
        house.configure(more);
        house
    }

    /// Creates a house with an SQLite file.
    pub(super) fn with_file(more: &str) -> Self {
        Self::new("sqlite://robots.db", more)
    }

    pub(super) fn configure(&self, more: &str) {
        let (database, upstream) = (&self.database, self.upstream.url("/"));
        let text = format!(
            "web_robots_db = ''\nfilter_pattern = '/private/*'\ndatabase.url = \"{database}\"\n\
             server.upstream = '{upstream}'\n{more}\n"
        );
        fs::write(self.path().join("robot-detection.toml"), text).unwrap();
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(super) fn serve(&self) -> Server {
        Server::start(self.path(), &["serve"])
    }

    pub(super) fn start(&self) -> Instance {
        self.of(self.serve())
    }

    /// Creates a token for a running server.
    pub(super) fn of(&self, server: Server) -> Instance {
        let token = succeed(self.path(), &["admin", "token", "console"]);
        let token = token.trim().to_owned();
        Instance { server, token }
    }

    pub(super) fn log(&self) -> String {
        fs::read_to_string(self.path().join("stderr.log")).unwrap()
    }

    /// Returns the file in which the instance stores its live rules.
    pub(super) fn state_file(&self) -> Option<std::path::PathBuf> {
        let entries = fs::read_dir(self.path()).unwrap();
        let mut paths = entries.map(|entry| entry.unwrap().path());
        paths.find(|path| path.to_string_lossy().contains("live-rules-"))
    }
}

impl Instance {
    /// Wraps another server on the database of an instance that has a token.
    pub(super) fn of(server: Server, other: &Self) -> Self {
        let token = other.token.clone();
        Self { server, token }
    }

    /// Sends a request to the JSON API of the admin pages.
    pub(super) fn json(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let answer = admin_json(self.server.addr, &self.token, (method, path), body);
        let body = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
        (answer.status, body)
    }

    /// Creates an active rule; returns its number.
    pub(super) fn add(&self, rule: &str) -> i64 {
        let (status, told) = self.json("POST", "rules", rule);
        assert_eq!(status, 201, "{told}");
        told["id"].as_i64().unwrap()
    }

    /// Waits until a robot gets a status; a change must take effect within a second.
    pub(super) fn within_a_second(&self, status: u16) {
        #[expect(clippy::disallowed_methods, reason = "tests the time itself")]
        let begun = Time::now();
        while self.robot().status != status {
            assert!(begun.elapsed() < AT_ONCE, "no {status} within a second");
        }
    }

    /// Requests the page as Google's robot.
    pub(super) fn robot(&self) -> Answer {
        self.server.get("/page", GOOGLEBOT)
    }

    pub(super) fn end(self) {
        self.server.signal("TERM");
        assert!(self.server.wait());
    }
}
