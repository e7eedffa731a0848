//! The operational endpoints `/healthz`, `/readyz`, `/metrics` and `/reload`.
//!
//! These endpoints are served at `operation.listen` and `admin.listen`, which visitors cannot
//! reach.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::IntoResponse,
    routing::{get, post},
};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::observe::Observer;
use crate::operations::{Reloads, rfc3339};
use crate::probe::Probes;
use crate::suspect::{BrowserCheck, FrontHeaders};

use super::{
    RobotDetection, Site, exposition::exposition, listener_metrics::ListenerMetrics,
    process_metrics::process_metrics,
};

/// Data for the operational endpoints; readiness ends when `stop` is cancelled.
#[derive(Clone, Debug)]
pub(super) struct Operations {
    pub(super) robots: RobotDetection,
    pub(super) observer: Observer,
    /// The addresses of all listeners.
    pub(super) addresses: Vec<String>,
    pub(super) listeners: ListenerMetrics,
    pub(super) coherence: Arc<BrowserCheck>,
    pub(super) probes: Arc<Probes>,
    pub(super) stop: CancellationToken,
    /// The time when the server started, as Unix time.
    pub(super) started_seconds: u64,
}

/// The response body of `/readyz`.
#[derive(Serialize)]
struct Readiness {
    ready: bool,
    robots: usize,
    database: &'static str,
    #[serde(flatten)]
    away: Option<Away>,
    /// Addresses of this process's listeners.
    listeners: Vec<String>,
    /// Warnings for the administrator.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    /// Sentences about browser headers that are not used to detect suspects because a front proxy
    /// removes them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suspects: Vec<String>,
}

#[derive(Serialize)]
struct Away {
    away_since: String,
    reason: String,
}

/// Returns the router of the operational endpoints.
pub(super) fn router(operations: Operations) -> Router {
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .route("/reload", post(reload))
        .with_state(operations)
}

/// Answers `/readyz` from the last known state, so that only the database watcher waits for the
/// database.
///
/// An instance with a registry in memory can serve requests without the database.
async fn ready(State(state): State<Operations>) -> impl IntoResponse {
    let robots = state.robots.detector().load().robots().len();
    let absence = state.robots.store().outage();
    // A load balancer removes the instance first, and the listeners close after the drain delay.
    let is_ready = !state.stop.is_cancelled() && (robots > 0 || absence.is_none());
    let status = if is_ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let away = absence.map(|absence| Away {
        away_since: rfc3339(absence.since_ms),
        reason: absence.reason.clone(),
    });
    let body = Readiness {
        ready: is_ready,
        robots,
        database: if away.is_some() { "away" } else { "ok" },
        away,
        listeners: state.addresses,
        warnings: warnings(&state.robots),
        suspects: not_judged(&state.coherence),
    };
    (status, Json(body))
}

/// Returns a warning for each site whose visitors are hidden by a front proxy, for each problem
/// with an address list or file, and for each untrusted proxy.
fn warnings(robots: &RobotDetection) -> Vec<String> {
    let sites = robots.sites();
    let warning = |site: &Site| {
        let front = site.stats().front()?;
        Some(format!("site {}: {front}", site.name()))
    };
    let sites = sites.iter().filter_map(warning);
    let problems = sites.chain(robots.origin_problems());
    problems.chain(robots.notices()).collect()
}

/// Returns a warning for each front proxy that removes browser headers.
fn not_judged(coherence: &BrowserCheck) -> Vec<String> {
    let fronts = coherence.fronts().into_iter();
    let sentence = |front: FrontHeaders| {
        let headers = front.taken_off.join(", ");
        format!(
            "the proxy at {} never forwards {headers}, so requests without these headers are not treated as suspicious: configure the proxy to forward browser headers",
            front.front
        )
    };
    fronts.map(sentence).collect()
}

async fn metrics(State(state): State<Operations>) -> impl IntoResponse {
    let started = state.started_seconds;
    // Runs on another thread, because the function counts open files.
    let process = tokio::task::spawn_blocking(move || process_metrics(started)).await;
    let text = exposition(&state.robots, &state.observer, &state.listeners).await;
    let text = text + &process.unwrap_or_default();
    // Content type of the Prometheus text format.
    let content_type = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, content_type)], text)
}

/// Reloads the configuration when the command `reload` sends its token.
async fn reload(State(state): State<Operations>, headers: HeaderMap) -> (StatusCode, String) {
    let Some(is_accepted) = state.probes.take_reload(&headers) else {
        let text = "only the command `robot-detection reload` may request a reload\n";
        return (StatusCode::FORBIDDEN, text.to_owned());
    };
    let by = if is_accepted {
        Reloads::ACCEPTED_COMMAND
    } else {
        Reloads::COMMAND
    };
    let reloads = state.robots.reloads();
    let outcome = if reloads.is_served() {
        reloads.request_reload(by).await
    } else {
        None
    };
    match outcome.as_deref().map(|outcome| &outcome.result) {
        Some(Ok(text)) => (StatusCode::OK, format!("{text}\n")),
        Some(Err(failure)) => (StatusCode::CONFLICT, format!("{}\n", failure.text)),
        None => (
            StatusCode::SERVICE_UNAVAILABLE,
            "the server cannot reload its configuration\n".to_owned(),
        ),
    }
}
