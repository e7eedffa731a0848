use serde_json::json;

use super::house::{EVERYBODY, House};
use crate::support::{
    mmdb::mmdb,
    program::{CHROME, FIREFOX, GOOGLEBOT},
};

fn per(key: &str, requests: u32) -> String {
    format!("{EVERYBODY}requests = {requests}\nper = '{key}'\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_has_one_pace_however_it_is_written() {
    let house = House::new(&per("address", 2)).await;
    for spelled in [
        &["192.0.2.1", "::ffff:192.0.2.1", "::FFFF:C000:0201"],
        &[
            "2001:db8::1",
            "2001:0DB8:0:0:0:0:0:1",
            "2001:db8::ffff:2:3:4",
        ],
        &[
            "[2001:db8:0:1::1]:443",
            "2001:db8:0:1:8000::",
            "2001:db8:0:1::7",
        ],
    ] {
        assert_eq!(house.from("/", spelled), [200, 200, 429], "{spelled:?}");
    }
    assert_eq!(
        house.from("/", &["192.0.2.2", "2001:db8:0:2::1"]),
        [200, 200]
    );
    // All User-Agents at the address count, robots included.
    for user_agent in [CHROME, GOOGLEBOT, "OtherCrawler/1.0", ""] {
        assert_eq!(house.ask("/", user_agent, "192.0.2.1").status, 429);
    }
    let refused = house.ask("/", FIREFOX, "192.0.2.1");
    assert_eq!(refused.header("cache-control"), "no-store");
    let wait: u32 = refused.header("retry-after").parse().unwrap();
    assert!((1..=43_200).contains(&wait), "{wait}");
    let told = "Too many requests. Rate limit: at most 2 requests in 86400 s, 2 at once, \
        per address (IPv6: per /64).\n";
    assert_eq!(refused.text(), told);
    // A proxy that names no client is not slowed, since that would affect all its clients.
    assert_eq!(house.from("/", &["", "", "", ""]), [200; 4]);
    assert_eq!(house.ask("/robots.txt", FIREFOX, "192.0.2.1").status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_network_shares_a_pace() {
    // If the autonomous system is unknown, the network is used.
    for key in ["network", "asn"] {
        let house = House::new(&per(key, 2)).await;
        let near = ["192.0.2.1", "192.0.2.77", "::ffff:192.0.2.255"];
        assert_eq!(house.from("/", &near), [200, 200, 429], "{key}");
        let near = ["2001:db8:0:1::1", "2001:db8::1", "2001:db8:0:ffff::1"];
        assert_eq!(house.from("/", &near), [200, 200, 429], "{key}");
        assert_eq!(house.from("/", &["192.0.3.1", "2001:db8:1::1"]), [200; 2]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_autonomous_system_shares_a_pace_over_all_its_networks() {
    let places = tempfile::tempdir().unwrap();
    let file = places.path().join("asn.mmdb");
    let [one, other] = [64_496, 64_497].map(|number| json!({"autonomous_system_number": number}));
    let records = [
        ("192.0.2.0/24", one.clone()),
        ("198.51.100.0/24", one),
        ("203.0.113.0/24", other),
    ];
    std::fs::write(&file, mmdb("GeoLite2-ASN", &records)).unwrap();
    let rules = format!("[geoip]\nasn_file = {file:?}\n{}", per("asn", 2));
    let house = House::new(&rules).await;
    let of_one = ["192.0.2.1", "198.51.100.1", "192.0.2.77", "198.51.100.2"];
    assert_eq!(house.from("/", &of_one), [200, 200, 429, 429]);
    let of_other = ["203.0.113.1", "203.0.113.2", "203.0.113.3"];
    assert_eq!(house.from("/", &of_other), [200, 200, 429]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_agent_has_one_pace_whatever_its_numbers_and_case() {
    let house = House::new(&per("user-agent", 2)).await;
    let of = |user_agent: &str| house.ask("/", user_agent, "192.0.2.1").status;
    let names = ["Tool/1.0 (x)", "tool/2.17 (X)", "TOOL 3(x)"];
    assert_eq!(names.map(of), [200, 200, 429]);
    assert_eq!(["Tool/1.0 (y)", FIREFOX].map(of), [200, 200]);
    assert_eq!(["", "", ""].map(of), [200, 200, 429]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_site_has_one_pace() {
    let house = House::new(&per("site", 3)).await;
    let addresses = ["192.0.2.1", "198.51.100.1", "2001:db8::1", "203.0.113.1"];
    assert_eq!(house.from("/", &addresses), [200, 200, 200, 429]);
    assert_eq!(house.ask("/", GOOGLEBOT, "192.0.2.9").status, 429);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unconfirmed_pace_for_people_is_only_logged() {
    let rule = per("address", 1).replace("people = true\n", "");
    let house = House::new(&rule).await;
    assert_eq!(house.from("/", &["192.0.2.1"; 3]), [200; 3]);
    let metrics = house.server.metrics();
    let noted = "visitor=\"person\",decision=\"would-slow\"} 2";
    assert!(metrics.contains(noted), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_keeps_the_counts_unless_the_key_changes() {
    let house = House::new(&per("address", 1)).await;
    assert_eq!(house.from("/", &["192.0.2.1"; 2]), [200, 429]);
    let file = house.directory.path().join("robot-detection.toml");
    let log = house.directory.path().join("stderr.log");
    for (key, status, times) in [("address", 429, 1), ("network", 200, 2)] {
        let config = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, config.replace("'address'", &format!("'{key}'"))).unwrap();
        house.server.signal("HUP");
        let is_done = || {
            let log = std::fs::read_to_string(&log).unwrap();
            log.matches("reloaded ").count() == times
        };
        crate::support::program::eventually("the reload", is_done);
        assert_eq!(house.from("/", &["192.0.2.1"]), [status], "{key}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn explain_shows_the_pace_and_its_key() {
    let house = House::new(&per("user-agent", 9)).await;
    let asked = ["--path", "/", "--user-agent", FIREFOX];
    let told = house.explain(&asked);
    let expected = "slow      Rate limit: at most 9 requests in 86400 s, 9 at once, \
        per User-Agent (ignoring numbers); further requests get 429.\n";
    assert!(told.contains(expected), "{told}");
    let told = house.explain(&[&asked[..], &["--json"]].concat());
    assert!(told.contains("9 at once, per User-Agent"), "{told}");
}
