//! `/metrics`: counters and their labels.

use std::net::TcpStream;

use crate::support::{
    http::{Reply, TestServer},
    program::{FIREFOX, GOOGLEBOT, Server, eventually, exchange, request},
};

use super::site::{Site, configure};

/// Returns the value of the only sample with all of these labels, or 0 if there is none.
fn value(text: &str, name: &str, labels: &[(&str, &str)]) -> f64 {
    let found: Vec<_> = text
        .lines()
        .filter(|line| {
            let rest = line.strip_prefix(name);
            let is_it = rest.is_some_and(|rest| rest.starts_with(['{', ' ']));
            is_it
                && labels
                    .iter()
                    .all(|(label, value)| line.contains(&format!("{label}=\"{value}\"")))
        })
        .collect();
    assert!(found.len() <= 1, "{found:?}");
    let last = found.first().and_then(|line| line.rsplit(' ').next());
    last.map_or(0.0, |value| value.parse().unwrap())
}

/// Name, labels and value of a sample.
pub(super) type Sample<'a> = (&'a str, &'a [(&'a str, &'a str)], u32);

pub(super) fn assert_values(text: &str, expected: &[Sample<'_>]) {
    for (name, labels, expected) in expected {
        let found = value(text, name, labels);
        let difference = (found - f64::from(*expected)).abs();
        assert!(difference < 1e-9, "{name} {labels:?}: {found}\n{text}");
    }
}

#[test]
fn requests_are_counted_by_site_visitor_decision_robot_and_status() {
    let site = Site::start("", Reply::status(404));
    for _ in 0..2 {
        site.server.get("/members-only-stuff/", GOOGLEBOT);
    }
    site.server.get("/", GOOGLEBOT);
    site.server.get("/", FIREFOX);
    let requests = "robot_detection_requests_total";
    let by_robot = "robot_detection_robot_requests_total";
    let statuses = "robot_detection_responses_total";
    let googlebot = ("robot", "googlebot");
    let text = site.server.metrics();
    assert_values(
        &text,
        &[
            (
                requests,
                &[
                    ("site", "default"),
                    ("visitor", "listed"),
                    ("decision", "redirect"),
                ],
                2,
            ),
            (requests, &[("visitor", "listed"), ("decision", "pass")], 1),
            (requests, &[("visitor", "person")], 1),
            (by_robot, &[googlebot, ("decision", "redirect")], 2),
            (by_robot, &[googlebot, ("decision", "pass")], 1),
            (statuses, &[("site", "default"), ("status", "3xx")], 2),
            (statuses, &[("site", "default"), ("status", "4xx")], 2),
            (statuses, &[("site", "default"), ("status", "5xx")], 0),
            (
                "robot_detection_build_info",
                &[("version", env!("CARGO_PKG_VERSION"))],
                1,
            ),
        ],
    );
}

#[test]
fn histograms_measure_durations_of_requests_and_of_the_upstream() {
    let site = Site::start("", Reply::text("hello"));
    for _ in 0..3 {
        site.server.get("/", FIREFOX);
    }
    site.server.get("/members-only-stuff/", GOOGLEBOT);
    let text = site.server.metrics();
    let duration = "robot_detection_request_duration_seconds";
    let first_byte = "robot_detection_upstream_first_byte_seconds";
    for name in [duration, first_byte] {
        assert!(
            text.contains(&format!("# TYPE {name} histogram\n")),
            "{text}"
        );
    }
    assert_values(
        &text,
        &[
            (
                "robot_detection_request_duration_seconds_count",
                &[("site", "default")],
                4,
            ),
            (
                "robot_detection_request_duration_seconds_bucket",
                &[("site", "default"), ("le", "+Inf")],
                4,
            ),
            ("robot_detection_upstream_first_byte_seconds_count", &[], 3),
        ],
    );
    assert!(
        value(
            &text,
            "robot_detection_upstream_first_byte_seconds_sum",
            &[]
        ) > 0.0
    );
}

#[test]
fn reloads_are_counted_by_result() {
    let site = Site::start("", Reply::text("hello"));
    let reloads = |result: &str| {
        value(
            &site.server.metrics(),
            "robot_detection_reloads_total",
            &[("result", result)],
        )
    };
    let upstream = format!("server.upstream = '{}'", site.upstream.url("/"));
    let settings = format!("filter_pattern = '/other/*'\n{upstream}");
    configure(site.directory.path(), &settings);
    site.server.signal("HUP");
    eventually("a reload is counted", || reloads("done") > 0.0);
    configure(site.directory.path(), "no_such_key = 1");
    site.server.signal("HUP");
    eventually("a failure is counted", || reloads("failed") > 0.0);
    assert!((reloads("done") - 1.0).abs() < 1e-9);
}

#[test]
fn every_family_is_described_once_and_no_sample_is_repeated() {
    let site = Site::start("", Reply::text("hello"));
    site.server.get("/", GOOGLEBOT);
    let text = site.server.metrics();
    let mut samples: Vec<_> = text
        .lines()
        .filter_map(|line| line.rsplit_once(' '))
        .map(|(sample, _)| sample)
        .collect();
    let all = samples.len();
    samples.sort_unstable();
    samples.dedup();
    assert_eq!(samples.len(), all, "{text}");
    for line in text.lines().filter(|line| !line.is_empty()) {
        let sample = line
            .strip_prefix("# HELP ")
            .or_else(|| line.strip_prefix("# TYPE "))
            .unwrap_or(line);
        assert!(
            sample.starts_with("robot_detection_") || sample.starts_with("process_"),
            "{line}"
        );
    }
}

#[test]
fn process_and_database_connections_are_measured() {
    let site = Site::start("", Reply::text("hello"));
    let text = site.server.metrics();
    let process = |name: &str| value(&text, &format!("process_{name}"), &[]);
    for name in ["cpu_seconds_total", "threads", "virtual_memory_bytes"] {
        assert!(process(name) > 0.0, "{name}: {text}");
    }
    let peak = 1_024.0 * f64::from(u32::try_from(site.server.peak_memory_kib()).unwrap());
    let resident = process("resident_memory_bytes");
    assert!(resident > 1e6 && resident <= peak, "{peak}: {text}");
    assert!(process("open_fds") > 10.0 && process("open_fds") < process("max_fds"));
    let now_ms = robot_detection::clock::Clock::system().now_ms();
    let age = f64::from(i32::try_from(now_ms / 1_000).unwrap()) - process("start_time_seconds");
    assert!((-2.0..3_600.0).contains(&age), "{age}: {text}");
    let connections = "robot_detection_database_connections";
    let of_state = |state| value(&text, connections, &[("state", state)]);
    let most = value(&text, "robot_detection_database_connections_max", &[]);
    let open = of_state("used") + of_state("idle");
    assert!(open > 0.5 && open <= most, "{text}");
}

#[test]
fn requests_are_counted_by_site_and_those_for_no_site_separately() {
    let upstream = TestServer::new(Reply::text("hello"));
    let settings = format!(
        "[[site]]\nname = 'shop'\nhosts = ['shop.example']\nupstream = '{}'",
        upstream.url("/")
    );
    let directory = tempfile::tempdir().unwrap();
    configure(directory.path(), &settings);
    let server = Server::start(directory.path(), &["serve"]);
    let ask = |host: &str, path: &str| request(server.addr, "GET", path, &[("Host", host)]);
    assert_eq!(ask("shop.example", "/").status, 200);
    assert_eq!(ask("other.example", "/").status, 421);
    let text = server.metrics();
    let requests = "robot_detection_requests_total";
    assert_values(
        &text,
        &[
            (requests, &[("site", "shop"), ("visitor", "nameless")], 1),
            // Visitors without a site are not identified.
            (requests, &[("site", "none"), ("visitor", "person")], 1),
        ],
    );
}

#[test]
fn connections_and_invalid_requests_are_counted_by_listener() {
    let site = Site::start("", Reply::status(404));
    let listener = site.server.addr.to_string();
    let listener = ("listener", listener.as_str());
    let broken = "GET / HTTP/1.1\r\nHost : a\r\n\r\n";
    assert_eq!(exchange(site.server.addr, broken.as_bytes()).status, 400);
    let _kept = TcpStream::connect(site.server.addr).unwrap();
    let unreadable = "robot_detection_unreadable_requests_total";
    let mut text = String::new();
    eventually("both connections are counted, and one is open", || {
        text = site.server.metrics();
        let of_listener = |name: &str| value(&text, name, &[listener]);
        value(&text, unreadable, &[listener, ("status", "400")]) > 0.5
            && of_listener("robot_detection_connections_total") > 1.5
            && (0.5..1.5).contains(&of_listener("robot_detection_connections_open"))
    });
    let unserved = "robot_detection_connections_unserved_total";
    assert_values(
        &text,
        &[(unserved, &[listener, ("reason", "handshake")], 0)],
    );
}
