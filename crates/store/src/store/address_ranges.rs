//! Last good copies of the address range lists that robot operators publish.

use super::StoreError;

columns! {
    /// The last good copy of an address range list, and the state of its downloads.
    #[derive(Clone, Debug, Default, Eq, PartialEq)]
    pub struct StoredRanges {
        /// The URL of the list; a fragment selects part of the list.
        pub url: String,
        /// The prefixes in the last good copy, one per line; `None` if there is no copy.
        pub prefixes: Option<String>,
        /// The creation date given in the list, such as `2026-11-20`.
        pub created: Option<String>,
        /// The number of list entries that could not be parsed.
        pub unreadable: u64,
        /// The `ETag` header of the last good copy.
        pub etag: Option<String>,
        /// The `Last-Modified` value of the last good copy, unparsed.
        pub last_modified: Option<String>,
        /// The version of the parsing rules with which the list was parsed.
        pub rules: u64,
        /// The time when the last good copy was downloaded.
        pub fetched_ms: Option<i64>,
        /// The time when the copy was last confirmed to be current.
        pub checked_ms: Option<i64>,
        /// The time of the last download attempt, successful or not.
        pub tried_ms: Option<i64>,
        /// The number of failed attempts since the last success.
        pub failures: u64,
        /// The error from the last download attempt, if that attempt failed.
        pub error: Option<String>,
    }
}

statements! {
    SAVE_ADDRESS_RANGES = "save an address range list",
        "INSERT INTO address_ranges (url, prefixes, created, unreadable, etag, last_modified, \
         rules, fetched_ms, checked_ms, tried_ms, failures, error) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
         ON CONFLICT (url) DO UPDATE SET \
         prefixes = COALESCE(excluded.prefixes, address_ranges.prefixes), \
         created = excluded.created, unreadable = excluded.unreadable, etag = excluded.etag, \
         last_modified = excluded.last_modified, rules = excluded.rules, \
         fetched_ms = excluded.fetched_ms, checked_ms = excluded.checked_ms, \
         tried_ms = excluded.tried_ms, failures = excluded.failures, error = excluded.error";
    ADDRESS_RANGES = "read an address range list",
        "SELECT url, prefixes, created, unreadable, etag, last_modified, rules, fetched_ms, \
         checked_ms, tried_ms, failures, error FROM address_ranges WHERE url = $1";
    ADDRESS_RANGE_STATES = "read the states of the address range lists",
        "SELECT url, CAST(NULL AS TEXT) AS prefixes, created, unreadable, etag, last_modified, \
         rules, fetched_ms, checked_ms, tried_ms, failures, error FROM address_ranges \
         ORDER BY url";
    REMOVE_ADDRESS_RANGES = "remove an address range list",
        "DELETE FROM address_ranges WHERE url = $1";
}

handle! {
    /// Access to the address range lists of robots.
    Ranges, ranges
}

impl Ranges<'_> {
    /// Saves the state of an address range list. If `prefixes` is `None`, the stored prefixes
    /// remain unchanged.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn save(self, ranges: &StoredRanges) -> Result<(), StoreError> {
        let values = values![
            ranges; url, prefixes, created, unreadable, etag, last_modified, rules, fetched_ms,
            checked_ms, tried_ms, failures, error
        ];
        self.db.run(&SAVE_ADDRESS_RANGES, &values).await
    }

    /// Returns the stored state of an address range list, including its prefixes.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn load(self, url: &str) -> Result<Option<StoredRanges>, StoreError> {
        self.db.first(&ADDRESS_RANGES, &[url.into()]).await
    }

    /// Returns the states of all address range lists, ordered by URL, without their prefixes.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn states(self) -> Result<Vec<StoredRanges>, StoreError> {
        self.db.rows(&ADDRESS_RANGE_STATES, &[]).await
    }

    /// Removes an address range list; does nothing if the list is not stored.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn remove(self, url: &str) -> Result<(), StoreError> {
        self.db.run(&REMOVE_ADDRESS_RANGES, &[url.into()]).await
    }
}
