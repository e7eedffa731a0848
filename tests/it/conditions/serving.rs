//! Over real HTTP: a monitoring network passes, and rules apply to people only if confirmed.

use tempfile::TempDir;

use crate::support::{
    program::{Answer, FIREFOX, GOOGLEBOT, Server, request, succeed},
    raw::RawServer,
};

struct House {
    directory: TempDir,
    server: Server,
    _site: RawServer,
}

impl House {
    async fn new(rules: &str) -> Self {
        let site = RawServer::answering("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsite").await;
        let directory = tempfile::tempdir().unwrap();
        let config = format!(
            "web_robots_db = ''\n[server]\nupstream = 'http://{}'\ntrusted_proxies = ['127.0.0.1']\n{rules}",
            site.addr
        );
        std::fs::write(directory.path().join("robot-detection.toml"), config).unwrap();
        let server = Server::start(directory.path(), &["serve"]);
        Self {
            directory,
            server,
            _site: site,
        }
    }

    fn ask(&self, path: &str, user_agent: &str, more: &[(&str, &str)]) -> Answer {
        let headers = [&[("User-Agent", user_agent)], more].concat();
        request(self.server.addr, "GET", path, &headers)
    }

    fn from(&self, path: &str, user_agent: &str, address: &str) -> u16 {
        self.ask(path, user_agent, &[("X-Forwarded-For", address)])
            .status
    }

    fn explain(&self, arguments: &[&str]) -> String {
        succeed(self.directory.path(), &[&["explain"], arguments].concat())
    }
}

const MONITORING: &str = "[[rule]]\nname = 'monitoring'\npath = '/*'\naction = 'pass'\nvisitors = 'all'\n\
    addresses = '192.0.2.0/24'\n[[rule]]\nname = 'closed'\npath = '/closed/*'\naction = 'refuse'\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_network_passes_where_others_are_refused() {
    let house = House::new(MONITORING).await;
    assert_eq!(house.from("/closed/1", GOOGLEBOT, "192.0.2.7"), 200);
    assert_eq!(house.from("/closed/1", GOOGLEBOT, "192.0.3.7"), 403);
    assert_eq!(house.from("/closed/1", FIREFOX, "192.0.3.7"), 200);
}

const NO_LANGUAGE: &str = "[[rule]]\nname = 'no language'\npath = '/*'\naction = 'refuse'\nstatus = 429\n\
    visitors = 'people'\nrequest_headers = '!Accept-Language'\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_about_people_is_only_logged_until_it_is_confirmed() {
    let mut house = House::new(NO_LANGUAGE).await;
    assert_eq!(house.ask("/", FIREFOX, &[]).status, 200);
    let explained = house.explain(&["--path", "/", "--user-agent", FIREFOX]);
    assert!(explained.contains("only reported"), "{explained}");
    assert!(explained.contains("pass (would refuse)"), "{explained}");
    let metrics = house.server.metrics();
    let noted = "visitor=\"person\",decision=\"would-refuse\"} 1";
    assert!(metrics.contains(noted), "{metrics}");
    house.server.stop();
    let doctor = succeed(house.directory.path(), &["doctor", "--offline"]);
    let told = "warn  rules: rule \"no language\" only logs its decisions, because it also matches human visitors; in the \
        last 7 days it would have affected 1 requests, 1 of them from human visitors: to enforce the rule, add people = true";
    assert!(doctor.contains(told), "{doctor}");

    let house = House::new(&format!("{NO_LANGUAGE}people = true\n")).await;
    let refused = house.ask("/", FIREFOX, &[]);
    assert_eq!(
        (refused.status, refused.header("cache-control").as_str()),
        (429, "no-store")
    );
    assert_eq!(
        house.ask("/", FIREFOX, &[("Accept-Language", "de")]).status,
        200
    );
    assert_eq!(house.ask("/", GOOGLEBOT, &[]).status, 200);
    let metrics = house.server.metrics();
    for counted in [
        "visitor=\"person\",decision=\"refuse\"} 1",
        "visitor=\"person\",decision=\"pass\"} 1",
    ] {
        assert!(metrics.contains(counted), "{counted}: {metrics}");
    }
    // Rules never refuse heaven or files for robots.
    assert_eq!(house.ask("/robots.txt", FIREFOX, &[]).status, 200);
    assert_eq!(house.ask("/robot-heaven/", FIREFOX, &[]).status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn people_of_a_network_share_one_pace() {
    let rule = "[[rule]]\npath = '/*'\naction = 'slow'\nrequests = 2\nper_seconds = 3600\n\
        visitors = 'all'\naddresses = '192.0.2.0/24'\npeople = true\n";
    let house = House::new(rule).await;
    let asked =
        ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map(|address| house.from("/", FIREFOX, address));
    assert_eq!(asked, [200, 200, 429]);
    assert_eq!(house.from("/", FIREFOX, "192.0.3.1"), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn explain_lists_each_condition() {
    let house = House::new(MONITORING).await;
    let explain = |address: &str| {
        house.explain(&[
            "--path",
            "/closed/1",
            "--user-agent",
            GOOGLEBOT,
            "--ip",
            address,
        ])
    };
    assert!(
        explain("192.0.2.9").contains("Rule \"monitoring\" (robot-detection.toml:5) matches"),
        "{}",
        explain("192.0.2.9")
    );
    let other = explain("192.0.3.9");
    assert!(
        other.contains("the address 192.0.3.9 is not among the rule's addresses"),
        "{other}"
    );
    let head = "GET /closed/1 HTTP/1.1\nHost: example.org\nUser-Agent: Googlebot/2.1\n";
    std::fs::write(house.directory.path().join("head.txt"), head).unwrap();
    let raw = house.explain(&["--request", "head.txt", "--address", "192.0.2.9"]);
    assert!(
        raw.contains("\"monitoring\" (robot-detection.toml:5) matches"),
        "{raw}"
    );
    let unknown = house.explain(&["--path", "/closed/1", "--user-agent", GOOGLEBOT]);
    assert!(unknown.contains("the address is unknown"), "{unknown}");
}
