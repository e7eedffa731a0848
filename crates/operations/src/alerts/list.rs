//! How the alerts stand, and what their receivers were told.

use robot_detection_store::store::{AlertAttempt, AlertState};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Caller, Moment, Refusal};

/// Messages that are listed.
const SHOWN: u64 = 50;

/// How an alert stands.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct AlertStanding {
    /// Name of the `[[alert]]`.
    pub name: String,
    /// What is watched.
    pub on: String,
    /// Scheme and host of the receiver.
    pub receiver: String,
    /// `firing`, `well` or `weekly`.
    pub state: &'static str,
    /// When it began, or ended last.
    pub since: Option<Moment>,
    /// What is found while it lasts.
    pub findings: Vec<String>,
    /// When the receiver took a message.
    pub told: Option<Moment>,
    /// Attempts in a row that failed.
    pub failures: u32,
    /// Why the last attempt failed.
    pub error: String,
}

/// Message to a receiver.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct SentMessage {
    /// When it was sent.
    pub at: Moment,
    /// Name of the `[[alert]]`.
    pub name: String,
    /// What was told.
    pub event: String,
    /// Why it was not taken; empty where it was.
    pub error: String,
}

/// Alerts, and the last messages.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct AlertStandings {
    /// In the order of their names.
    pub alerts: Vec<AlertStanding>,
    /// The last messages, the newest first.
    pub attempts: Vec<SentMessage>,
}

impl AlertStanding {
    fn new(state: &AlertState, now_ms: i64) -> Self {
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

impl SentMessage {
    fn new(attempt: &AlertAttempt, now_ms: i64) -> Self {
        Self {
            at: Moment::new(attempt.at_ms, now_ms),
            name: attempt.name.clone(),
            event: attempt.event.clone(),
            error: attempt.error.clone(),
        }
    }
}

/// Lists the alerts and the last messages.
///
/// # Errors
///
/// Fails if the database does.
pub async fn list(caller: &Caller<'_>) -> Result<AlertStandings, Refusal> {
    let (store, now_ms) = (caller.store, caller.now_ms);
    let (alerts, attempts) = (
        store.alerts().list().await?,
        store.alerts().attempts(SHOWN).await?,
    );
    let alerts = alerts.iter().map(|it| AlertStanding::new(it, now_ms));
    let attempts = attempts.iter().map(|it| SentMessage::new(it, now_ms));
    Ok(AlertStandings {
        alerts: alerts.collect(),
        attempts: attempts.collect(),
    })
}
