//! Requests that are not visits: those of the administrator and of monitoring.

use serde_json::Value;

use crate::support::{
    http::Reply,
    program::{FIREFOX, GOOGLEBOT, exchange, request, succeed},
};

use super::{metrics::assert_values, site::Site};

const ADMIN: &str = "/robot-detection/admin";

/// Imitates a browser's requests on the admin pages.
fn look_around(addr: std::net::SocketAddr, user_agent: &str) {
    for path in [
        ADMIN,
        "/robot-detection/admin/login",
        "/robot-detection/admin/assets/admin.css",
        "/robot-detection/admin/api/v1/status",
        "/robot-detection/admin/nothing-here",
    ] {
        let headers = [("User-Agent", user_agent), ("Host", "127.0.0.1")];
        let status = request(addr, "GET", path, &headers).status;
        assert_ne!(status, 502, "{path} was sent to the upstream");
    }
}

/// Returns JSON of the admin API; creates a token for each query.
fn api(site: &Site, path: &str) -> Value {
    let token = succeed(site.directory.path(), &["admin", "token", path]);
    let token = format!("Bearer {}", token.trim());
    let path = format!("{ADMIN}/api/v1/{path}");
    let headers = [("Authorization", token.as_str()), ("User-Agent", GOOGLEBOT)];
    let answer = request(site.server.addr, "GET", &path, &headers);
    serde_json::from_slice(&answer.body).unwrap_or_else(|_| panic!("{path}: {}", answer.text()))
}

#[test]
fn the_administrator_is_not_counted() {
    let site = Site::start("robots_txt.enforce = 'report'", Reply::text("hello"));
    for user_agent in [GOOGLEBOT, FIREFOX] {
        look_around(site.server.addr, user_agent);
    }
    let text = site.server.metrics();
    for family in [
        "robot_detection_requests_total",
        "robot_detection_robot_requests_total",
        "robot_detection_verdicts_total",
    ] {
        let samples: Vec<_> = text
            .lines()
            .filter(|line| line.starts_with(family))
            .collect();
        assert!(samples.is_empty(), "{samples:?}");
    }
    let durations = "robot_detection_request_duration_seconds_count";
    assert_values(&text, &[(durations, &[("site", "default")], 0)]);

    site.server.get("/", GOOGLEBOT);
    let text = site.server.metrics();
    let requests = "robot_detection_requests_total";
    assert_values(
        &text,
        &[
            (requests, &[("visitor", "listed")], 1),
            (durations, &[("site", "default")], 1),
        ],
    );
    let told = api(&site, "sites");
    let counts = &told["sites"][0];
    assert_eq!(
        (&counts["people"], &counts["robots_passed"]),
        (&0.into(), &1.into()),
        "{told}"
    );
    let told = api(&site, "verification");
    let counted: u64 = ["verified", "spoofed", "unverifiable"]
        .iter()
        .filter_map(|verdict| told["totals"][verdict].as_u64())
        .sum();
    assert!(
        counted <= 1,
        "expected one robot, outside the admin pages: {told}"
    );
}

#[test]
fn the_administrators_requests_for_no_site_are_not_visits() {
    let settings =
        "[[site]]\nname = 'shop'\nhosts = ['shop.example']\nupstream = 'http://127.0.0.1:1'";
    let site = Site::start(settings, Reply::text("hello"));
    look_around(site.server.addr, GOOGLEBOT);
    let text = site.server.metrics();
    let requests = "robot_detection_requests_total{";
    assert!(!text.contains(requests), "{text}");
}

#[test]
fn a_separate_admin_listener_has_no_visitors() {
    let site = Site::start("admin.listen = '127.0.0.1:0'", Reply::text("hello"));
    let admin = site.server.admin.unwrap();
    for user_agent in [GOOGLEBOT, FIREFOX] {
        look_around(admin, user_agent);
    }
    // On the site's listener, this path belongs to the site.
    site.server.get(ADMIN, FIREFOX);
    let text = request(admin, "GET", "/metrics", &[("Host", "127.0.0.1")]).text();
    let requests = "robot_detection_requests_total";
    assert_values(
        &text,
        &[
            (requests, &[("visitor", "person")], 1),
            (requests, &[("visitor", "listed")], 0),
        ],
    );
}

#[test]
fn the_access_log_marks_own_requests() {
    for (format, of_nobody) in [
        ("combined", "\"-\" \"-\" \"pass\" \"-\""),
        (
            "json",
            "\"robot\":null,\"visitor\":\"-\",\"decision\":\"pass\",\"cause\":\"own-page\",\"verdict\":null",
        ),
    ] {
        let site = Site::logging(format, Reply::text("hello"));
        let login = format!(
            "GET {ADMIN}/login HTTP/1.1\r\nHost: a.example\r\nUser-Agent: {GOOGLEBOT}\r\nConnection: close\r\n\r\n"
        );
        assert_eq!(exchange(site.server.addr, login.as_bytes()).status, 200);
        site.server.get("/", FIREFOX);
        let directory = site.end();
        let log = std::fs::read_to_string(directory.path().join("access.log")).unwrap();
        let lines: Vec<_> = log.lines().collect();
        assert_eq!(lines.len(), 2, "{log}");
        assert!(lines[0].contains(of_nobody), "{of_nobody}: {log}");
        assert!(lines[1].contains("person"), "{log}");
    }
}
