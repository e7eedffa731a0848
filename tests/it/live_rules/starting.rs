//! The live rules of an instance at startup.

use std::{fs, os::unix::fs::PermissionsExt as _};

use super::house::House;
use crate::support::program::{GOOGLEBOT, eventually};

const REFUSE: &str = r#"{"action":"refuse","robot":"googlebot"}"#;

/// Returns a house with a stored rule and a damaged database.
fn without_database() -> House {
    let house = House::with_file("");
    let instance = house.start();
    assert!(house.state_file().is_none(), "no rule was ever created");
    instance.add(REFUSE);
    eventually("the file is written", || house.state_file().is_some());
    instance.end();
    fs::write(house.path().join("robots.db"), "no database at all").unwrap();
    house
}

#[test]
fn rules_from_the_file_apply_while_the_database_is_unavailable() {
    let house = without_database();
    let file = house.state_file().unwrap();
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let server = house.serve();
    assert_eq!(server.get("/page", GOOGLEBOT).status, 403);
    assert!(
        house.log().contains("live rules loaded from "),
        "{}",
        house.log()
    );
}

#[test]
fn a_truncated_or_foreign_file_is_reported_and_ignored() {
    let house = without_database();
    let file = house.state_file().unwrap();
    let whole = fs::read_to_string(&file).unwrap();
    let (half, _) = whole.split_at(whole.len() / 2);
    for (text, told) in [
        (half.to_owned(), "EOF while parsing"),
        (whole.replace("refuse", "explode"), "action"),
        (
            whole.replace("robots.db", "other.db"),
            "belongs to another program or database",
        ),
        (
            whole.replace("\"format\": 1", "\"format\": 2"),
            "belongs to another program or database",
        ),
        (" ".repeat(3 << 20), "too large"),
    ] {
        fs::write(&file, text).unwrap();
        let server = house.serve();
        assert_eq!(server.get("/page", GOOGLEBOT).status, 200, "{told}");
        let log = house.log();
        assert!(
            log.contains("live rules are ignored until the database responds"),
            "{log}"
        );
        assert!(log.contains(told), "{log}");
    }
}

#[test]
fn an_expired_rule_is_expired_in_the_file_too() {
    let house = without_database();
    let file = house.state_file().unwrap();
    let whole = fs::read_to_string(&file).unwrap();
    let at = whole.find("\"ends_ms\": ").unwrap();
    let end = at + whole[at..].find('\n').unwrap();
    let over = format!("{}\"ends_ms\": 1{}", &whole[..at], &whole[end..]);
    fs::write(&file, over).unwrap();
    let server = house.serve();
    assert_eq!(
        server.get("/page", GOOGLEBOT).status,
        200,
        "{}",
        house.log()
    );
}

#[test]
fn rules_apply_from_the_first_request_after_a_restart() {
    let house = House::with_file("");
    let instance = house.start();
    instance.add(REFUSE);
    instance.end();
    let server = house.serve();
    assert_eq!(server.get("/page", GOOGLEBOT).status, 403);
}

#[test]
fn when_disabled_live_rules_are_neither_applied_nor_created() {
    let house = House::with_file("");
    let instance = house.start();
    instance.add(REFUSE);
    instance.end();
    house.configure("admin.rules = false");
    let server = house.serve();
    assert_eq!(server.get("/page", GOOGLEBOT).status, 200);
    let refused = crate::support::program::run(house.path(), &["rules", "list"]);
    assert_eq!(refused.status.code(), Some(1));
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(told.contains("admin.rules is false"), "{told}");
}
