//! Who changed what: rules, settings, refreshes, logins, tokens.

use std::ops::Range;

use super::{StoreError, transaction::Transaction};

/// Entries that are kept; the oldest go first.
const MAX_ENTRIES: i64 = 10_000;

/// Characters of a text that are kept: names come from people and from networks.
const MAX_CHARS: usize = 500;

/// Last changes of some time.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct LastChanges {
    /// The last of them, newest first.
    pub entries: Vec<AuditEntry>,
    /// How many there are of that time.
    pub total: u64,
}

columns! {
    /// Change that somebody made.
    #[derive(Clone, Debug, Default, Eq, PartialEq)]
    pub struct AuditEntry {
        /// Time, in milliseconds since 1970.
        pub at_ms: i64,
        /// Who made it: `admin`, `token NAME`, `command line` or `schedule`.
        pub actor: String,
        /// Word for what was done, such as `rule-added`.
        pub event: String,
        /// What it was done to, such as a robot's id or the label of a rule.
        pub subject: String,
        /// What else is known of it, for people to read.
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
    ADD_AUDIT = "record a change",
        "INSERT INTO audit_log (at_ms, actor, event, subject, detail) VALUES ($1, $2, $3, $4, $5) \
         RETURNING entry_id";
    PRUNE_AUDIT = "forget old changes",
        "DELETE FROM audit_log WHERE entry_id <= $1";
    AUDIT = "read the changes",
        concat!("SELECT ", audit_columns!(), " FROM audit_log \
         WHERE at_ms >= $1 AND at_ms < $2 ORDER BY entry_id DESC LIMIT $3");
    // Logins and tokens change nothing of what visitors get.
    TRAFFIC_CHANGES = "read the changes that traffic may show",
        concat!("SELECT ", audit_columns!(), " FROM audit_log \
         WHERE at_ms >= $1 AND at_ms < $2 AND event IN ('rule-added', 'rule-removed', \
         'rule-restored', 'paused', 'resumed', 'reloaded', 'refresh-started', 'refresh-accepted', \
         'robot-added', 'robot-removed') ORDER BY at_ms DESC, entry_id DESC LIMIT $3");
}

handle! {
    /// The log of changes.
    Audit, audit
}

impl Audit<'_> {
    /// Records a change; the last 10,000 are kept, and of each text 500 characters.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn record(self, entry: &AuditEntry) -> Result<(), StoreError> {
        let mut transaction = self.db.begin(ADD_AUDIT.what).await?;
        add_to(&mut transaction, entry).await?;
        transaction.commit().await
    }

    /// Returns the last changes in some time, newest first.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn list(
        self,
        times_ms: Range<i64>,
        limit: u64,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        let values = [times_ms.start.into(), times_ms.end.into(), limit.into()];
        self.db.rows(&AUDIT, &values).await
    }

    /// Returns the last changes that traffic may show: of rules, pauses, configuration and robots.
    ///
    /// Logins, passwords, sessions and tokens are none, nor is a reload that failed.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
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

/// Records a change in the transaction that makes it.
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

/// Returns the beginning of a text.
fn cut(text: &str) -> &str {
    let end = text.char_indices().nth(MAX_CHARS);
    end.and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}
