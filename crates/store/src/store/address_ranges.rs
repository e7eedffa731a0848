//! Lists of address ranges that operators publish: the last good copies.

use super::{StoreError, columns::columns, robots::from_sql, sql};

/// Last good copy of a list of address ranges, and how the last attempts went.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct StoredRanges {
    /// URL of the list, with the fragment that selects a part of it.
    pub url: String,
    /// Prefixes of the last good copy, one a line; nothing where there is no copy.
    pub prefixes: Option<String>,
    /// Day on which the operator made it, as `2026-11-20`.
    pub created: Option<String>,
    /// Entries of it that could not be read.
    pub unreadable: u64,
    /// `ETag` of it.
    pub etag: Option<String>,
    /// `Last-Modified` of it, as the server wrote it.
    pub last_modified: Option<String>,
    /// Number of the rules by which it was read.
    pub rules: u64,
    /// When it came.
    pub fetched_ms: Option<i64>,
    /// When it was last known to be current.
    pub checked_ms: Option<i64>,
    /// When the server was last asked, in vain or not.
    pub tried_ms: Option<i64>,
    /// Attempts that failed since the last success.
    pub failures: u64,
    /// Why the last attempt failed.
    pub error: Option<String>,
}

columns! {
    struct RangesRow {
        url: String,
        prefixes: Option<String>,
        created: Option<String>,
        unreadable: i64,
        etag: Option<String>,
        last_modified: Option<String>,
        rules: i64,
        fetched_ms: Option<i64>,
        checked_ms: Option<i64>,
        tried_ms: Option<i64>,
        failures: i64,
        error: Option<String>,
    }
}

handle! {
    /// Lists of robots' addresses.
    Ranges, ranges
}

impl Ranges<'_> {
    /// Saves what is known of a list; without prefixes, those stored before stay.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn save(self, ranges: &StoredRanges) -> Result<(), StoreError> {
        let values = [
            (&ranges.url).into(),
            (&ranges.prefixes).into(),
            (&ranges.created).into(),
            ranges.unreadable.into(),
            (&ranges.etag).into(),
            (&ranges.last_modified).into(),
            ranges.rules.into(),
            ranges.fetched_ms.into(),
            ranges.checked_ms.into(),
            ranges.tried_ms.into(),
            ranges.failures.into(),
            (&ranges.error).into(),
        ];
        let saved = self
            .store
            .database
            .execute(&sql::SAVE_ADDRESS_RANGES, &values);
        saved.await.map(|_| ())
    }

    /// Returns what is known of a list, its prefixes with it.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn load(self, url: &str) -> Result<Option<StoredRanges>, StoreError> {
        let values = [url.into()];
        let row = self
            .store
            .database
            .first::<RangesRow>(&sql::ADDRESS_RANGES, &values);
        Ok(row.await?.map(RangesRow::into_stored))
    }

    /// Returns what is known of all lists, by URL, without their prefixes.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn states(self) -> Result<Vec<StoredRanges>, StoreError> {
        let rows = self
            .store
            .database
            .rows(&sql::ADDRESS_RANGE_STATES, &[])
            .await?;
        Ok(rows.into_iter().map(RangesRow::into_stored).collect())
    }

    /// Forgets a list; does nothing where it is not known.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn remove(self, url: &str) -> Result<(), StoreError> {
        let values = [url.into()];
        let removed = self
            .store
            .database
            .execute(&sql::REMOVE_ADDRESS_RANGES, &values);
        removed.await.map(|_| ())
    }
}

impl RangesRow {
    fn into_stored(self) -> StoredRanges {
        StoredRanges {
            url: self.url,
            prefixes: self.prefixes,
            created: self.created,
            unreadable: from_sql(self.unreadable),
            etag: self.etag,
            last_modified: self.last_modified,
            rules: from_sql(self.rules),
            fetched_ms: self.fetched_ms,
            checked_ms: self.checked_ms,
            tried_ms: self.tried_ms,
            failures: from_sql(self.failures),
            error: self.error,
        }
    }
}
