//! Front proxies that are known by address lists and name the visitor in their own header.

use std::fs;

use tempfile::TempDir;

use crate::support::{
    program::{GOOGLEBOT, Server, eventually, request, run},
    raw::{RawServer, header},
};

struct House {
    directory: TempDir,
    server: Server,
    site: RawServer,
}

impl House {
    /// Starts a server that refuses robots from `192.0.2.0/24`.
    async fn new(server: &str) -> Self {
        let site = RawServer::answering("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsite").await;
        let directory = tempfile::tempdir().unwrap();
        let config = format!(
            "web_robots_db = ''\n[server]\nupstream = 'http://{}'\n{server}\n\
             [[rule]]\npath = '/*'\naction = 'refuse'\naddresses = '192.0.2.0/24'\n\
             [[list]]\nname = 'front'\nurl = 'front.txt'\n",
            site.addr
        );
        fs::write(directory.path().join("robot-detection.toml"), config).unwrap();
        let server = Server::start(directory.path(), &["serve"]);
        Self {
            directory,
            server,
            site,
        }
    }

    fn ask(&self, headers: &[(&str, &str)]) -> u16 {
        let headers = [&[("User-Agent", GOOGLEBOT)], headers].concat();
        request(self.server.addr, "GET", "/", &headers).status
    }
}

const CF: &str = "CF-Connecting-IP";
const XFF: &str = "X-Forwarded-For";

#[tokio::test(flavor = "multi_thread")]
async fn only_the_front_proxys_own_header_names_the_visitor() {
    let house =
        House::new("trusted_proxies = '127.0.0.1'\nclient_address_header = 'CF-Connecting-IP'")
            .await;
    for (headers, status) in [
        (&[(CF, "192.0.2.1")][..], 403),
        (&[(CF, "198.51.100.1")], 200),
        (&[(CF, "198.51.100.1"), (XFF, "192.0.2.1")], 200),
        (&[(XFF, "192.0.2.1")], 200),
        (&[("Forwarded", "for=192.0.2.1")], 200),
        (&[(CF, "192.0.2.1, 192.0.2.1")], 200),
        (&[(CF, "192.0.2.1"), (CF, "192.0.2.1")], 200),
        (&[(CF, "nobody")], 200),
        (&[("CF_Connecting_IP", "192.0.2.1")], 200),
        (&[], 200),
    ] {
        assert_eq!(house.ask(headers), status, "{headers:?}");
    }
    // The front proxy's header is forwarded, other spellings of its name are not.
    house.ask(&[(CF, "198.51.100.1"), ("CF_Connecting_IP", "192.0.2.1")]);
    let seen = house.site.last_request();
    assert_eq!(header(&seen, CF), ["198.51.100.1"]);
    assert!(!seen.contains("192.0.2.1"), "{seen}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_from_an_untrusted_client_is_neither_believed_nor_forwarded() {
    let house =
        House::new("trusted_proxies = 'list:front'\nclient_address_header = 'CF-Connecting-IP'")
            .await;
    assert_eq!(house.ask(&[(CF, "192.0.2.1")]), 200);
    let seen = house.site.last_request();
    assert!(!seen.contains("192.0.2.1"), "{seen}");
    assert_eq!(house.ask(&[("cf_connecting_ip", "192.0.2.1")]), 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_that_the_proxy_does_not_set_is_not_believed() {
    const FORWARDED: &str = "Forwarded";
    for (own, other) in [(FORWARDED, XFF), (XFF, FORWARDED)] {
        let value = |name, address: &str| {
            let text = if name == FORWARDED { "for=" } else { "" };
            (name, format!("{text}{address}"))
        };
        let (true_one, false_one) = (value(own, "192.0.2.1"), value(other, "198.51.100.1"));
        let [own_only, both] = [&[&true_one][..], &[&true_one, &false_one]].map(|headers| {
            let headers = headers.iter().map(|(name, value)| (*name, value.as_str()));
            headers.collect::<Vec<_>>()
        });
        let house = House::new("trusted_proxies = '127.0.0.1'").await;
        // The proxy has not sent any header yet.
        assert_eq!(house.ask(&both), 400, "{own}");
        assert_eq!(house.ask(&own_only), 403, "{own}");
        assert_eq!(house.ask(&both), 403, "{own}");
        let log = fs::read_to_string(house.directory.path().join("stderr.log")).unwrap();
        let told = "set server.client_address_header to the header that the proxy sets";
        assert_eq!(log.matches(told).count(), 1, "{log}");

        let configured = format!("trusted_proxies = '127.0.0.1'\nclient_address_header = '{own}'");
        let house = House::new(&configured).await;
        assert_eq!(house.ask(&both), 403, "{own}");
        let (name, forged) = value(other, "192.0.2.1");
        assert_eq!(house.ask(&[(name, &forged)]), 200, "{own}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_front_proxies_applies_once_it_is_read() {
    let house = House::new("trusted_proxies = 'list:front'").await;
    let forged = [(XFF, "192.0.2.1")];
    assert_eq!(house.ask(&forged), 200, "no proxy is trusted yet");
    let path = house.directory.path().join("front.txt");
    fs::write(&path, "127.0.0.0/8\n").unwrap();
    eventually("the front proxy is trusted", || house.ask(&forged) == 403);
    // A list of all addresses is not accepted as a list of proxies.
    fs::write(&path, "0.0.0.0/0\n").unwrap();
    eventually("the bad list is reported", || {
        let log = fs::read_to_string(house.directory.path().join("stderr.log")).unwrap();
        log.contains("the document lists 0.0.0.0/0, which is too wide")
    });
    assert_eq!(house.ask(&forged), 403);
    fs::write(&path, "198.51.100.0/24\n").unwrap();
    eventually("the front proxy is no longer trusted", || {
        house.ask(&forged) == 200
    });
}

#[test]
fn doctor_shows_which_networks_of_a_publisher_apply() {
    let directory = tempfile::tempdir().unwrap();
    let config =
        "web_robots_db = ''\nserver.trusted_proxies = ['cloudflare', 'fastly', '127.0.0.1']\n";
    fs::write(directory.path().join("robot-detection.toml"), config).unwrap();
    let doctor = run(directory.path(), &["doctor", "--offline"]);
    let doctor = String::from_utf8(doctor.stdout).unwrap();
    for told in [
        "ok    list cloudflare: 15 networks from https://www.cloudflare.com/ips-v4, bundled with the program",
        "ok    list cloudflare: 7 networks from https://www.cloudflare.com/ips-v6, bundled with the program",
        "ok    list fastly: 21 networks from https://api.fastly.com/public-ip-list, bundled with the program",
    ] {
        assert!(doctor.contains(told), "{doctor}");
    }
}
