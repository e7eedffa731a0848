//! History of registry refreshes, and the state of each source.

use robot_detection_layer::registry::Source;

use super::{
    Lease, StoreError, columns::unreadable, row::to_json, statement::Value,
    transaction::Transaction,
};

/// The maximum number of stored refreshes per source.
const KEPT: i64 = 200;

robot_detection_layer::words! {
    /// The outcome of a refresh.
    pub enum RefreshOutcome {
        /// The source was read and its robots were replaced.
        Replaced = "replaced",
        /// The content of the source has not changed.
        NotModified = "not-modified",
        /// The document looks damaged and is held for review; the previous robots remain in use.
        Held = "held",
        /// The source could not be read or was rejected; the previous robots remain in use.
        Failed = "failed",
    }
}

columns! {
    /// A row of the refresh history.
    #[derive(Clone, Debug, Eq, PartialEq)]
    pub struct RefreshRecord {
        /// The ID of the row; 0 until the record has been stored.
        pub refresh_id: i64,
        /// The source that was refreshed.
        pub source: Source,
        /// The URL from which the source was read.
        pub url: String,
        /// The cause of the refresh: `schedule`, `start`, `command` or `admin`.
        pub trigger: String,
        /// The start time of the refresh.
        pub started_ms: i64,
        /// The end time of the refresh.
        pub finished_ms: i64,
        /// The outcome of the refresh.
        pub outcome: RefreshOutcome,
        /// The reason why the refresh failed or the document is held; empty otherwise.
        pub error: String,
        /// The number of records in the source.
        pub records: u64,
        /// The number of robots that were added.
        pub added: u64,
        /// The number of robots that were changed.
        pub changed: u64,
        /// The number of robots that were removed.
        pub removed: u64,
        /// The number of records that could not be converted into robots.
        pub skipped: u64,
        /// The number of robots that matched a browser in the self-test.
        pub quarantined: u64,
        /// The number of robots without a pattern.
        pub unusable: u64,
        /// One line per skipped record; the caller limits the number of lines.
        pub problems: Vec<String>,
        /// The SHA-256 hash of the document that is held for review, in hexadecimal.
        pub held_sha256: Option<String>,
    }
}

columns! {
    /// The state of a source between refreshes.
    #[derive(Clone, Debug, Default, Eq, PartialEq)]
    pub struct SourceState {
        /// The URL from which the source was read.
        pub url: String,
        /// The `ETag` of the last response from the source.
        pub etag: Option<String>,
        /// The `Last-Modified` value of the last response, unparsed.
        pub last_modified: Option<String>,
        /// The SHA-256 hash of the last document, in hexadecimal.
        pub content_sha256: Option<String>,
        /// The end time of the last successful refresh, including refreshes without new content.
        pub succeeded_ms: Option<i64>,
    }
}

macro_rules! refresh_columns {
    () => {
        "refresh_id, source, url, triggered_by AS \"trigger\", started_ms, finished_ms, outcome, error, records, \
         added, changed, removed, skipped, quarantined, unusable, problems, held_sha256"
    };
}

statements! {
    SOURCE_STATE = "read the state of a source",
        "SELECT url, etag, last_modified, content_sha256, succeeded_ms FROM sources \
         WHERE source = $1";
    SAVE_SOURCE_STATE = "save the state of a source",
        "INSERT INTO sources (url, etag, last_modified, content_sha256, succeeded_ms, source) \
         VALUES ($1, $2, $3, $4, $5, $6) \
         ON CONFLICT (source) DO UPDATE SET url = excluded.url, etag = excluded.etag, \
         last_modified = excluded.last_modified, content_sha256 = excluded.content_sha256, \
         succeeded_ms = excluded.succeeded_ms";
    ADD_REFRESH = "record a refresh",
        "INSERT INTO refreshes (source, url, triggered_by, started_ms, finished_ms, outcome, \
         error, records, added, changed, removed, skipped, quarantined, unusable, held_sha256, \
         problems) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) \
         RETURNING refresh_id";
    PRUNE_REFRESHES = "remove old refreshes",
        "DELETE FROM refreshes WHERE source = $1 AND refresh_id NOT IN \
         (SELECT refresh_id FROM refreshes WHERE source = $1 ORDER BY refresh_id DESC LIMIT $2)";
    REFRESHES = "read the refreshes",
        concat!("SELECT ", refresh_columns!(), " FROM refreshes ORDER BY refresh_id DESC LIMIT $1");
    LAST_REFRESH = "read the last refresh",
        concat!("SELECT ", refresh_columns!(),
            " FROM refreshes WHERE source = $1 ORDER BY refresh_id DESC LIMIT 1");
}

