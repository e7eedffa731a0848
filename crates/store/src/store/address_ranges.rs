//! Lists of address ranges that operators publish: the last good copies.

use super::StoreError;

columns! {
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
}

statements! {
    SAVE_ADDRESS_RANGES = "save a list of address ranges",
        "INSERT INTO address_ranges (url, prefixes, created, unreadable, etag, last_modified, \
         rules, fetched_ms, checked_ms, tried_ms, failures, error) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
         ON CONFLICT (url) DO UPDATE SET \
         prefixes = COALESCE(excluded.prefixes, address_ranges.prefixes), \
         created = excluded.created, unreadable = excluded.unreadable, etag = excluded.etag, \
         last_modified = excluded.last_modified, rules = excluded.rules, \
         fetched_ms = excluded.fetched_ms, checked_ms = excluded.checked_ms, \
         tried_ms = excluded.tried_ms, failures = excluded.failures, error = excluded.error";
    ADDRESS_RANGES = "read a list of address ranges",
        "SELECT url, prefixes, created, unreadable, etag, last_modified, rules, fetched_ms, \
         checked_ms, tried_ms, failures, error FROM address_ranges WHERE url = $1";
    ADDRESS_RANGE_STATES = "read what is known of the lists of address ranges",
        "SELECT url, CAST(NULL AS TEXT) AS prefixes, created, unreadable, etag, last_modified, \
         rules, fetched_ms, checked_ms, tried_ms, failures, error FROM address_ranges \
         ORDER BY url";
    REMOVE_ADDRESS_RANGES = "forget a list of address ranges",
        "DELETE FROM address_ranges WHERE url = $1";
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
        let values = values![
            ranges; url, prefixes, created, unreadable, etag, last_modified, rules, fetched_ms,
            checked_ms, tried_ms, failures, error
        ];
        self.db.run(&SAVE_ADDRESS_RANGES, &values).await
    }

    /// Returns what is known of a list, its prefixes with it.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn load(self, url: &str) -> Result<Option<StoredRanges>, StoreError> {
        self.db.first(&ADDRESS_RANGES, &[url.into()]).await
    }

    /// Returns what is known of all lists, by URL, without their prefixes.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn states(self) -> Result<Vec<StoredRanges>, StoreError> {
        self.db.rows(&ADDRESS_RANGE_STATES, &[]).await
    }

    /// Forgets a list; does nothing where it is not known.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn remove(self, url: &str) -> Result<(), StoreError> {
        self.db.run(&REMOVE_ADDRESS_RANGES, &[url.into()]).await
    }
}
