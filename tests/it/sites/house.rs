//! A server with a changing configuration, and upstreams that identify themselves.

use std::fs;

use crate::support::{
    program::{Server, eventually},
    raw::{self, RawServer},
};

/// A program with sites; stops when dropped.
pub(super) struct House {
    pub(super) directory: tempfile::TempDir,
    pub(super) server: Server,
}

impl House {
    /// Starts the program with a configuration, without any source on a network.
    pub(super) fn new(configuration: &str) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let directory = tempfile::tempdir().unwrap();
        write(&directory, configuration);
        let server = Server::start(directory.path(), &["serve"]);
        Self { directory, server }
    }

    /// Writes another configuration without reloading.
    pub(super) fn write(&self, configuration: &str) {
        write(&self.directory, configuration);
    }

    /// Reloads, whatever the new configuration removes.
    pub(super) fn reload(&self, configuration: &str) {
        let (code, text) = self.reload_by(configuration, &["--accept"]);
        assert_eq!(code, Some(0), "{text}");
    }

    /// Reloads by the command; returns its exit code and output.
    pub(super) fn reload_by(
        &self,
        configuration: &str,
        arguments: &[&str],
    ) -> (Option<i32>, String) {
        self.write(configuration);
        let arguments = [&["reload"], arguments].concat();
        let output = self.server.run(self.directory.path(), &arguments);
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    }

    /// Reloads by a signal, and waits until the configuration is applied or rejected.
    pub(super) fn signal(&self, configuration: &str) {
        self.write(configuration);
        let before = self.reloads();
        self.server.signal("HUP");
        eventually("the configuration is reloaded", || self.reloads() > before);
    }

    pub(super) fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("stderr.log")).unwrap()
    }

    fn reloads(&self) -> usize {
        let log = self.log();
        log.matches("reloaded sites").count() + log.matches("configuration not reloaded").count()
    }

    /// Requests a path as a visitor of a host.
    pub(super) async fn ask(&self, host: &str, path: &str, user_agent: &str) -> String {
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: {user_agent}\r\n\r\n");
        raw::exchange(self.server.addr, request).await
    }
}

fn write(directory: &tempfile::TempDir, configuration: &str) {
    let text = format!("web_robots_db = ''\n{configuration}");
    fs::write(directory.path().join("robot-detection.toml"), text).unwrap();
}

/// Returns a `[[site]]` with a name, a host, an upstream and more settings.
pub(super) fn site(name: &str, host: &str, upstream: &RawServer, more: &str) -> String {
    let addr = upstream.addr;
    format!("[[site]]\nname = '{name}'\nhosts = ['{host}']\nupstream = 'http://{addr}'\n{more}\n")
}

/// Starts an upstream that responds to every request with one text.
pub(super) async fn upstream(text: &str) -> RawServer {
    let length = text.len();
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{text}");
    RawServer::answering(answer).await
}