handle! {
    /// Access to the refresh history and the state of each source.
    Refreshes, refreshes
}

impl Refreshes<'_> {
    /// Records a refresh and returns its ID. Only the last 200 refreshes per source are stored.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn record(self, record: &RefreshRecord) -> Result<i64, StoreError> {
        let problems = to_json(&record.problems);
        let values = values![
            record; source, url, trigger, started_ms, finished_ms, outcome, error, records, added,
            changed, removed, skipped, quarantined, unusable, held_sha256; &problems
        ];
        let mut transaction = self.db.begin(ADD_REFRESH.what).await?;
        let (id,) = transaction.one::<(i64,)>(&ADD_REFRESH, &values).await?;
        let source = record.source.as_str();
        let prune = [source.into(), KEPT.into()];
        transaction.execute(&PRUNE_REFRESHES, &prune).await?;
        transaction.commit().await?;
        Ok(id)
    }

    /// Returns the most recent refreshes of all sources, newest first.
    ///
    /// # Errors
    ///
    /// Returns `Corrupt` if a row cannot be read, or an error if the query fails.
    pub async fn list(self, limit: u64) -> Result<Vec<RefreshRecord>, StoreError> {
        self.db.rows(&REFRESHES, &[limit.into()]).await
    }

    /// Returns the most recent refresh of a source, regardless of its outcome.
    ///
    /// # Errors
    ///
    /// Returns an error for the same reasons as [`list`](Self::list).
    pub async fn last(self, source: &Source) -> Result<Option<RefreshRecord>, StoreError> {
        let values = [source.as_str().into()];
        self.db.first(&LAST_REFRESH, &values).await
    }

    /// Saves the state of a source without changing the source's robots.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn save_source_state(
        self,
        source: &Source,
        state: &SourceState,
    ) -> Result<(), StoreError> {
        self.touch_source_as(None, source, state).await
    }

    /// Saves the state of a source, provided that `lease` (if given) is still held.
    pub(super) async fn touch_source_as(
        self,
        lease: Option<&Lease>,
        source: &Source,
        state: &SourceState,
    ) -> Result<(), StoreError> {
        let what = SAVE_SOURCE_STATE.what;
        let mut transaction = self.db.begin(what).await?;
        if let Some(lease) = lease {
            lease.guard(&mut transaction).await?;
        }
        save_source(&mut transaction, source, state).await?;
        transaction.commit().await
    }

    /// Returns the state of a source, or `None` if the source was never refreshed.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn source_state(self, source: &Source) -> Result<Option<SourceState>, StoreError> {
        let values = [source.as_str().into()];
        self.db.first(&SOURCE_STATE, &values).await
    }
}

impl Lease {
    /// Saves the state of a source, like [`Refreshes::save_source_state`], but fails unless the lease is
    /// still held.
    ///
    /// # Errors
    ///
    /// Returns `LeaseLost` if another process has acquired the lease, or an error if the query
    /// fails.
    pub async fn save_source_state(
        &self,
        source: &Source,
        state: &SourceState,
    ) -> Result<(), StoreError> {
        let refreshes = Refreshes {
            db: self.database(),
        };
        refreshes.touch_source_as(Some(self), source, state).await
    }
}

// The error names the row with the unknown outcome, so that it can be found.
column!(RefreshOutcome, row, name, {
    let word: String = row.try_get(name)?;
    let id: i64 = row.try_get("refresh_id")?;
    let reason = || format!("refresh {id} has the unknown outcome {word:?}").into();
    RefreshOutcome::from_word(&word).ok_or_else(|| unreadable(name, reason()))
});

impl<'a> From<&'a RefreshOutcome> for Value<'a> {
    fn from(outcome: &'a RefreshOutcome) -> Self {
        outcome.as_str().into()
    }
}

impl<'a> From<&'a Source> for Value<'a> {
    fn from(source: &'a Source) -> Self {
        source.as_str().into()
    }
}

column!(Source, String, |word| Ok(word.parse()?));

column!(Vec<String>, String, |json| Ok(serde_json::from_str(&json)?));

pub(super) async fn save_source(
    transaction: &mut Transaction<'_>,
    source: &Source,
    state: &SourceState,
) -> Result<(), StoreError> {
    let values = values![state; url, etag, last_modified, content_sha256, succeeded_ms; source];
    let save = &SAVE_SOURCE_STATE;
    transaction.execute(save, &values).await.map(|_| ())
}
