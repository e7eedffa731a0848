//! `/metrics`: what is counted, under which labels.

use crate::support::{
    http::{Reply, TestServer},
    program::{FIREFOX, GOOGLEBOT, Server, eventually, exchange, request},
};

use super::site::{Site, configure};

/// Value of the one sample whose labels contain all of these; 0 where there is none.
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

pub(super) fn metrics(site: &Site) -> String {
    let here = [("Host", "127.0.0.1")];
    request(site.server.addr, "GET", "/metrics", &here).text()
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
    let text = metrics(&site);
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
fn durations_are_histograms_of_requests_and_of_the_upstream() {
    let site = Site::start("", Reply::text("hello"));
    for _ in 0..3 {
        site.server.get("/", FIREFOX);
    }
    site.server.get("/members-only-stuff/", GOOGLEBOT);
    let text = metrics(&site);
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
            &metrics(&site),
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
fn every_family_is_described_once_and_no_sample_stands_twice() {
    let site = Site::start("", Reply::text("hello"));
    site.server.get("/", GOOGLEBOT);
    let text = metrics(&site);
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
        assert!(
            line.starts_with("# HELP robot_detection_")
                || line.starts_with("# TYPE robot_detection_")
                || line.starts_with("robot_detection_"),
            "{line}"
        );
    }
}

#[test]
fn sites_are_counted_by_their_names_and_what_is_for_none_apart() {
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
    let text = ask("127.0.0.1", "/metrics").text();
    let requests = "robot_detection_requests_total";
    assert_values(
        &text,
        &[
            (requests, &[("site", "shop"), ("visitor", "nameless")], 1),
            // Nobody looks at who asks for no site.
            (requests, &[("site", "none"), ("visitor", "person")], 1),
        ],
    );
}

#[test]
fn connections_and_unreadable_requests_are_counted_by_listener() {
    let site = Site::start("", Reply::status(404));
    let listener = site.server.addr.to_string();
    let listener = ("listener", listener.as_str());
    let broken = "GET / HTTP/1.1\r\nHost : a\r\n\r\n";
    assert_eq!(exchange(site.server.addr, broken.as_bytes()).status, 400);
    let unreadable = "robot_detection_unreadable_requests_total";
    eventually("it is counted", || {
        value(&metrics(&site), unreadable, &[listener, ("status", "400")]) > 0.5
    });
    let text = metrics(&site);
    let accepted = value(&text, "robot_detection_connections_total", &[listener]);
    assert!(accepted > 1.5, "{text}");
    let open = value(&text, "robot_detection_connections_open", &[listener]);
    assert!((0.5..accepted).contains(&open), "{text}");
    let unserved = "robot_detection_connections_unserved_total";
    assert_values(
        &text,
        &[(unserved, &[listener, ("reason", "handshake")], 0)],
    );
}
