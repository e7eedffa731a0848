//! Audit log of administrators' changes: rules, settings, refreshes, logins, tokens.

use std::ops::Range;

use super::{StoreError, transaction::Transaction};

/// The maximum number of stored entries; the oldest are deleted first.
const MAX_ENTRIES: i64 = 10_000;

/// The maximum length of a stored text in characters; names may come from untrusted sources.
const MAX_CHARS: usize = 500;

/// The most recent audit log entries in a time range.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct LastChanges {
    /// The audit log entries, newest first; there may be fewer than `total`.
    pub entries: Vec<AuditEntry>,
    /// The total number of entries in the time range.
    pub total: u64,
}

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

columns! {
    #[derive(Debug)]
    struct CountedEntry {
        entry: AuditEntry,
        total: u64,
    }
}

macro_rules! audit_columns {
    () => {
        "at_ms, actor, event, subject, detail, COUNT(*) OVER () AS total"
    };
}

statements! {
    ADD_AUDIT = "record a change in the audit log",
        "INSERT INTO audit_log (at_ms, actor, event, subject, detail) VALUES ($1, $2, $3, $4, $5) \
         RETURNING entry_id";
    PRUNE_AUDIT = "remove old audit log entries",
        "DELETE FROM audit_log WHERE entry_id <= $1";
    AUDIT = "read the audit log",
        concat!("SELECT ", audit_columns!(), " FROM audit_log \
         WHERE at_ms >= $1 AND at_ms < $2 ORDER BY entry_id DESC LIMIT $3");
    // Logins and tokens do not affect responses to visitors.
    TRAFFIC_CHANGES = "read the audit log entries that may affect traffic",
        concat!("SELECT ", audit_columns!(), " FROM audit_log \
         WHERE at_ms >= $1 AND at_ms < $2 AND event IN ('rule-added', 'rule-removed', \
         'rule-restored', 'paused', 'resumed', 'reloaded', 'refresh-started', 'refresh-accepted', \
         'robot-added', 'robot-removed') ORDER BY at_ms DESC, entry_id DESC LIMIT $3");
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

    /// Returns the most recent changes that may affect traffic: rules, pauses, configuration and
    /// robots.
    ///
    /// Logins, passwords, sessions, tokens and failed reloads are omitted.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn traffic_changes(
        self,
        times_ms: Range<i64>,
        limit: u64,
    ) -> Result<LastChanges, StoreError> {
        let values = [times_ms.start.into(), times_ms.end.into(), limit.into()];
        let rows: Vec<CountedEntry> = self.db.rows(&TRAFFIC_CHANGES, &values).await?;
        Ok(LastChanges {
            total: rows.first().map_or(0, |row| row.total),
            entries: rows.into_iter().map(|row| row.entry).collect(),
        })
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
