//! A server with an access log in front of an upstream.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::support::{
    http::{Reply, TestServer},
    program::Server,
};

/// A running server with its upstream; stops when dropped.
pub(super) struct Site {
    pub(super) directory: tempfile::TempDir,
    pub(super) server: Server,
    pub(super) upstream: TestServer,
}

impl Site {
    /// Starts a server in front of an upstream that always responds with `reply`.
    pub(super) fn start(settings: &str, reply: Reply) -> Self {
        Self::behind(settings, TestServer::new(reply))
    }

    pub(super) fn behind(settings: &str, upstream: TestServer) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let upstream_url = format!("server.upstream = '{}'", upstream.url("/"));
        configure(directory.path(), &format!("{upstream_url}\n{settings}"));
        let server = Server::start(directory.path(), &["serve"]);
        Self {
            directory,
            server,
            upstream,
        }
    }

    /// Starts a server with an access log in the given format.
    pub(super) fn logging(format: &str, reply: Reply) -> Self {
        let settings = format!("access_log.path = 'access.log'\naccess_log.format = '{format}'");
        Self::start(&settings, reply)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(super) fn log(&self) -> String {
        fs::read_to_string(self.path("access.log")).unwrap()
    }

    /// Stops the server; returns the directory with the files it wrote.
    pub(super) fn end(self) -> tempfile::TempDir {
        self.server.signal("TERM");
        assert!(self.server.wait());
        self.directory
    }
}

/// Writes a configuration that needs no network.
pub(super) fn configure(directory: &Path, settings: &str) {
    let text = format!("web_robots_db = ''\n{settings}");
    fs::write(directory.join("robot-detection.toml"), text).unwrap();
}
