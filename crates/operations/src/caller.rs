//! The caller of an operation, and the reasons for a refusal.

use robot_detection_store::store::{AuditEntry, Store, StoreError};
use thiserror::Error;

/// The caller of an operation: a console session, an API token or a command.
#[derive(Clone, Debug)]
pub struct Caller<'a> {
    /// Database that the operation reads and changes.
    pub store: &'a Store,
    /// Current time in milliseconds since 1970.
    pub now_ms: i64,
    /// Name of the caller in the audit log.
    pub actor: String,
    /// Expiry of the caller's token; tokens that the caller creates must not expire later.
    pub ends_ms: Option<i64>,
    /// Function that reports a warning to the caller.
    pub warn: fn(&str),
}

/// The reason why an operation was refused.
#[derive(Debug, Error)]
pub enum Refusal {
    /// Fields of the request are invalid.
    #[error("{}", .0.iter().map(Invalid::to_string).collect::<Vec<_>>().join("; "))]
    Invalid(Vec<Invalid>),
    /// The requested object does not exist.
    #[error("{0}")]
    NotFound(String),
    /// The current state does not allow the operation.
    #[error("{message}")]
    Conflict {
        /// Error code, for programs that call the API.
        code: &'static str,
        /// Message that explains why the operation was refused.
        message: String,
    },
    /// A database operation failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// An invalid field of a request.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{field}: {message}")]
pub struct Invalid {
    /// Name of the invalid field.
    pub field: &'static str,
    /// Message that explains why the field is invalid.
    pub message: String,
}

impl Invalid {
    /// Creates the error for an invalid field.
    pub fn new(field: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { field, message }
    }

    /// Returns the error message for a field; empty if the field is valid.
    pub fn message_for<'w>(field: &str, all: &'w [Self]) -> &'w str {
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

    /// Creates the refusal for an operation that the current state does not allow.
    pub fn conflict(code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::Conflict { code, message }
    }
}

impl Caller<'_> {
    /// Adds an entry to the audit log; if the database fails, the error is only logged.
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
                "could not add {event:?} to the audit log: {error}"
            ));
        }
    }
}
