//! States of alerts, and the most recent notifications.

use super::StoreError;

/// The maximum number of stored notifications; the oldest are deleted first.
const MAX_ATTEMPTS: i64 = 500;

columns! {
    /// The state of an alert and of the notifications to its receiver.
    #[derive(Clone, Debug, Default, Eq, PartialEq)]
    pub struct AlertState {
        /// The name of the alert.
        pub name: String,
        /// The condition that the alert watches, such as `impostor`.
        pub watch: String,
        /// The scheme and host of the receiver's URL.
        pub receiver: String,
        /// Whether the alert is firing, that is, whether the watched condition is currently met.
        pub is_firing: bool,
        /// The time when the alert last started or stopped firing, in milliseconds since the Unix
        /// epoch; 0 means never.
        pub since_ms: i64,
        /// The time of the last check, in milliseconds since the Unix epoch.
        pub seen_ms: i64,
        /// The findings of the last check, one sentence per line.
        pub findings: String,
        /// Whether the receiver has been notified that the alert is firing.
        pub is_told: bool,
        /// The time of the last delivered notification; 0 means never.
        pub told_ms: i64,
        /// The number of consecutive failed delivery attempts.
        pub failures: u32,
        /// The time of the last delivery attempt.
        pub tried_ms: i64,
        /// The error from the last delivery attempt; empty if the attempt succeeded.
        pub error: String,
    }
}

columns! {
    /// An attempt to deliver an alert notification.
    #[derive(Clone, Debug, Default, Eq, PartialEq)]
    pub struct AlertAttempt {
        /// The time of the attempt, in milliseconds since the Unix epoch.
        pub at_ms: i64,
        /// The name of the alert.
        pub name: String,
        /// The event that the notification reports, such as `begun`.
        pub event: String,
        /// The delivery error; empty if the notification was delivered.
        pub error: String,
    }
}

statements! {
    SAVE_ALERT = "save the state of an alert",
        "INSERT INTO alerts (name, watch, receiver, is_firing, since_ms, seen_ms, findings, \
         is_told, told_ms, failures, tried_ms, error) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
         ON CONFLICT (name) DO UPDATE SET watch = excluded.watch, receiver = excluded.receiver, \
         is_firing = excluded.is_firing, since_ms = excluded.since_ms, \
         seen_ms = excluded.seen_ms, findings = excluded.findings, is_told = excluded.is_told, \
         told_ms = excluded.told_ms, failures = excluded.failures, \
         tried_ms = excluded.tried_ms, error = excluded.error";
    ALERTS = "read the alerts",
        "SELECT name, watch, receiver, is_firing, since_ms, seen_ms, findings, is_told, told_ms, \
         failures, tried_ms, error FROM alerts ORDER BY name";
    DELETE_ALERT = "remove an alert",
        "DELETE FROM alerts WHERE name = $1";
    ADD_ALERT_ATTEMPT = "record an alert notification",
        "INSERT INTO alert_attempts (at_ms, name, event, error) VALUES ($1, $2, $3, $4) \
         RETURNING attempt_id";
    PRUNE_ALERT_ATTEMPTS = "remove old alert notifications",
        "DELETE FROM alert_attempts WHERE attempt_id <= $1";
    ALERT_ATTEMPTS = "read the alert notifications",
        "SELECT at_ms, name, event, error FROM alert_attempts ORDER BY attempt_id DESC LIMIT $1";
}

handle! {
    /// Access to alert states and notifications.
    Alerts, alerts
}

impl Alerts<'_> {
    /// Saves the state of an alert.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn save(self, state: &AlertState) -> Result<(), StoreError> {
        let values = values![
            state; name, watch, receiver, is_firing, since_ms, seen_ms, findings, is_told,
            told_ms, failures, tried_ms, error
        ];
        self.db.run(&SAVE_ALERT, &values).await
    }

    /// Returns the states of all alerts, ordered by name.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn list(self) -> Result<Vec<AlertState>, StoreError> {
        self.db.rows(&ALERTS, &[]).await
    }

    /// Removes an alert; does nothing if the alert does not exist.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn remove(self, name: &str) -> Result<(), StoreError> {
        let values = [name.into()];
        self.db.run(&DELETE_ALERT, &values).await
    }

    /// Records a delivery attempt. Only the last 500 attempts are stored.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn record_attempt(self, attempt: &AlertAttempt) -> Result<(), StoreError> {
        let add = &ADD_ALERT_ATTEMPT;
        let mut transaction = self.db.begin(add.what).await?;
        let values = values![attempt; at_ms, name, event, error];
        let (id,) = transaction.one::<(i64,)>(add, &values).await?;
        let prune = [(id - MAX_ATTEMPTS).into()];
        let forget = &PRUNE_ALERT_ATTEMPTS;
        transaction.execute(forget, &prune).await?;
        transaction.commit().await
    }

    /// Returns the most recent delivery attempts, newest first.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn attempts(self, limit: u64) -> Result<Vec<AlertAttempt>, StoreError> {
        self.db.rows(&ALERT_ATTEMPTS, &[limit.into()]).await
    }
}
