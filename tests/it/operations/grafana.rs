//! Grafana's dashboard and Prometheus' alert rules use only metrics that `/metrics` has.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use regex::Regex;
use serde_json::Value;

use crate::support::{
    http::{Reply, TestServer},
    program::{FIREFOX, GOOGLEBOT, Server, eventually},
};

use super::site::Site;

fn dashboard() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/deploy/grafana-dashboard.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn panels(dashboard: &Value) -> &Vec<Value> {
    dashboard["panels"].as_array().unwrap()
}

/// Returns every expression of the dashboard with its legend.
fn expressions(dashboard: &Value) -> Vec<(String, String)> {
    let targets = panels(dashboard).iter().flat_map(|panel| {
        let targets = panel["targets"].as_array().into_iter().flatten();
        targets.map(|target| {
            let text = |key: &str| target[key].as_str().unwrap().to_owned();
            (text("expr"), text("legendFormat"))
        })
    });
    targets.collect()
}

/// Returns every expression of the alert rules.
fn alerts() -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/deploy/prometheus-rules.yml");
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().map(str::trim_start);
    let expressions = lines.filter_map(|line| line.strip_prefix("expr: "));
    expressions
        .map(|it| (it.to_owned(), String::new()))
        .collect()
}

/// Returns the labels of each metric of an exposition.
fn labels(text: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut found = BTreeMap::<_, BTreeSet<_>>::new();
    let label = Regex::new(r#"([a-z_]+)=""#).unwrap();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap();
        let names = label
            .captures_iter(line)
            .map(|it| it.get(1).unwrap().as_str());
        found.entry(name).or_default().extend(names);
    }
    found
}

/// Starts a server with a certificate and values for every metric.
fn measured() -> Site {
    let directory = tempfile::tempdir().unwrap();
    let upstream = TestServer::with(|seen| match &*seen.path {
        "/robots.txt" => Reply::text("User-agent: *\nDisallow: /private/"),
        _ => Reply::text("hello"),
    });
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::write(directory.path().join("cert.pem"), made.cert.pem()).unwrap();
    let key = made.signing_key.serialize_pem();
    fs::write(directory.path().join("key.pem"), key).unwrap();
    let settings = format!(
        "web_robots_db = '{0}all.txt'\nserver.upstream = '{0}'\nrobots_txt.enforce = 'on'\n\
         access_log.path = 'access.log'\n\
         [[listener]]\nlisten = '127.0.0.1:0'\ntls = true\n\
         [[certificate]]\ncertificate_file = 'cert.pem'\nkey_file = 'key.pem'",
        upstream.url("/")
    );
    fs::write(directory.path().join("robot-detection.toml"), settings).unwrap();
    let server = Server::start(directory.path(), &["serve"]);
    Site {
        directory,
        server,
        upstream,
    }
}

#[test]
fn every_metric_and_label_of_dashboard_and_alerts_exists() {
    let site = measured();
    site.server.get("/", FIREFOX);
    site.server.get("/members-only-stuff/", GOOGLEBOT);
    eventually("robots are held to robots.txt", || {
        site.server.get("/private/a", GOOGLEBOT).status != 200
    });
    site.server.signal("HUP");
    eventually("everything is measured", || {
        let text = site.server.metrics();
        text.contains("robot_detection_robots_txt_violations_total{")
            && text.contains("robot_detection_refresh_failing{")
            && text.contains("robot_detection_reloads_total{")
    });
    let text = site.server.metrics();
    let measured = labels(&text);
    let metric = Regex::new(r"(?:robot_detection|process)_[a-z_]+").unwrap();
    let selector = Regex::new(r#"([a-z_]+)(?:=~|!~|!=|=)""#).unwrap();
    let grouped = Regex::new(r"by \(([^)]*)\)").unwrap();
    let shown = Regex::new(r"\{\{([a-z_]+)\}\}").unwrap();
    let (shown_by, watched) = (expressions(&dashboard()), alerts());
    assert!(shown_by.len() > 20 && watched.len() > 10);
    for (expression, legend) in shown_by.into_iter().chain(watched) {
        // Prometheus adds its own metrics, and the job's name.
        let mut known = BTreeSet::from(["job"]);
        for name in metric.find_iter(&expression) {
            let labels = measured.get(name.as_str());
            known.extend(labels.unwrap_or_else(|| panic!("{name:?} does not exist\n{text}")));
        }
        let of_selectors = selector
            .captures_iter(&expression)
            .map(|it| it[1].to_owned());
        let of_groups = grouped.captures_iter(&expression).flat_map(|it| {
            let names = it[1].split(", ").map(str::to_owned);
            names.collect::<Vec<_>>()
        });
        let of_legends = shown.captures_iter(&legend).map(|it| it[1].to_owned());
        for label in of_selectors.chain(of_groups).chain(of_legends) {
            assert!(
                known.contains(&*label),
                "no metric has a label {label}: {expression}"
            );
        }
    }
    // A metric of a Unix time has its unit in the name.
    let own = text
        .lines()
        .filter(|line| line.starts_with("robot_detection_"));
    let is_time = |value: &str| value.parse::<f64>().is_ok_and(|value| value > 1e9);
    let times = own.filter(|line| is_time(line.rsplit_once(' ').unwrap().1));
    let names: BTreeSet<_> = times.map(|line| line.split('{').next().unwrap()).collect();
    assert!(!names.is_empty(), "{text}");
    for name in names {
        assert!(name.ends_with("_timestamp_seconds"), "{name}");
    }
}

#[test]
fn panels_have_unique_ids_and_do_not_overlap() {
    let dashboard = dashboard();
    let mut ids = BTreeSet::new();
    let mut cells = BTreeSet::new();
    for panel in panels(&dashboard) {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{panel}");
        let at = |key: &str| panel["gridPos"][key].as_u64().unwrap();
        assert!(at("x") + at("w") <= 24, "{panel}");
        for x in at("x")..at("x") + at("w") {
            for y in at("y")..at("y") + at("h") {
                assert!(cells.insert((x, y)), "{panel}");
            }
        }
    }
    assert!(ids.len() > 15);
}
