//! Checks that alerts could be sent, without sending any.

use crate::app;

use super::{check::Check, run::Subject};

pub(super) async fn alerts(subject: &Subject<'_>) -> Vec<Check> {
    // What is wrong with them the check of the configuration reports.
    let alerts = app::alerts(subject.loaded).unwrap_or_default();
    let states = match &subject.store {
        Some(store) => store.alerts().await.unwrap_or_default(),
        None => Vec::new(),
    };
    let check = |alert: &crate::alerts::Alert| {
        let (name, receiver) = (&alert.name, alert.webhook.shown());
        let failed = states.iter().find(|state| state.name == *name);
        match failed.filter(|state| state.failures > 0) {
            Some(state) => Check::warning(
                "alert",
                format!(
                    "{name}: {receiver} took none of the last {} messages: {}",
                    state.failures, state.error
                ),
            ),
            None => {
                let text = format!("{name}: to {receiver}; `alerts test` sends a message");
                Check::new("alert", Ok(text))
            }
        }
    };
    alerts.iter().map(check).collect()
}
