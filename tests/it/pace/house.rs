//! A site behind a trusted proxy that names the client.

use std::fs;

use tempfile::TempDir;

use crate::support::{
    program::{Answer, FIREFOX, Server, request, succeed},
    raw::RawServer,
};

/// A confirmed rule for all visitors.
pub(super) const EVERYBODY: &str = "[[rule]]\nname = 'pace'\npath = '/*'\naction = 'slow'\n\
     visitors = 'all'\npeople = true\nper_seconds = 86400\n";

pub(super) struct House {
    pub(super) directory: TempDir,
    pub(super) server: Server,
    _site: RawServer,
}

impl House {
    pub(super) async fn new(rules: &str) -> Self {
        let site = RawServer::start(|mut connection| async move {
            while let Some(request) = connection.request().await {
                connection.send(answer(&request).as_bytes()).await;
            }
        });
        let site = site.await;
        let directory = tempfile::tempdir().unwrap();
        let config = format!(
            "web_robots_db = ''\n[server]\nupstream = 'http://{}'\ntrusted_proxies = ['127.0.0.1']\n{rules}",
            site.addr
        );
        fs::write(directory.path().join("robot-detection.toml"), config).unwrap();
        let server = Server::start(directory.path(), &["serve"]);
        Self {
            directory,
            server,
            _site: site,
        }
    }

    pub(super) fn ask(&self, path: &str, user_agent: &str, address: &str) -> Answer {
        let headers = [("User-Agent", user_agent), ("X-Forwarded-For", address)];
        let without_address = headers.get(..1).unwrap();
        let headers = if address.is_empty() {
            without_address
        } else {
            &headers
        };
        request(self.server.addr, "GET", path, headers)
    }

    /// Sends a person's request from each of these addresses; returns the statuses.
    pub(super) fn from(&self, path: &str, addresses: &[&str]) -> Vec<u16> {
        let status = |address: &&str| self.ask(path, FIREFOX, address).status;
        addresses.iter().map(status).collect()
    }

    pub(super) fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("stderr.log")).unwrap()
    }

    pub(super) fn explain(&self, arguments: &[&str]) -> String {
        succeed(self.directory.path(), &[&["explain"], arguments].concat())
    }
}

/// Responds with the status that the path begins with, or 200.
fn answer(request: &str) -> String {
    let target = request.split(' ').nth(1).unwrap_or_default();
    let status: Option<u16> = target.get(1..4).and_then(|status| status.parse().ok());
    let status = status.unwrap_or(200);
    format!("HTTP/1.1 {status} Told\r\nContent-Length: 4\r\n\r\nsite")
}
