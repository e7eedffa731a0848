//! The history of refreshes.

use super::{
    StoreError, StoreErrorKind, columns::columns, error::DatabaseLocation, robots::from_sql,
    row::to_json, sql,
};
use robot_detection_layer::registry::Source;

/// Refreshes of one source that the history keeps.
const KEPT: i64 = 200;

/// Outcome of a refresh.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RefreshOutcome {
    /// The source was read and its robots replaced.
    Replaced,
    /// The source has the same content as before.
    NotModified,
    /// The document looks damaged and is held back until a person accepts it; the old robots stay.
    Held,
    /// The source could not be read, or was refused; the old robots stay.
    Failed,
}

/// Row of the refresh history.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RefreshRecord {
    /// Number of the row; 0 until stored.
    pub refresh_id: i64,
    /// Source that was refreshed.
    pub source: Source,
    /// URL that it was read from.
    pub url: String,
    /// Trigger: `schedule`, `start`, `command` or `admin`.
    pub trigger: String,
    /// When it began.
    pub started_ms: i64,
    /// When it ended.
    pub finished_ms: i64,
    /// Outcome.
    pub outcome: RefreshOutcome,
    /// Why it failed, or is held back; empty otherwise.
    pub error: String,
    /// Records in the source.
    pub records: u64,
    /// Robots that are new.
    pub added: u64,
    /// Robots of which the source says something else.
    pub changed: u64,
    /// Robots that the source has no more.
    pub removed: u64,
    /// Records that made no robot.
    pub skipped: u64,
    /// Robots that hit a browser in the self-test.
    pub quarantined: u64,
    /// Robots without a pattern.
    pub unusable: u64,
    /// One line for each skipped record; bounded by who records.
    pub problems: Vec<String>,
    /// SHA-256 of the document that is held back, in hexadecimal.
    pub held_sha256: Option<String>,
}

columns! {
    struct RefreshRow {
        refresh_id: i64,
        source: String,
        url: String,
        triggered_by: String,
        started_ms: i64,
        finished_ms: i64,
        outcome: String,
        error: String,
        records: i64,
        added: i64,
        changed: i64,
        removed: i64,
        skipped: i64,
        quarantined: i64,
        unusable: i64,
        problems: String,
        held_sha256: Option<String>,
    }
}

handle! {
    /// Refreshes of the registry, and the state of its sources.
    Refreshes, refreshes
}

impl Refreshes<'_> {
    /// Records a refresh and returns its number; the last 200 of each source are kept.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn record(self, record: &RefreshRecord) -> Result<i64, StoreError> {
        let problems = to_json(&record.problems);
        let values = [
            record.source.as_str().into(),
            (&record.url).into(),
            (&record.trigger).into(),
            record.started_ms.into(),
            record.finished_ms.into(),
            record.outcome.as_str().into(),
            (&record.error).into(),
            record.records.into(),
            record.added.into(),
            record.changed.into(),
            record.removed.into(),
            record.skipped.into(),
            record.quarantined.into(),
            record.unusable.into(),
            (&problems).into(),
            (&record.held_sha256).into(),
        ];
        let mut transaction = self.store.database.begin(sql::ADD_REFRESH.what).await?;
        let (id,) = transaction
            .one::<(i64,)>(&sql::ADD_REFRESH, &values)
            .await?;
        let source = record.source.as_str();
        let prune = [source.into(), KEPT.into()];
        transaction.execute(&sql::PRUNE_REFRESHES, &prune).await?;
        transaction.commit().await?;
        Ok(id)
    }

    /// Returns the last refreshes of all sources, newest first.
    ///
    /// # Errors
    ///
    /// `Corrupt` when a row cannot be read; else as the database fails.
    pub async fn list(self, limit: u64) -> Result<Vec<RefreshRecord>, StoreError> {
        let rows = self
            .store
            .database
            .rows(&sql::REFRESHES, &[limit.into()])
            .await?;
        rows.into_iter()
            .map(|row: RefreshRow| row.into_record(&self.store.database.place))
            .collect()
    }

    /// Returns the last refresh of a source, whatever its outcome.
    ///
    /// # Errors
    ///
    /// Fails as [`list`](Self::list) does.
    pub async fn last(self, source: &Source) -> Result<Option<RefreshRecord>, StoreError> {
        let values = [source.as_str().into()];
        let row = self
            .store
            .database
            .first::<RefreshRow>(&sql::LAST_REFRESH, &values);
        row.await?
            .map(|row| row.into_record(&self.store.database.place))
            .transpose()
    }
}

impl RefreshOutcome {
    /// Returns the word that the database, JSON and the pages use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Replaced => "replaced",
            Self::NotModified => "not-modified",
            Self::Held => "held",
            Self::Failed => "failed",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        [Self::Replaced, Self::NotModified, Self::Held, Self::Failed]
            .into_iter()
            .find(|outcome| outcome.as_str() == word)
    }
}

impl RefreshRow {
    fn into_record(self, place: &DatabaseLocation) -> Result<RefreshRecord, StoreError> {
        let corrupt = |what: &str| {
            let id = self.refresh_id;
            StoreError::new(
                StoreErrorKind::Corrupt,
                format!("cannot read refresh {id} in {place}: bad {what}; remove that row"),
            )
        };
        let source = self.source.parse().map_err(|_| corrupt("source"))?;
        let outcome = RefreshOutcome::from_word(&self.outcome).ok_or_else(|| corrupt("outcome"))?;
        let problems =
            serde_json::from_str(&self.problems).map_err(|_| corrupt("list of problems"))?;
        Ok(RefreshRecord {
            refresh_id: self.refresh_id,
            source,
            url: self.url,
            trigger: self.triggered_by,
            started_ms: self.started_ms,
            finished_ms: self.finished_ms,
            outcome,
            error: self.error,
            records: from_sql(self.records),
            added: from_sql(self.added),
            changed: from_sql(self.changed),
            removed: from_sql(self.removed),
            skipped: from_sql(self.skipped),
            quarantined: from_sql(self.quarantined),
            unusable: from_sql(self.unusable),
            problems,
            held_sha256: self.held_sha256,
        })
    }
}
