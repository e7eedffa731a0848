//! State of sources between refreshes.

use super::refreshes::Refreshes;
use super::{Lease, StoreError, database::Transaction, sql};
use robot_detection_layer::registry::Source;

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

/// Columns in the order of [`SourceState`].
type StateRow = (
    String,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<i64>,
);

impl Refreshes<'_> {
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
        let what = sql::SAVE_SOURCE_STATE.what;
        let mut transaction = self.store.database.begin(what).await?;
        if let Some(lease) = lease {
            lease.guard(&mut transaction).await?;
        }
        save(&mut transaction, source, state).await?;
        transaction.commit().await
    }

    /// Returns what is remembered of a source; nothing if it was never refreshed.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn source_state(self, source: &Source) -> Result<Option<SourceState>, StoreError> {
        let values = [source.as_str().into()];
        let row = self
            .store
            .database
            .first::<StateRow>(&sql::SOURCE_STATE, &values);
        let state = |(url, etag, last_modified, content_sha256, succeeded_ms)| SourceState {
            url,
            etag,
            last_modified,
            content_sha256,
            succeeded_ms,
        };
        Ok(row.await?.map(state))
    }
}

pub(super) async fn save(
    transaction: &mut Transaction<'_>,
    source: &Source,
    state: &SourceState,
) -> Result<(), StoreError> {
    let values = [
        source.as_str().into(),
        (&state.url).into(),
        (&state.etag).into(),
        (&state.last_modified).into(),
        (&state.content_sha256).into(),
        state.succeeded_ms.into(),
    ];
    let save = &sql::SAVE_SOURCE_STATE;
    transaction.execute(save, &values).await.map(|_| ())
}
