//! Counts of requests that another proxy answers.

use super::house::House;
use crate::support::program::{FIREFOX, GOOGLEBOT, admin_json, eventually, succeed};

/// Returns the lines of `/metrics` that count requests.
fn counted(house: &House) -> Vec<String> {
    let text = house.server.metrics();
    let lines = text
        .lines()
        .filter(|line| line.starts_with("robot_detection_requests_total{"));
    lines.map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_response_details_are_never_counted_as_zero() {
    let more =
        "[check]\nlisten = 'unix:check.sock'\n[access_log]\npath = 'access.log'\nformat = 'json'\n";
    let house = House::with(more).await;
    for _ in 0..3 {
        house.check("nginx", "GET", "/", FIREFOX);
        house.check("caddy", "GET", "/members-only-stuff/a", GOOGLEBOT);
    }
    let lines = counted(&house);
    let of = |word: &str| {
        let line = lines.iter().find(|line| line.contains(word));
        line.unwrap_or_else(|| panic!("{word}: {lines:?}")).clone()
    };
    for word in ["decision=\"pass\"", "decision=\"redirect\""] {
        let line = of(word);
        assert!(line.ends_with(" 3"), "{line}");
    }
    let log = house.directory.path().join("access.log");
    let mut text = String::new();
    let visits = |text: &str| {
        text.lines()
            .filter(|line| line.contains("192.0.2.7"))
            .count()
    };
    eventually("six visits are logged", || {
        text = std::fs::read_to_string(&log).unwrap_or_default();
        visits(&text) == 6
    });
    for line in text.lines().filter(|line| line.contains("192.0.2.7")) {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(
            line["status"].is_null()
                && line["body_bytes_sent"].is_null()
                && line["request_time"].is_null(),
            "{line}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_endpoint_counts_nothing_where_the_proxys_log_is_counted() {
    let more = "[check]\nlisten = 'unix:check.sock'\ncount = false\n";
    let house = House::with(more).await;
    for _ in 0..3 {
        house.check("nginx", "GET", "/", FIREFOX);
        house.check("nginx", "GET", "/members-only-stuff/a", GOOGLEBOT);
    }
    let lines = counted(&house);
    assert!(lines.iter().all(|line| line.ends_with(" 0")), "{lines:?}");
    let printed = succeed(house.directory.path(), &["admin", "token", "test"]);
    let token = printed.split_whitespace().last().unwrap();
    eventually("the redirects are kept as evidence", || {
        let kept = admin_json(house.server.addr, token, ("GET", "evidence"), "").text();
        kept.matches("\"redirect\"").count() >= 3
            && kept.contains("/members-only-stuff/a")
            && kept.contains("\"status\":null")
    });
}
