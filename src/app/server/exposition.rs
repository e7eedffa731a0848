//! The response text of `/metrics`.

use std::{
    fmt::Write as _,
    sync::atomic::{AtomicU64, Ordering},
};

use metrics::{Unit, counter, describe_counter, describe_gauge, gauge};
use metrics_exporter_prometheus::PrometheusBuilder;

use crate::observe::Observer;
use crate::operations::DEFAULT_SITE;
use crate::policy::Enforcer;
use crate::proxy::ServerState;
use crate::store::RobotCount;

use super::{RobotDetection, listener_metrics::ListenerMetrics, request_metrics};

/// Names and help texts of the counters in `/metrics`.
const COUNTERS: &str = "\
robot_detection_requests_total Requests by site, visitor (person, listed or unlisted robot, nameless, shared) and decision
robot_detection_robot_requests_total Requests by robot (the first 200 robots by name) and decision
robot_detection_verdicts_total Verdicts on robots' claims, by site, verdict and robot (the first 200 robots of a site by name)
robot_detection_responses_total Responses by site and status class; a client that disconnected before the response counts as 4xx
robot_detection_robots_txt_violations_total Requests that violated robots.txt, by site, robot (the first 200 robots by name), violated rule and response
robot_detection_suspects_total Requests from suspects, by site
robot_detection_suspect_reasons_total Requests from suspects, by site and reason; a request is counted for each of its reasons
robot_detection_evidence_lost_total Requests missing from the evidence because too many requests arrived at the same time
robot_detection_access_log_lost_lines_total Access log lines that were dropped or could not be written
robot_detection_reloads_total Reloads of the configuration, by result: done or failed
robot_detection_upstream_requests_total Requests forwarded to upstreams, by site and server
";

/// Names and help texts of the gauges in `/metrics`.
const GAUGES: &str = "\
robot_detection_upstream_up 1 if requests are forwarded to the server, by site and server
robot_detection_upstream_in_flight Requests with an unfinished response, by site and server
robot_detection_upstream_failures Consecutive failed requests, by site and server
robot_detection_live_rules Live rules in effect
robot_detection_enforcement_paused 1 while enforcement is paused
robot_detection_build_info Always 1, with the version as a label
robot_detection_active_robots Active robots that the detector recognises
robot_detection_registry_robots Rows of the robots table
robot_detection_database_up 1 if the database is available
robot_detection_database_connections Connections to the database, by state: used or idle
robot_detection_database_connections_max Maximum number of connections to the database
robot_detection_refresh_last_success_timestamp_seconds Time of the last successful refresh
robot_detection_refresh_failing 1 if the last refresh failed
";

const DURATION: &str = "robot_detection_request_duration_seconds";
const FIRST_BYTE: &str = "robot_detection_upstream_first_byte_seconds";

/// A registry source and the results of its refreshes.
struct Refreshed {
    source: String,
    succeeded_ms: i64,
    is_failing: bool,
}

/// Returns all metrics in the Prometheus text format.
pub(super) async fn exposition(
    robots: &RobotDetection,
    observer: &Observer,
    listeners: &ListenerMetrics,
) -> String {
    // Loaded before the recorder is created, which is thread-local and must not cross an await
    // point.
    let counts = robots.store().robots().counts().await.ok();
    let refreshed = refreshed(robots).await;
    // A new recorder for each scrape: values live in our own counters, so removed sites and servers
    // leave no series behind.
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    metrics::with_local_recorder(&recorder, || {
        describe();
        request_metrics::record(robots.traffic());
        sites(robots);
        suspects(robots);
        house(observer, robots.traffic().lost_evidence());
        live_rules(robots);
        listeners.record();
        registry(robots, counts.as_deref(), refreshed);
        database(robots, counts.is_some());
    });
    let mut text = handle.render();
    // Histograms are written here, because the recorder would need every single value.
    histograms(observer, &mut text);
    text
}

fn describe() {
    for (name, help) in COUNTERS.lines().filter_map(|line| line.split_once(' ')) {
        describe_counter!(name, Unit::Count, help);
    }
    for (name, help) in GAUGES.lines().filter_map(|line| line.split_once(' ')) {
        describe_gauge!(name, Unit::Count, help);
    }
}

fn sites(robots: &RobotDetection) {
    let states = match robots.serving() {
        Some(serving) => serving.states(),
        None => vec![(
            DEFAULT_SITE.to_owned(),
            robots.enforcer().clone(),
            Vec::new(),
        )],
    };
    for (site, enforcer, servers) in states {
        robots_txt(&site, &enforcer);
        for server in servers {
            upstream(&site, server);
        }
    }
}

fn suspects(robots: &RobotDetection) {
    let stats = robots.serving().map(|serving| serving.stats());
    for (site, stats) in stats.into_iter().flatten() {
        let number = read(&stats.suspects);
        counter!("robot_detection_suspects_total", "site" => site.clone()).absolute(number);
        for (reason, number) in stats.by_reason().filter(|(_, number)| *number > 0) {
            counter!(
                "robot_detection_suspect_reasons_total",
                "site" => site.clone(), "reason" => reason.code()
            )
            .absolute(number);
        }
    }
}

