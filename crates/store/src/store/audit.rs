//! Who changed what: rules, settings, refreshes, logins, tokens.

use std::ops::Range;

use super::{StoreError, columns::columns, database::Transaction, sql};

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

columns! {
    #[derive(Debug)]
    struct EntryRow {
        at_ms: i64,
        actor: String,
        event: String,
        subject: String,
        detail: String,
        total: i64,
    }
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
        let mut transaction = self.store.database.begin(sql::ADD_AUDIT.what).await?;
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
        let rows = self.store.database.rows::<EntryRow>(&sql::AUDIT, &values);
        Ok(rows.await?.into_iter().map(AuditEntry::from).collect())
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
        let rows = self
            .store
            .database
            .rows::<EntryRow>(&sql::TRAFFIC_CHANGES, &values)
            .await?;
        let total = rows.first().map_or(0, |row| row.total);
        Ok(LastChanges {
            total: u64::try_from(total).unwrap_or_default(),
            entries: rows.into_iter().map(AuditEntry::from).collect(),
        })
    }
}

impl From<EntryRow> for AuditEntry {
    fn from(row: EntryRow) -> Self {
        Self {
            at_ms: row.at_ms,
            actor: row.actor,
            event: row.event,
            subject: row.subject,
            detail: row.detail,
        }
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
    let (id,) = transaction.one::<(i64,)>(&sql::ADD_AUDIT, &values).await?;
    let prune = [(id - MAX_ENTRIES).into()];
    transaction.execute(&sql::PRUNE_AUDIT, &prune).await?;
    Ok(())
}

/// Returns the beginning of a text.
fn cut(text: &str) -> &str {
    let end = text.char_indices().nth(MAX_CHARS);
    end.and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}
