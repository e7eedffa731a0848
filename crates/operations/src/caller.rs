//! The caller of an operation, and the reasons for a refusal.

use robot_detection_store::store::{AuditEntry, Store, StoreError};
use thiserror::Error;

/// Caller of an operation: a console session, an API token or a command.
#[derive(Clone, Debug)]
pub struct Caller<'a> {
    /// Database.
    pub store: &'a Store,
    /// Milliseconds since 1970.
    pub now_ms: i64,
    /// Name in the log of changes.
    pub actor: String,
    /// Expiry of the caller's token; tokens created with it cannot outlive it.
    pub ends_ms: Option<i64>,
    /// Reports a warning.
    pub warn: fn(&str),
}

/// Reason why an operation was refused.
#[derive(Debug, Error)]
pub enum Refusal {
    /// A field of the request is wrong.
    #[error("{message}")]
    Invalid {
        /// Name of the field.
        field: &'static str,
        /// The error, as a sentence.
        message: String,
    },
    /// The requested object does not exist.
    #[error("{0}")]
    NotFound(&'static str),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Refusal {
    pub(crate) fn invalid(field: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::Invalid { field, message }
    }
}

impl Caller<'_> {
    /// Adds an entry to the change log; a database error is only reported.
    pub async fn record(&self, event: &str, subject: &str, detail: &str) {
        let entry = AuditEntry {
            at_ms: self.now_ms,
            actor: self.actor.clone(),
            event: event.to_owned(),
            subject: subject.to_owned(),
            detail: detail.to_owned(),
        };
        if let Err(error) = self.store.audit().record(&entry).await {
            (self.warn)(&format!(
                "the change {event:?} is not in the log of changes: {error}"
            ));
        }
    }
}