/// Records the robots.txt metrics of a site; robots beyond the first 200 share one label.
fn robots_txt(site: &str, enforcer: &Enforcer) {
    for count in enforcer.robot_counts() {
        for (broken, answer, number) in [
            ("rule", "pass", count.rules_reported),
            ("rule", "refuse", count.rules_refused),
            ("crawl-delay", "pass", count.delays_reported),
            ("crawl-delay", "refuse", count.delays_refused),
        ] {
            if number > 0 {
                counter!(
                    "robot_detection_robots_txt_violations_total",
                    "site" => site.to_owned(), "robot" => count.robot.clone(),
                    "broken" => broken, "answer" => answer
                )
                .absolute(number);
            }
        }
    }
}

/// Records the metrics of an upstream server; the number of labels is bounded by the settings.
fn upstream(site: &str, server: ServerState) {
    let labels = [("site", site.to_owned()), ("server", server.url)];
    let up = f64::from(u8::from(server.is_healthy));
    gauge!("robot_detection_upstream_up", &labels).set(up);
    gauge!("robot_detection_upstream_in_flight", &labels).set(float(server.in_flight));
    gauge!("robot_detection_upstream_failures", &labels).set(f64::from(server.failures));
    counter!("robot_detection_upstream_requests_total", &labels).absolute(server.requests);
}

fn live_rules(robots: &RobotDetection) {
    let set = robots.live_rules().load();
    gauge!("robot_detection_live_rules").set(float(set.rules.len() as u64));
    let paused = u8::from(set.pause.is_some());
    gauge!("robot_detection_enforcement_paused").set(f64::from(paused));
}

fn house(observer: &Observer, lost_evidence: u64) {
    gauge!("robot_detection_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    counter!("robot_detection_evidence_lost_total").absolute(lost_evidence);
    counter!("robot_detection_access_log_lost_lines_total").absolute(observer.lost_lines());
    let metrics = observer.metrics();
    for (result, number) in [
        ("done", &metrics.reloads_done),
        ("failed", &metrics.reloads_failed),
    ] {
        counter!("robot_detection_reloads_total", "result" => result).absolute(read(number));
    }
}

fn registry(robots: &RobotDetection, counts: Option<&[RobotCount]>, refreshed: Vec<Refreshed>) {
    let active = robots.detector().load().robots().len();
    gauge!("robot_detection_active_robots").set(float(active as u64));
    for count in counts.unwrap_or_default() {
        let source = count.source.to_string();
        for (status, number) in [
            ("active", count.active),
            ("quarantined", count.quarantined),
            ("unusable", count.unusable),
        ] {
            gauge!(
                "robot_detection_registry_robots", "source" => source.clone(), "status" => status
            )
            .set(float(number));
        }
    }
    for row in refreshed {
        let seconds = u64::try_from(row.succeeded_ms / 1_000).unwrap_or_default();
        gauge!(
            "robot_detection_refresh_last_success_timestamp_seconds", "source" => row.source.clone()
        )
        .set(float(seconds));
        gauge!("robot_detection_refresh_failing", "source" => row.source)
            .set(f64::from(u8::from(row.is_failing)));
    }
}

fn database(robots: &RobotDetection, is_up: bool) {
    gauge!("robot_detection_database_up").set(f64::from(u8::from(is_up)));
    let Some(pool) = robots.store().pool_state() else {
        return;
    };
    let used = pool.open.saturating_sub(pool.idle);
    for (state, number) in [("used", used), ("idle", pool.idle)] {
        gauge!("robot_detection_database_connections", "state" => state).set(f64::from(number));
    }
    gauge!("robot_detection_database_connections_max").set(f64::from(pool.max));
}

async fn refreshed(robots: &RobotDetection) -> Vec<Refreshed> {
    let mut rows = Vec::new();
    for spec in robots.refresher().sources() {
        let Ok(state) = robots.store().refreshes().source_state(&spec.source).await else {
            continue;
        };
        let failure = robots.refresher().standing_failure(&spec.source).await;
        rows.push(Refreshed {
            source: spec.source.to_string(),
            succeeded_ms: state
                .and_then(|state| state.succeeded_ms)
                .unwrap_or_default(),
            is_failing: matches!(failure, Ok(Some(_))),
        });
    }
    rows
}

fn histograms(observer: &Observer, text: &mut String) {
    head(
        DURATION,
        "Seconds from the request head to the end of the response, by site",
        text,
    );
    for site in observer.metrics().sites() {
        site.durations
            .write(DURATION, Some(("site", &site.name)), text);
    }
    head(
        FIRST_BYTE,
        "Seconds until the response from the upstream began or failed",
        text,
    );
    observer.metrics().first_byte.write(FIRST_BYTE, None, text);
}

fn head(name: &str, help: &str, text: &mut String) {
    // Writing to a string never fails.
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} histogram");
}

fn read(number: &AtomicU64) -> u64 {
    number.load(Ordering::Relaxed)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a gauge is a float; counts stay far below 2^52"
)]
pub(super) fn float(number: u64) -> f64 {
    number as f64
}
