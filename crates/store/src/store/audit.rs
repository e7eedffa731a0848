//! Audit log of administrators' changes: rules, settings, refreshes, logins, tokens.

use std::ops::Range;

use super::{StoreError, transaction::Transaction};

/// The maximum number of stored entries; the oldest are deleted first.
const MAX_ENTRIES: i64 = 10_000;

/// The maximum length of a stored text in characters; names may come from untrusted sources.
const MAX_CHARS: usize = 500;

columns! {
    /// An audit log entry, which records a change.
    #[derive(Clone, Debug, Default, Eq, PartialEq)]
    pub struct AuditEntry {
        /// The time of the change, in milliseconds since the Unix epoch.
        pub at_ms: i64,
        /// The originator of the change: `admin`, `token NAME`, `command line` or `schedule`.
        pub actor: String,
        /// The kind of change, such as `rule-added`.
        pub event: String,
        /// The changed object, such as a robot's ID or a rule's label.
        pub subject: String,
        /// Further details about the change, for display only.
        pub detail: String,
    }
}

statements! {
    ADD_AUDIT = "record a change in the audit log",
        "INSERT INTO audit_log (at_ms, actor, event, subject, detail) VALUES ($1, $2, $3, $4, $5) \
         RETURNING entry_id";
    PRUNE_AUDIT = "remove old audit log entries",
        "DELETE FROM audit_log WHERE entry_id <= $1";
    AUDIT = "read the audit log",
        "SELECT at_ms, actor, event, subject, detail FROM audit_log \
         WHERE at_ms >= $1 AND at_ms < $2 ORDER BY entry_id DESC LIMIT $3";
}

handle! {
    /// Access to the audit log.
    Audit, audit
}

impl Audit<'_> {
    /// Records a change in the audit log. Only the latest 10,000 entries are kept, and texts are
    /// truncated to 500 characters.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn record(self, entry: &AuditEntry) -> Result<(), StoreError> {
        let mut transaction = self.db.begin(ADD_AUDIT.what).await?;
        add_to(&mut transaction, entry).await?;
        transaction.commit().await
    }

    /// Returns the most recent changes in a time range, newest first.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn list(
        self,
        times_ms: Range<i64>,
        limit: u64,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        let values = [times_ms.start.into(), times_ms.end.into(), limit.into()];
        self.db.rows(&AUDIT, &values).await
    }
}

/// Records a change in the audit log, within the transaction that makes the change.
pub(super) async fn add_to(
    transaction: &mut Transaction<'_>,
    entry: &AuditEntry,
) -> Result<(), StoreError> {
    let values = [
        entry.at_ms.into(),
        cut(&entry.actor).into(),
        cut(&entry.event).into(),
        cut(&entry.subject).into(),
        cut(&entry.detail).into(),
    ];
    let (id,) = transaction.one::<(i64,)>(&ADD_AUDIT, &values).await?;
    let prune = [(id - MAX_ENTRIES).into()];
    transaction.execute(&PRUNE_AUDIT, &prune).await?;
    Ok(())
}

/// Truncates a text to the maximum length stored in the audit log.
fn cut(text: &str) -> &str {
    let end = text.char_indices().nth(MAX_CHARS);
    end.and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}
