//! A server with verifiable robots, their address lists, a DNS server and an upstream.

use std::{fs, net::SocketAddr, path::Path, process::Output};

use robot_detection::{
    registry::{Pattern, PatternKind, Robot, Source},
    store::Store,
};

use crate::dns_server::DnsServer;
use crate::support::{
    http::{Reply, TestServer},
    program::{self, Answer, Server, eventually},
};

/// Address of the real robots.
pub(super) const HOME: &str = "192.0.2.7";
/// Address of impostors.
pub(super) const ELSEWHERE: &str = "198.51.100.7";

/// Address list of the robot `listbot`.
pub(super) const LIST: &str =
    r#"{"creationTime":"2026-11-20T10:00:00","prefixes":[{"ipv4Prefix":"192.0.2.0/24"}]}"#;

/// The servers around a server under test.
pub(super) struct Site {
    pub(super) directory: tempfile::TempDir,
    pub(super) dns: DnsServer,
    pub(super) lists: TestServer,
    pub(super) upstream: TestServer,
}

impl Site {
    /// Creates a database and a configuration that begins with `settings`.
    pub(super) async fn new(settings: &str) -> Self {
        let site = Self {
            directory: tempfile::tempdir().unwrap(),
            dns: DnsServer::start().await,
            lists: TestServer::new(Reply::typed("application/json", LIST)),
            // Responds with the robot headers that the server has added.
            upstream: TestServer::with(|seen| {
                let verdict = seen.header("x-robot-detection-verdict");
                Reply::text(verdict.unwrap_or("none"))
            }),
        };
        site.configure(settings);
        let database = site.path().join("robots.db");
        let url = format!("sqlite://{}", database.display());
        let store = Store::connect(&url).await.unwrap();
        for robot in site.robots() {
            store.robots().add(&robot, 0).await.unwrap();
        }
        store.close().await;
        site
    }

    /// Writes a configuration that needs no network.
    pub(super) fn configure(&self, settings: &str) {
        self.write(settings, &["127.0.0.1"]);
    }

    /// Writes a configuration that trusts these proxies.
    pub(super) fn trust(&self, proxies: &[&str]) {
        self.write("", proxies);
    }

    fn write(&self, settings: &str, proxies: &[&str]) {
        let (upstream, dns) = (self.upstream.url("/"), self.dns.address());
        let (of_verify, settings) = match settings.strip_prefix("verify.") {
            Some(first) => first.split_once('\n').unwrap_or((first, "")),
            None => ("", settings),
        };
        let text = format!(
            "web_robots_db = ''\nbundled_registry = false\ndatabase.url = 'sqlite://robots.db'\n\
             [server]\nupstream = '{upstream}'\ntrusted_proxies = {proxies:?}\n\
             [verify]\n{of_verify}\nallow_private_addresses = true\ndns_servers = ['{dns}']\n\
             dns_timeout_seconds = 30\n{settings}\n"
        );
        fs::write(self.path().join("robot-detection.toml"), text).unwrap();
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(super) fn serve(&self) -> Server {
        Server::start(self.path(), &["serve"])
    }

    /// Runs the program to its end.
    pub(super) fn run(&self, arguments: &[&str]) -> Output {
        program::run(self.path(), arguments)
    }

    fn robots(&self) -> [Robot; 2] {
        let robot = |id: &str| {
            let mut robot = Robot::new(id, Source::manual());
            id.clone_into(&mut robot.useragent);
            robot.patterns = vec![Pattern::new(PatternKind::Token, id)];
            robot
        };
        let (mut listed, mut hosted) = (robot("listbot"), robot("hostbot"));
        listed.ranges_url = Some(self.lists.url("/ranges.json"));
        hosted.host_suffixes = vec!["robots.example".to_owned()];
        [listed, hosted]
    }
}

/// Sends a request as a robot, from an address named by a trusted proxy.
pub(super) fn ask(server: &Server, robot: &str, address: &str) -> Answer {
    ask_at(server.addr, robot, address)
}

/// Sends the same request on a separate thread.
pub(super) async fn ask_aside(
    server: &Server,
    robot: &'static str,
    address: &'static str,
) -> Answer {
    let at = server.addr;
    let asking = tokio::task::spawn_blocking(move || ask_at(at, robot, address));
    asking.await.unwrap()
}

fn ask_at(at: SocketAddr, robot: &str, address: &str) -> Answer {
    let headers = [("User-Agent", robot), ("X-Forwarded-For", address)];
    program::request(at, "GET", "/", &headers)
}

/// Sends requests until the server has the verdict.
pub(super) fn ask_until(server: &Server, robot: &str, address: &str, verdict: &str) {
    eventually(&format!("{robot} from {address} is {verdict}"), || {
        ask(server, robot, address).text() == verdict
    });
}
