//! Files of autonomous systems and countries: every layout, and damaged files.

use std::{fs, path::Path};

use robot_detection::{
    app,
    config::{Loaded, Loader},
    origins::{Keeper, PlaceState},
    policy::{Place, Policy, Request, Sender, Visitor},
    store::Store,
};
use serde_json::{Value, json};

use crate::support::{mmdb::mmdb, program};

struct House {
    directory: tempfile::TempDir,
    loaded: Loaded,
    keeper: Keeper,
}

impl House {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).display().to_string();
        let text = format!(
            "filter_pattern = ''\n[geoip]\nasn_file = {:?}\ncountry_file = {:?}\n\
             [[rule]]\nname = 'it'\npath = '/*'\naction = 'refuse'\nvisitors = 'all'\npeople = true\n\
             asns = [64496, 64497]\ncountries = ['de', 'FR']\n",
            path("asn.mmdb"),
            path("country.mmdb")
        );
        let loaded = Loader::new().file("c.toml", &text).load().unwrap();
        loaded
            .origins()
            .set_wanted(app::wanted_origins(&loaded).unwrap());
        let store = Store::connect("sqlite::memory:").await.unwrap();
        let keeper = Keeper::new(loaded.origins(), &store).unwrap();
        Self {
            directory,
            loaded,
            keeper,
        }
    }

    async fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.directory.path().join(name), bytes).unwrap();
        self.keeper.prepare().await;
    }

    async fn write_both(&self, asn: &[u8], country: &[u8]) {
        self.write("asn.mmdb", asn).await;
        self.write("country.mmdb", country).await;
    }

    fn refuses(&self, address: &str) -> bool {
        refuses(&app::policy(&self.loaded).unwrap(), address)
    }

    fn states(&self) -> Vec<PlaceState> {
        self.loaded.origins().place_states()
    }
}

fn refuses(policy: &Policy, address: &str) -> bool {
    let request = Request {
        method: "GET",
        host: None,
        path: "/a",
        query: None,
    };
    let sender = Sender {
        address: Some(address.parse().unwrap()),
        headers: None,
        ..Sender::default()
    };
    let judgement = policy.judge(&request, Some(Visitor::person(sender)));
    judgement.rule.is_some()
}

/// Returns a database with one record for two networks and another for `198.51.100.0/24`.
fn two_record_database(kind: &str, here: &Value, there: &Value) -> Vec<u8> {
    mmdb(
        kind,
        &[
            ("192.0.2.0/24", here.clone()),
            ("2001:db8::/32", here.clone()),
            ("198.51.100.0/24", there.clone()),
        ],
    )
}

fn asns() -> Vec<u8> {
    two_record_database(
        "GeoLite2-ASN",
        &json!({"autonomous_system_number": 64496, "autonomous_system_organization": "Example"}),
        &json!({"autonomous_system_number": 64499}),
    )
}

fn countries() -> Vec<u8> {
    two_record_database(
        "GeoLite2-Country",
        &json!({"country": {"iso_code": "DE", "names": {"en": "Germany"}}}),
        &json!({"country": {"iso_code": "FR"}}),
    )
}

#[tokio::test]
async fn every_layout_is_readable() {
    let asn_files = [
        asns(),
        two_record_database(
            "ipinfo standard_asn.mmdb",
            &json!({"asn": "AS64496", "name": "Example"}),
            &json!({"asn": "AS64499"}),
        ),
        two_record_database(
            "DBIP-ASN-Lite",
            &json!({"autonomous_system_number": 64497}),
            &json!({"autonomous_system_number": 1}),
        ),
    ];
    let country_files = [
        countries(),
        two_record_database(
            "ipinfo country.mmdb",
            &json!({"continent": "EU", "country": "DE"}),
            &json!({"country": "US"}),
        ),
        two_record_database(
            "ipinfo_lite.mmdb",
            &json!({"country": "Germany", "country_code": "DE"}),
            &json!({"country": "Japan", "country_code": "JP"}),
        ),
        two_record_database(
            "GeoLite2-City",
            &json!({"city": {"names": {"en": "Bonn"}}, "country": {"geoname_id": 1, "iso_code": "DE"}}),
            &json!({"country": {"iso_code": "us"}}),
        ),
    ];
    let house = House::new().await;
    for asn in &asn_files {
        for country in &country_files {
            house.write_both(asn, country).await;
            assert_eq!(house.loaded.origins().problems(), [""; 0]);
            for (address, expected) in [
                ("192.0.2.0", true),
                ("192.0.2.255", true),
                ("::ffff:192.0.2.1", true),
                ("2001:db8::1", true),
                ("198.51.100.1", false),
                ("192.0.3.1", false),
                ("2001:db9::1", false),
            ] {
                assert_eq!(house.refuses(address), expected, "{address}");
            }
        }
    }
}

