//! Address lists from files and URLs, in a running program.

use std::{fs, path::Path};

use tempfile::TempDir;

use crate::support::{
    http::{Reply, TestServer},
    program::{self, GOOGLEBOT, Server, eventually, request, succeed},
    raw::RawServer,
};

struct House {
    directory: TempDir,
    site: RawServer,
}

/// A rule with an address list, and a rule for all visitors of another area.
const RULES: &str = "[[rule]]\nname = 'closed'\npath = '/*'\naction = 'refuse'\nvisitors = 'all'\npeople = true\n\
    addresses = ['list:closed']\n";

impl House {
    async fn new(lists: &str) -> Self {
        let site = RawServer::answering("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsite").await;
        let house = Self {
            directory: tempfile::tempdir().unwrap(),
            site,
        };
        house.configure(lists);
        house
    }

    fn configure(&self, lists: &str) {
        let config = format!(
            "web_robots_db = ''\nreload_on_change = false\n[server]\nupstream = 'http://{}'\n\
             trusted_proxies = ['127.0.0.1']\n{lists}\n{RULES}",
            self.site.addr
        );
        self.write("robot-detection.toml", &config);
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    fn serve(&self) -> Server {
        Server::start(self.path(), &["serve"])
    }

    fn log(&self) -> String {
        fs::read_to_string(self.path().join("stderr.log")).unwrap()
    }

    fn doctor(&self, more: &[&str]) -> String {
        let output = program::run(self.path(), &[&["doctor"], more].concat());
        String::from_utf8(output.stdout).unwrap()
    }

    fn explain(&self, address: &str) -> String {
        let arguments = [
            "explain",
            "--path",
            "/",
            "--user-agent",
            GOOGLEBOT,
            "--ip",
            address,
        ];
        succeed(self.path(), &arguments)
    }
}

fn status(server: &Server, address: &str) -> u16 {
    let headers = [("User-Agent", GOOGLEBOT), ("X-Forwarded-For", address)];
    request(server.addr, "GET", "/", &headers).status
}

fn ready(server: &Server) -> String {
    server.operation("/readyz").text()
}

const FILE: &str = "[[list]]\nname = 'closed'\nurl = 'closed.txt'\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_file_applies_from_the_first_request_and_when_it_changes() {
    let house = House::new(FILE).await;
    house.write("closed.txt", "192.0.2.0/24 ; SBL1\n");
    let server = house.serve();
    assert_eq!(
        (
            status(&server, "192.0.2.1"),
            status(&server, "198.51.100.1")
        ),
        (403, 200)
    );
    let explained = house.explain("192.0.2.1");
    assert!(
        explained.contains("matches, because 192.0.2.1 is in list:closed; its action"),
        "{explained}"
    );
    let other = house.explain("198.51.100.1");
    assert!(
        other.contains("the address 198.51.100.1 is not among the rule's addresses"),
        "{other}"
    );
    assert!(
        house
            .doctor(&["--offline"])
            .contains("ok    list closed: 1 network from closed.txt")
    );
    house.write("closed.txt", "198.51.100.0/24\n");
    // The file is checked every few seconds.
    eventually("the new file applies", || {
        status(&server, "198.51.100.1") == 403
    });
    assert_eq!(status(&server, "192.0.2.1"), 200);
    // An HTML page instead of the list changes nothing.
    house.write("closed.txt", "<html>");
    eventually("the bad file is reported", || {
        ready(&server).contains("list closed: closed.txt cannot be refreshed")
    });
    assert!(
        house
            .log()
            .contains("the document is a web page, not an address list"),
        "{}",
        house.log()
    );
    assert_eq!(status(&server, "198.51.100.1"), 403);
    let json = "{\"prefixes\": [{\"ipv4Prefix\": \"192.0.2.0/24\"}]}";
    house.write("closed.txt", json);
    eventually("the good file applies", || {
        status(&server, "192.0.2.1") == 403
    });
    assert!(!ready(&server).contains("warnings"), "{}", ready(&server));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unread_list_matches_nobody_and_is_reported() {
    let house = House::new(FILE).await;
    let server = house.serve();
    assert_eq!(status(&server, "192.0.2.1"), 200);
    let told = "list closed: closed.txt has never been loaded, so the list is empty: cannot read the file closed.txt";
    assert!(ready(&server).contains(told), "{}", ready(&server));
    let doctor = house.doctor(&["--offline"]);
    assert!(doctor.contains(&format!("warn  {told}")), "{doctor}");
    // A reload applies the changed file immediately, and other lists.
    house.write("other.txt", "192.0.2.0/24");
    house.configure(&FILE.replace("closed.txt", "other.txt"));
    server.signal("HUP");
    eventually("the other list applies", || {
        status(&server, "192.0.2.1") == 403
    });
    // A reload with a missing list changes nothing.
    house.configure("");
    server.signal("HUP");
    eventually("the missing file is reported", || {
        house.log().contains("no [[list]] is named")
    });
    assert_eq!(status(&server, "192.0.2.1"), 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_without_network_uses_the_stored_list() {
    let lists = TestServer::new(Reply::text("192.0.2.0/24\n").with("ETag", "\"1\""));
    let url = lists.url("/closed.txt");
    let house = House::new(&format!("[[list]]\nname = 'closed'\nurl = '{url}'\n")).await;
    let server = house.serve();
    eventually("the list is fetched", || {
        status(&server, "192.0.2.1") == 403
    });
    server.signal("TERM");
    assert!(server.wait());
    lists.set(Reply::status(503));
    let asked = lists.seen().len();
    let server = house.serve();
    assert_eq!(
        (
            status(&server, "192.0.2.1"),
            status(&server, "198.51.100.1")
        ),
        (403, 200)
    );
    assert_eq!(
        lists.seen().len(),
        asked,
        "the list was fetched before it was due"
    );
    drop(server);
    let explained = house.explain("192.0.2.1");
    assert!(explained.contains("in list:closed"), "{explained}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unavailable_list_is_reported_and_fetched_by_explain() {
    let lists = TestServer::new(Reply::status(404));
    let url = lists.url("/closed.txt");
    let house = House::new(&format!("[[list]]\nname = 'closed'\nurl = '{url}'\n")).await;
    let doctor = house.doctor(&[]);
    assert!(
        doctor.contains("warn  list closed: http://127.0.0.1:"),
        "{doctor}"
    );
    assert!(
        doctor.contains("has never been loaded, so the list is empty: ") && doctor.contains("404"),
        "{doctor}"
    );
    lists.set(Reply::text("192.0.2.0/24\n"));
    assert!(house.explain("192.0.2.1").contains("in list:closed"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_decision_endpoint_uses_the_same_lists() {
    let check = "[check]\nlisten = '127.0.0.1:0'\ntoken = '0123456789abcdef0123'\n";
    let house = House::new(&format!("{FILE}{check}")).await;
    house.write("closed.txt", "192.0.2.0/24");
    let server = house.serve();
    let ask = |address: &str| {
        let described = format!("{address} http GET - /");
        let headers = [
            ("X-Robot-Detection-Token", "0123456789abcdef0123"),
            ("User-Agent", GOOGLEBOT),
            ("X-Robot-Detection-Request", &described),
        ];
        request(server.check.unwrap(), "GET", "/check/nginx", &headers).status
    };
    assert_eq!((ask("192.0.2.1"), ask("198.51.100.1")), (403, 200));
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_of_a_site_can_use_all_lists() {
    let house = House::new(FILE).await;
    house.write("closed.txt", "2001:db8::/32");
    let config = fs::read_to_string(house.path().join("robot-detection.toml")).unwrap();
    let config = config.replace(RULES, "");
    let site = "[[site]]\nname = 'shop'\nhosts = 'shop.example'\n[[site.rule]]\npath = '/*'\naction = 'refuse'\n\
         visitors = 'robots'\naddresses = 'list:closed'\n";
    house.write("robot-detection.toml", &format!("{config}{site}"));
    let server = house.serve();
    let ask = |host: &str, address: &str| {
        let headers = [
            ("Host", host),
            ("User-Agent", GOOGLEBOT),
            ("X-Forwarded-For", address),
        ];
        request(server.addr, "GET", "/", &headers).status
    };
    assert_eq!(ask("shop.example", "2001:db8::1"), 403);
    assert_eq!(ask("shop.example", "2001:db9::1"), 200);
    assert_eq!(ask("other.example", "2001:db8::1"), 200);
}
