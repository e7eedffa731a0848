//! The page of alerts: how each stands, and the last messages.

use askama::Template;
use axum::{Json, extract::State, response::Response};
use serde::Serialize;
use serde_json::json;

use super::{
    moment::Moment,
    page::{Page, html},
    problem::Problem,
    state::AdminState,
};
use crate::store::{AlertAttempt, AlertState};

/// Messages that are shown.
const SHOWN: u64 = 50;

/// Alert as lists show it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct AlertView {
    pub(crate) name: String,
    /// What is watched.
    pub(crate) on: String,
    /// Scheme and host of the receiver.
    pub(crate) receiver: String,
    /// "firing", "well", "weekly".
    pub(crate) state: &'static str,
    /// When it began, or ended last.
    pub(crate) since: Option<Moment>,
    /// What is found while it lasts.
    pub(crate) findings: Vec<String>,
    /// When the receiver took a message.
    pub(crate) told: Option<Moment>,
    /// Attempts in a row that failed, and why the last one did.
    pub(crate) failures: u32,
    pub(crate) error: String,
}

/// Message as lists show it.
#[derive(Clone, Debug, Serialize)]
struct AttemptView {
    at: Moment,
    name: String,
    event: String,
    /// Why it was not taken; empty where it was.
    error: String,
}

#[derive(Template)]
#[template(path = "admin/alerts.html")]
struct AlertsPage {
    page: Page,
    alerts: Vec<AlertView>,
    attempts: Vec<AttemptView>,
}

impl AlertView {
    pub(crate) fn new(state: &AlertState, now_ms: i64) -> Self {
        let moment = |at_ms: i64| (at_ms > 0).then(|| Moment::new(at_ms, now_ms));
        let is_report = state.watch == "report";
        Self {
            name: state.name.clone(),
            on: state.watch.clone(),
            receiver: state.receiver.clone(),
            state: match (is_report, state.is_firing) {
                (true, _) => "weekly",
                (_, true) => "firing",
                _ => "well",
            },
            since: moment(state.since_ms),
            findings: if state.is_firing {
                state.findings.lines().map(str::to_owned).collect()
            } else {
                Vec::new()
            },
            // The first report is counted from a time at which none was sent.
            told: moment(state.told_ms).filter(|_| !is_report || state.tried_ms > 0),
            failures: state.failures,
            error: state.error.clone(),
        }
    }
}

impl AttemptView {
    fn new(attempt: &AlertAttempt, now_ms: i64) -> Self {
        Self {
            at: Moment::new(attempt.at_ms, now_ms),
            name: attempt.name.clone(),
            event: attempt.event.clone(),
            error: attempt.error.clone(),
        }
    }
}

async fn load(state: &AdminState) -> Result<(Vec<AlertView>, Vec<AttemptView>), Problem> {
    let (store, now_ms) = (&state.admin().store, state.now_ms());
    let (alerts, attempts) = (store.alerts().await?, store.alert_attempts(SHOWN).await?);
    let alerts = alerts.iter().map(|it| AlertView::new(it, now_ms));
    let attempts = attempts.iter().map(|it| AttemptView::new(it, now_ms));
    Ok((alerts.collect(), attempts.collect()))
}

/// Shows the page.
pub(super) async fn show(State(state): State<AdminState>, page: Page) -> Result<Response, Problem> {
    let (alerts, attempts) = load(&state).await?;
    Ok(html(&AlertsPage {
        page,
        alerts,
        attempts,
    }))
}

pub(super) async fn json(
    State(state): State<AdminState>,
) -> Result<Json<serde_json::Value>, Problem> {
    let (alerts, attempts) = load(&state).await?;
    Ok(Json(json!({ "alerts": alerts, "attempts": attempts })))
}