#[tokio::test]
async fn an_active_policy_picks_up_a_new_file_and_a_damaged_file_changes_nothing() {
    let house = House::new().await;
    let policy = app::policy(&house.loaded).unwrap();
    house.keeper.prepare().await;
    assert!(!refuses(&policy, "192.0.2.1"));
    let problems = house.loaded.origins().problems();
    assert!(
        problems[0].starts_with(
            "geoip.asn_file: no database loaded, so rules match nothing: cannot read the file "
        ),
        "{problems:?}"
    );
    assert!(problems[1].contains("No such file"), "{problems:?}");
    house.write_both(&asns(), &countries()).await;
    assert!(refuses(&policy, "192.0.2.1"));
    let in_use = house.states()[0].in_use.clone();
    assert_eq!(
        in_use.as_deref(),
        Some("\"GeoLite2-ASN\", built on 2026-11-20")
    );
    let (whole, other) = (asns(), countries());
    let mut odd = whole.clone();
    // Damage the section of the records.
    let records = odd.len() - 300;
    odd[records..records + 60].fill(0xff);
    for (bytes, told) in [
        (&whole[..whole.len() / 2], "not in MaxMind format"),
        (&b""[..], "not in MaxMind format"),
        (&b"<html>no</html>"[..], "not in MaxMind format"),
        (&odd[..], "damaged"),
        (
            &other[..],
            "wrong database type \"GeoLite2-Country\"; use a database of autonomous systems",
        ),
    ] {
        house.write("asn.mmdb", bytes).await;
        let state = house.states().swap_remove(0);
        let problem = state.problem().unwrap();
        assert!(
            problem.contains(told) && problem.contains("keeping the previous database"),
            "{problem}"
        );
        assert!(refuses(&policy, "192.0.2.1"));
    }
    fs::remove_file(house.directory.path().join("asn.mmdb")).unwrap();
    house.keeper.prepare().await;
    assert!(refuses(&policy, "192.0.2.1"));
    let moved = two_record_database(
        "New",
        &json!({"autonomous_system_number": 1}),
        &json!({"autonomous_system_number": 64497}),
    );
    house.write("asn.mmdb", &moved).await;
    assert_eq!(house.loaded.origins().problems(), [""; 0]);
    assert!(!refuses(&policy, "192.0.2.1") && refuses(&policy, "198.51.100.1"));
}

#[tokio::test]
async fn no_file_contents_make_a_look_up_panic() {
    let house = House::new().await;
    let whole = countries();
    // With each byte changed in turn, the file is either refused or gives some result.
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x5a;
        house.write("country.mmdb", &damaged).await;
        for address in ["192.0.2.1", "2001:db8::1", "255.255.255.255", "::"] {
            find(&house, address.parse().unwrap());
        }
    }
    house.write("country.mmdb", &whole).await;
    assert_eq!(
        find(&house, "192.0.2.1".parse().unwrap()).country,
        Some(*b"DE")
    );
}

fn find(house: &House, address: std::net::IpAddr) -> Place {
    house.loaded.origins().places().find(address)
}

#[test]
fn explain_and_doctor_show_the_contents_of_the_files() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(directory.path().join(name), bytes).unwrap();
    write("asn.mmdb", &asns());
    write("country.mmdb", &countries());
    write(
        "robot-detection.toml",
        b"web_robots_db = ''\n[geoip]\nasn_file = 'asn.mmdb'\ncountry_file = 'country.mmdb'\n\
          [[rule]]\nname = 'hosting'\npath = '/*'\naction = 'refuse'\nasns = [64496]\ncountries = ['DE']\n",
    );
    let explain = |address| explain(directory.path(), address);
    let matching = explain("192.0.2.7");
    assert!(
        matching
            .contains("matches, because 192.0.2.7 is in AS64496 and in DE; its action is refuse."),
        "{matching}"
    );
    let other = explain("198.51.100.7");
    assert!(
        other.contains("the address 198.51.100.7 is in AS64499"),
        "{other}"
    );
    let unknown = explain("203.0.113.7");
    assert!(
        unknown.contains("the autonomous system of 203.0.113.7 is unknown"),
        "{unknown}"
    );
    let doctor = program::run(directory.path(), &["doctor", "--offline"]);
    let doctor = String::from_utf8(doctor.stdout).unwrap();
    assert!(
        doctor.contains("ok    geoip.asn_file: asn.mmdb is \"GeoLite2-ASN\", built on 2026-11-20"),
        "{doctor}"
    );
    write("asn.mmdb", b"no database");
    let doctor = program::run(directory.path(), &["doctor", "--offline"]);
    let doctor = String::from_utf8(doctor.stdout).unwrap();
    assert!(
        doctor.contains("FAIL  geoip.asn_file: no database loaded, so rules match nothing: asn.mmdb: the file is damaged or not in MaxMind format"),
        "{doctor}"
    );
}

fn explain(directory: &Path, address: &str) -> String {
    let arguments = [
        "explain",
        "--path",
        "/a",
        "--user-agent",
        "GPTBot/1.2",
        "--ip",
        address,
    ];
    program::succeed(directory, &arguments)
}
