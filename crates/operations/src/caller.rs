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
    /// Fields of the request are wrong.
    #[error("{}", .0.iter().map(Invalid::to_string).collect::<Vec<_>>().join("; "))]
    Invalid(Vec<Invalid>),
    /// The requested object does not exist.
    #[error("{0}")]
    NotFound(String),
    /// The present state does not allow it.
    #[error("{message}")]
    Conflict {
        /// Word for programs.
        code: &'static str,
        /// The error, as a sentence.
        message: String,
    },
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Wrong field of a request.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{field}: {message}")]
pub struct Invalid {
    /// Name of the field.
    pub field: &'static str,
    /// The error, as a sentence.
    pub message: String,
}

impl Invalid {
    /// Creates the error of a field.
    pub fn new(field: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { field, message }
    }

    /// Returns the error of a field; empty if there is none.
    pub fn of<'w>(field: &str, all: &'w [Self]) -> &'w str {
        let wrong = all.iter().find(|wrong| wrong.field == field);
        wrong.map_or("", |wrong| &wrong.message)
    }
}

impl From<Invalid> for Refusal {
    fn from(wrong: Invalid) -> Self {
        Self::Invalid(vec![wrong])
    }
}

impl Refusal {
    pub(crate) fn invalid(field: &'static str, message: impl Into<String>) -> Self {
        Invalid::new(field, message).into()
    }

    pub(crate) fn not_found(what: impl Into<String>) -> Self {
        Self::NotFound(what.into())
    }

    /// Creates the refusal of what the present state does not allow.
    pub fn conflict(code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::Conflict { code, message }
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
