//! Alerts: how each stands, what its receiver was told, and the last messages.

use super::StoreError;

/// Messages that are kept; the oldest go first.
const MAX_ATTEMPTS: i64 = 500;

columns! {
    /// How an alert stands, and what its receiver was told last.
    #[derive(Clone, Debug, Default, Eq, PartialEq)]
    pub struct AlertState {
        /// Name.
        pub name: String,
        /// What is watched, such as `impostor`.
        pub watch: String,
        /// Scheme and host of the receiver.
        pub receiver: String,
        /// What it is about lasts.
        pub is_firing: bool,
        /// When it last began or ended, in milliseconds since 1970; 0: never.
        pub since_ms: i64,
        /// When it was last seen to last.
        pub seen_ms: i64,
        /// What was found, one sentence a line.
        pub findings: String,
        /// The receiver believes that it lasts.
        pub is_told: bool,
        /// When the receiver took a message; 0: never.
        pub told_ms: i64,
        /// Attempts in a row that failed.
        pub failures: u32,
        /// When the last attempt was.
        pub tried_ms: i64,
        /// Why it failed; empty where it did not.
        pub error: String,
    }
}

columns! {
    /// Message that was sent, or was not taken.
    #[derive(Clone, Debug, Default, Eq, PartialEq)]
    pub struct AlertAttempt {
        /// When, in milliseconds since 1970.
        pub at_ms: i64,
        /// Name of the alert.
        pub name: String,
        /// What the message was, such as `begun`.
        pub event: String,
        /// Why it was not taken; empty where it was.
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
    DELETE_ALERT = "forget an alert",
        "DELETE FROM alerts WHERE name = $1";
    ADD_ALERT_ATTEMPT = "record the sending of an alert",
        "INSERT INTO alert_attempts (at_ms, name, event, error) VALUES ($1, $2, $3, $4) \
         RETURNING attempt_id";
    PRUNE_ALERT_ATTEMPTS = "forget old sendings of alerts",
        "DELETE FROM alert_attempts WHERE attempt_id <= $1";
    ALERT_ATTEMPTS = "read the sendings of alerts",
        "SELECT at_ms, name, event, error FROM alert_attempts ORDER BY attempt_id DESC LIMIT $1";
}

handle! {
    /// Alert states and messages.
    Alerts, alerts
}

impl Alerts<'_> {
    /// Saves the state of an alert.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn save(self, state: &AlertState) -> Result<(), StoreError> {
        let values = values![
            state; name, watch, receiver, is_firing, since_ms, seen_ms, findings, is_told,
            told_ms, failures, tried_ms, error
        ];
        self.db.run(&SAVE_ALERT, &values).await
    }

    /// Returns the states of all alerts, by name.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn list(self) -> Result<Vec<AlertState>, StoreError> {
        self.db.rows(&ALERTS, &[]).await
    }

    /// Forgets an alert; one that is not there is no error.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn remove(self, name: &str) -> Result<(), StoreError> {
        let values = [name.into()];
        self.db.run(&DELETE_ALERT, &values).await
    }

    /// Records a message; the last 500 are kept.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
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

    /// Returns the last messages, newest first.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn attempts(self, limit: u64) -> Result<Vec<AlertAttempt>, StoreError> {
        self.db.rows(&ALERT_ATTEMPTS, &[limit.into()]).await
    }
}
