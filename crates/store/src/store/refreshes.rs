//! The history of refreshes.

use robot_detection_layer::registry::Source;

use super::{
    Lease, StoreError, columns::unreadable, row::to_json, statement::Value,
    transaction::Transaction,
};

/// Refreshes of one source that the history keeps.
const KEPT: i64 = 200;

robot_detection_layer::words! {
    /// Outcome of a refresh.
    pub enum RefreshOutcome {
        /// The source was read and its robots replaced.
        Replaced = "replaced",
        /// The source has the same content as before.
        NotModified = "not-modified",
        /// The document looks damaged and is held back until a person accepts it; the old robots stay.
        Held = "held",
        /// The source could not be read, or was refused; the old robots stay.
        Failed = "failed",
    }
}

columns! {
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
}

columns! {
    /// State of a source between refreshes.
    #[derive(Clone, Debug, Default, Eq, PartialEq)]
    pub struct SourceState {
        /// URL that it was read from.
        pub url: String,
        /// `ETag` of the last answer.
        pub etag: Option<String>,
        /// `Last-Modified` of the last answer, as the server wrote it.
        pub last_modified: Option<String>,
        /// SHA-256 of the last content, in hexadecimal.
        pub content_sha256: Option<String>,
        /// End of the last refresh that succeeded, a 304 or the same content included.
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
    SOURCE_STATE = "read what is known of a source",
        "SELECT url, etag, last_modified, content_sha256, succeeded_ms FROM sources \
         WHERE source = $1";
    SAVE_SOURCE_STATE = "save what is known of a source",
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

    /// Returns the last refreshes of all sources, newest first.
    ///
    /// # Errors
    ///
    /// `Corrupt` when a row cannot be read; else as the database fails.
    pub async fn list(self, limit: u64) -> Result<Vec<RefreshRecord>, StoreError> {
        self.db.rows(&REFRESHES, &[limit.into()]).await
    }

    /// Returns the last refresh of a source, whatever its outcome.
    ///
    /// # Errors
    ///
    /// Fails as [`list`](Self::list) does.
    pub async fn last(self, source: &Source) -> Result<Option<RefreshRecord>, StoreError> {
        let values = [source.as_str().into()];
        self.db.first(&LAST_REFRESH, &values).await
    }

    /// Saves what is remembered of a source whose robots stay as they are.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn touch_source(
        self,
        source: &Source,
        state: &SourceState,
    ) -> Result<(), StoreError> {
        self.touch_source_as(None, source, state).await
    }

    /// Saves it only while the lease is held, if there is one.
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

    /// Returns what is remembered of a source; nothing if it was never refreshed.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn source_state(self, source: &Source) -> Result<Option<SourceState>, StoreError> {
        let values = [source.as_str().into()];
        self.db.first(&SOURCE_STATE, &values).await
    }
}

impl Lease {
    /// Saves what [`Refreshes::touch_source`](super::Refreshes::touch_source) does, as the lease's holder only.
    ///
    /// # Errors
    ///
    /// `LeaseLost` when somebody else has taken the lease; else as there.
    pub async fn touch_source(
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

// Of a word that is none the row is named, so that it can be looked for.
column!(RefreshOutcome, row, name, {
    let word: String = row.try_get(name)?;
    let id: i64 = row.try_get("refresh_id")?;
    let reason = || format!("refresh {id} has the outcome {word:?}").into();
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
