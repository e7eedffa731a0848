//! Who asks for an operation, and why one was not done.

use robot_detection_store::store::{AuditEntry, Store, StoreError};
use thiserror::Error;

/// Who asks for an operation: a page, a program or a command, with the database that it is about.
#[derive(Clone, Debug)]
pub struct Caller<'a> {
    /// Database.
    pub store: &'a Store,
    /// Milliseconds since 1970.
    pub now_ms: i64,
    /// Name in the log of changes.
    pub actor: String,
    /// When the token of the caller ends: it makes none that lasts longer.
    pub ends_ms: Option<i64>,
    /// Tells a warning.
    pub warn: fn(&str),
}

/// Why an operation was not done.
#[derive(Debug, Error)]
pub enum Refusal {
    /// A field of the request is wrong.
    #[error("{message}")]
    Invalid {
        /// Name of the field.
        field: &'static str,
        /// What is wrong, as a sentence.
        message: String,
    },
    /// What it is about does not exist.
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
    /// Records a change; a database that fails does not stop what was done already.
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
