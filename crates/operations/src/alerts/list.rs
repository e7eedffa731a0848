//! The current state of each alert, and the most recent messages.

use robot_detection_store::store::{AlertAttempt, AlertState};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Caller, Moment, Refusal};

/// Maximum number of messages in the list.
const SHOWN: u64 = 50;

/// The current state of an alert.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Alert")]
pub struct AlertStatus {
    /// Name of the alert, as in its `[[alert]]` table.
    pub name: String,
    /// Condition that raises the alert.
    pub on: String,
    /// Scheme and host of the alert's receiver.
    pub receiver: String,
    /// State of the alert: `firing` or `ok`.
    pub state: &'static str,
    /// Time at which the current state began.
    pub since: Option<Moment>,
    /// Findings of the alert; empty unless the alert is firing.
    pub findings: Vec<String>,
    /// Time of the most recent message that the receiver accepted.
    #[serde(rename = "notified")]
    pub told: Option<Moment>,
    /// Number of consecutive failed deliveries.
    pub failures: u32,
    /// Error of the most recent failed delivery.
    pub error: String,
}

/// A message sent to the receiver of an alert.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct SentMessage {
    /// Time of the delivery attempt.
    pub at: Moment,
    /// Name of the alert, as in its `[[alert]]` table.
    pub name: String,
    /// Event that the message reports.
    pub event: String,
    /// Delivery error; empty if the message was delivered.
    pub error: String,
}

/// All alerts and the most recent messages.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "AlertList")]
pub struct AlertStatuses {
    /// Alerts, sorted by name.
    pub alerts: Vec<AlertStatus>,
    /// Messages that were sent, newest first.
    pub attempts: Vec<SentMessage>,
}

impl AlertStatus {
    fn new(state: &AlertState, now_ms: i64) -> Self {
        let moment = |at_ms: i64| (at_ms > 0).then(|| Moment::new(at_ms, now_ms));
        Self {
            name: state.name.clone(),
            on: state.watch.clone(),
            receiver: state.receiver.clone(),
            state: if state.is_firing { "firing" } else { "ok" },
            since: moment(state.since_ms),
            findings: if state.is_firing {
                state.findings.lines().map(str::to_owned).collect()
            } else {
                Vec::new()
            },
            told: moment(state.told_ms),
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

/// Lists the alerts and the most recent messages.
///
/// # Errors
///
/// Returns an error if the database operation fails.
pub async fn list(caller: &Caller<'_>) -> Result<AlertStatuses, Refusal> {
    let (store, now_ms) = (caller.store, caller.now_ms);
    let (alerts, attempts) = (
        store.alerts().list().await?,
        store.alerts().attempts(SHOWN).await?,
    );
    let alerts = alerts.iter().map(|it| AlertStatus::new(it, now_ms));
    let attempts = attempts.iter().map(|it| SentMessage::new(it, now_ms));
    Ok(AlertStatuses {
        alerts: alerts.collect(),
        attempts: attempts.collect(),
    })
}
