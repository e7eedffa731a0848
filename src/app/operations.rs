//! `/healthz`, `/readyz` and `/metrics`.
//!
//! They are not public: they answer on the admin listener, or, where there is
//! none, on the site's own to direct requests from this machine that ask for it
//! by a name of its own.

use std::{net::IpAddr, sync::atomic::Ordering};

use axum::{
    Json, Router,
    extract::State,
    http::{Request, StatusCode, header, uri::Authority},
    response::IntoResponse,
    routing::get,
};
use metrics::{Unit, counter, describe_counter, describe_gauge, gauge};
use metrics_exporter_prometheus::PrometheusBuilder;
use tokio_util::sync::CancellationToken;

use crate::listen::ClientAddr;

use super::RobotDetection;

/// Paths of operations.
pub(super) const PATHS: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

#[derive(Clone, Debug)]
struct Operations {
    robots: RobotDetection,
    stop: CancellationToken,
}

/// Tells whether a request is for operations and comes straight from this machine.
///
/// A proxy on the same machine may pass requests on without a word of it; the
/// host that its visitors ask for is not this machine's own name.
pub(super) fn is_ours<B>(request: &Request<B>) -> bool {
    PATHS.contains(&request.uri().path())
        && request
            .extensions()
            .get::<ClientAddr>()
            .is_some_and(|addr| addr.direct && addr.peer.ip().to_canonical().is_loopback())
        && !request.headers().contains_key(header::VIA)
        && asks_for_this_machine(request)
}

fn asks_for_this_machine<B>(request: &Request<B>) -> bool {
    let header = request.headers().get(header::HOST);
    let authority = match request.uri().authority() {
        Some(authority) => Some(authority.clone()),
        None => header.and_then(|host| Authority::try_from(host.as_bytes()).ok()),
    };
    authority.is_some_and(|authority| {
        let host = authority.host().trim_matches(['[', ']']);
        host.eq_ignore_ascii_case("localhost")
            || host
                .parse::<IpAddr>()
                .is_ok_and(|ip| ip.to_canonical().is_loopback())
    })
}

/// Returns the router of the three paths; readiness ends when `stop` is cancelled.
pub(super) fn router(robots: RobotDetection, stop: CancellationToken) -> Router {
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(Operations { robots, stop })
}

/// The database may be away: requests are answered from memory.
async fn ready(State(state): State<Operations>) -> impl IntoResponse {
    let draining = state.stop.is_cancelled();
    let status = if draining {
        StatusCode::SERVICE_UNAVAILABLE
    } else {
        StatusCode::OK
    };
    let database = match state.robots.store().ping().await {
        Ok(()) => "ok",
        Err(_) => "away",
    };
    let body = serde_json::json!({
        "ready": !draining,
        "robots": state.robots.detector().load().robots().len(),
        "database": database,
    });
    (status, Json(body))
}

async fn metrics(State(state): State<Operations>) -> impl IntoResponse {
    let counts = state.robots.store().robot_counts().await.ok();
    let refreshes = last_successes(&state.robots).await;
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    metrics::with_local_recorder(&recorder, || {
        describe();
        requests(&state.robots);
        robots_txt(&state.robots);
        gauge!("robot_detection_database_up").set(f64::from(u8::from(counts.is_some())));
        for count in counts.unwrap_or_default() {
            let source = count.source.to_string();
            for (status, number) in [
                ("active", count.active),
                ("quarantined", count.quarantined),
                ("unusable", count.unusable),
            ] {
                gauge!("robot_detection_registry_robots", "source" => source.clone(), "status" => status)
                    .set(float(number));
            }
        }
        for (source, succeeded_ms, failing) in refreshes {
            gauge!("robot_detection_refresh_last_success_seconds", "source" => source.clone()).set(
                float(u64::try_from(succeeded_ms / 1_000).unwrap_or_default()),
            );
            gauge!("robot_detection_refresh_failing", "source" => source)
                .set(f64::from(u8::from(failing)));
        }
    });
    let content_type = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, content_type)], handle.render())
}

fn describe() {
    describe_counter!(
        "robot_detection_requests_total",
        Unit::Count,
        "Requests by visitor and decision"
    );
    describe_counter!(
        "robot_detection_robots_txt_violations_total",
        Unit::Count,
        "Requests against robots.txt by robot, the first 200 by name; what was broken; and answer"
    );
    describe_gauge!(
        "robot_detection_active_robots",
        Unit::Count,
        "Robots that detection knows"
    );
    describe_gauge!(
        "robot_detection_registry_robots",
        Unit::Count,
        "Rows of the robots table"
    );
    describe_gauge!(
        "robot_detection_database_up",
        Unit::Count,
        "1 when the database answers"
    );
    describe_gauge!(
        "robot_detection_refresh_last_success_seconds",
        Unit::Seconds,
        "Time of the last refresh that succeeded"
    );
    describe_gauge!(
        "robot_detection_refresh_failing",
        Unit::Count,
        "1 when the last refresh failed"
    );
}

fn requests(robots: &RobotDetection) {
    let layer = robots.layer();
    let stats = layer.stats();
    for (visitor, decision, number) in [
        ("person", "pass", &stats.people),
        ("robot", "pass", &stats.robots_passed),
        ("robot", "redirect", &stats.robots_redirected),
        ("robot", "refuse", &stats.robots_refused),
    ] {
        counter!("robot_detection_requests_total", "visitor" => visitor, "decision" => decision)
            .absolute(number.load(Ordering::Relaxed));
    }
    let active = robots.detector().load().robots().len();
    gauge!("robot_detection_active_robots").set(float(active as u64));
}

/// Labels are bounded: robots beyond the first 200 are counted together.
fn robots_txt(robots: &RobotDetection) {
    for count in robots.enforcer().robot_counts() {
        for (broken, answer, number) in [
            ("rule", "pass", count.rules_reported),
            ("rule", "refuse", count.rules_refused),
            ("crawl-delay", "pass", count.delays_reported),
            ("crawl-delay", "refuse", count.delays_refused),
        ] {
            if number > 0 {
                counter!(
                    "robot_detection_robots_txt_violations_total",
                    "robot" => count.robot.clone(), "broken" => broken, "answer" => answer
                )
                .absolute(number);
            }
        }
    }
}

async fn last_successes(robots: &RobotDetection) -> Vec<(String, i64, bool)> {
    let mut rows = Vec::new();
    for spec in robots.refresher().sources() {
        let Ok(state) = robots.store().source_state(&spec.source).await else {
            continue;
        };
        let failing = matches!(
            robots.refresher().standing_failure(&spec.source).await,
            Ok(Some(_))
        );
        let succeeded_ms = state
            .and_then(|state| state.succeeded_ms)
            .unwrap_or_default();
        rows.push((spec.source.to_string(), succeeded_ms, failing));
    }
    rows
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a gauge is a float; counts stay far below 2^52"
)]
fn float(number: u64) -> f64 {
    number as f64
}
