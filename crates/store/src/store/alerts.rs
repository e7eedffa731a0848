//! Alerts: how each stands, what its receiver was told, and the last messages.

use super::{StoreError, columns::columns, sql};

/// Messages that are kept; the oldest go first.
const MAX_ATTEMPTS: i64 = 500;

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

columns! {
    #[derive(Debug)]
    struct StateRow {
        name: String,
        watch: String,
        receiver: String,
        is_firing: i64,
        since_ms: i64,
        seen_ms: i64,
        findings: String,
        is_told: i64,
        told_ms: i64,
        failures: i64,
        tried_ms: i64,
        error: String,
    }
}

columns! {
    #[derive(Debug)]
    struct AttemptRow {
        at_ms: i64,
        name: String,
        event: String,
        error: String,
    }
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
        let values = [
            (&state.name).into(),
            (&state.watch).into(),
            (&state.receiver).into(),
            i64::from(state.is_firing).into(),
            state.since_ms.into(),
            state.seen_ms.into(),
            (&state.findings).into(),
            i64::from(state.is_told).into(),
            state.told_ms.into(),
            i64::from(state.failures).into(),
            state.tried_ms.into(),
            (&state.error).into(),
        ];
        let saved = self.store.database.execute(&sql::SAVE_ALERT, &values);
        saved.await.map(|_| ())
    }

    /// Returns the states of all alerts, by name.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn list(self) -> Result<Vec<AlertState>, StoreError> {
        let rows = self.store.database.rows::<StateRow>(&sql::ALERTS, &[]);
        Ok(rows.await?.into_iter().map(AlertState::from).collect())
    }

    /// Forgets an alert; one that is not there is no error.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn remove(self, name: &str) -> Result<(), StoreError> {
        let values = [name.into()];
        let removed = self.store.database.execute(&sql::DELETE_ALERT, &values);
        removed.await.map(|_| ())
    }

    /// Records a message; the last 500 are kept.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn record_attempt(self, attempt: &AlertAttempt) -> Result<(), StoreError> {
        let add = &sql::ADD_ALERT_ATTEMPT;
        let mut transaction = self.store.database.begin(add.what).await?;
        let values = [
            attempt.at_ms.into(),
            (&attempt.name).into(),
            (&attempt.event).into(),
            (&attempt.error).into(),
        ];
        let (id,) = transaction.one::<(i64,)>(add, &values).await?;
        let prune = [(id - MAX_ATTEMPTS).into()];
        let forget = &sql::PRUNE_ALERT_ATTEMPTS;
        transaction.execute(forget, &prune).await?;
        transaction.commit().await
    }

    /// Returns the last messages, newest first.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn attempts(self, limit: u64) -> Result<Vec<AlertAttempt>, StoreError> {
        let values = [limit.into()];
        let rows = self
            .store
            .database
            .rows::<AttemptRow>(&sql::ALERT_ATTEMPTS, &values);
        let attempt = |row: AttemptRow| AlertAttempt {
            at_ms: row.at_ms,
            name: row.name,
            event: row.event,
            error: row.error,
        };
        Ok(rows.await?.into_iter().map(attempt).collect())
    }
}

impl From<StateRow> for AlertState {
    fn from(row: StateRow) -> Self {
        Self {
            name: row.name,
            watch: row.watch,
            receiver: row.receiver,
            is_firing: row.is_firing != 0,
            since_ms: row.since_ms,
            seen_ms: row.seen_ms,
            findings: row.findings,
            is_told: row.is_told != 0,
            told_ms: row.told_ms,
            failures: u32::try_from(row.failures).unwrap_or_default(),
            tried_ms: row.tried_ms,
            error: row.error,
        }
    }
}
