//! Reads descriptions and index entries.

use super::Descriptions;
use std::{sync::Arc, time::Duration};

use tokio::time::timeout;

use super::{
    super::{StoreError, columns::from_sql, statement::Statement},
    DescriptionCursor, DescriptionQuery, StoredDescription,
    row::{ReadRow, recent_key},
    sql,
};

columns! {
    /// An index entry for a description.
    #[derive(Clone, Debug, Eq, PartialEq)]
    pub struct DescriptionEntry {
        /// The URL of the described resource.
        pub url: String,
        /// The title of the resource; empty if the resource has no title.
        pub title: String,
        /// The sort key for the query's order; empty for the order by URL.
        pub key: String,
        /// The time when the resource was first described.
        pub first_seen_ms: i64,
        /// The time when the content of the description last changed.
        pub modified_ms: i64,
    }
}

/// The time limit for reading a description on behalf of a visitor.
const VISITORS_WAIT: Duration = Duration::from_secs(1);

impl Descriptions<'_> {
    /// Returns the descriptions that match a query.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails, or if a row cannot be read.
    pub async fn list(
        self,
        query: &DescriptionQuery,
    ) -> Result<Vec<StoredDescription>, StoreError> {
        let statement = sql::read_complete(query.order, query.key.is_some());
        let (key, url) = bounds(query);
        let limit = i64::from(query.limit);
        let values = [(&query.site).into(), key.into(), url.into(), limit.into()];
        let rows: Vec<ReadRow> = self.db.rows(&statement, &values).await?;
        self.read_all(rows)
    }

    /// Returns descriptions, ordered by URL, without their texts: partial and full text, table of
    /// contents, and text markup.
    ///
    /// The texts make up most of the stored data. `after` is the last URL of the previous page of
    /// results, initially empty.
    ///
    /// # Errors
    ///
    /// Returns an error for the same reasons as [`list`](Self::list).
    pub async fn list_without_texts(
        self,
        site: &str,
        after: &str,
        limit: u32,
    ) -> Result<Vec<StoredDescription>, StoreError> {
        let statement = sql::read_without_texts();
        let limit = i64::from(limit);
        let values = [site.into(), "".into(), after.into(), limit.into()];
        let rows: Vec<ReadRow> = self.db.rows(&statement, &values).await?;
        self.read_all(rows)
    }

    /// Returns the index entries that match a query, in the order of the query.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn entries(
        self,
        query: &DescriptionQuery,
    ) -> Result<Vec<DescriptionEntry>, StoreError> {
        let statement = sql::read_entries(query.order, query.key.is_some());
        let (key, url) = bounds(query);
        let limit = i64::from(query.limit);
        let values = [(&query.site).into(), key.into(), url.into(), limit.into()];
        self.db.rows(&statement, &values).await
    }

    /// Returns the description of a URL, unless the description is hidden.
    ///
    /// # Errors
    ///
    /// Returns an error for the same reasons as [`list`](Self::list).
    pub async fn find(
        self,
        site: &str,
        url: &str,
    ) -> Result<Option<StoredDescription>, StoreError> {
        self.read_one(&sql::DESCRIPTION, site, url).await
    }

    /// Returns the description of a URL on behalf of a visitor, within about one second.
    ///
    /// While the database is unavailable, the cached description, if any, is returned.
    ///
    /// # Errors
    ///
    /// Returns an error for the same reasons as [`list`](Self::list), or if the database takes too
    /// long.
    pub async fn recent(
        self,
        site: &str,
        url: &str,
    ) -> Result<Option<StoredDescription>, StoreError> {
        let (recent, key) = (&self.db.recent.0, recent_key(site, url));
        let read = timeout(VISITORS_WAIT, self.find(site, url)).await;
        let late = || self.db.error(&sql::DESCRIPTION, &sqlx::Error::PoolTimedOut);
        match read.unwrap_or_else(|_| Err(late())) {
            Ok(Some(found)) => {
                if recent.get(&key).as_deref() != Some(&found) {
                    recent.insert(key, Arc::new(found.clone()));
                }
                Ok(Some(found))
            }
            Ok(None) => {
                recent.invalidate(&key);
                Ok(None)
            }
            Err(error) => match recent.get(&key) {
                Some(found) => Ok(Some((*found).clone())),
                None => Err(error),
            },
        }
    }

    /// Returns `false` if the database is unavailable and the description is not in the cache.
    pub fn can_read(self, site: &str, url: &str) -> bool {
        self.db.link.outage().is_none() || self.db.recent.0.contains_key(&recent_key(site, url))
    }

    /// Returns the description of a URL, even if the description is hidden.
    ///
    /// # Errors
    ///
    /// Returns an error for the same reasons as [`list`](Self::list).
    pub async fn kept(
        self,
        site: &str,
        url: &str,
    ) -> Result<Option<StoredDescription>, StoreError> {
        self.read_one(&sql::KEPT_DESCRIPTION, site, url).await
    }

    /// Returns the first described URL of a site that is greater than or equal to `from`, compared
    /// bytewise.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn first_url(self, site: &str, from: &str) -> Result<Option<String>, StoreError> {
        let values = [site.into(), from.into()];
        self.db.value(&sql::FIRST_DESCRIBED_URL, &values).await
    }

    /// Returns the number of descriptions of a site.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn count(self, site: &str) -> Result<u64, StoreError> {
        let values = [site.into()];
        let count = self.db.value(&sql::DESCRIPTION_COUNT, &values).await?;
        Ok(count.map_or(0, from_sql))
    }

    /// Returns the names of the sites that have descriptions, sorted.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn sites(self) -> Result<Vec<String>, StoreError> {
        self.db.column(&sql::DESCRIBED_SITES, &[]).await
    }

    /// Returns the time when a description of a site last changed, or `None` if there are no
    /// descriptions.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn changed_ms(self, site: &str) -> Result<Option<i64>, StoreError> {
        let values = [site.into()];
        self.db.value(&sql::DESCRIPTIONS_CHANGED, &values).await
    }

    async fn read_one(
        self,
        statement: &Statement,
        site: &str,
        url: &str,
    ) -> Result<Option<StoredDescription>, StoreError> {
        let row: Option<ReadRow> = self.db.first(statement, &[site.into(), url.into()]).await?;
        let stored = self.read_all(row.into_iter().collect())?;
        Ok(stored.into_iter().next())
    }

    fn read_all(self, rows: Vec<ReadRow>) -> Result<Vec<StoredDescription>, StoreError> {
        let place = &self.db.place;
        rows.into_iter().map(|row| row.into_stored(place)).collect()
    }
}

/// Returns the key and the URL after which results start; a key set in the query takes precedence.
fn bounds(query: &DescriptionQuery) -> (&str, &str) {
    let after = query.after.as_ref();
    let url = after.map_or("", |after: &DescriptionCursor| after.url.as_str());
    let key = after.map_or("", |after| after.key.as_str());
    (query.key.as_deref().unwrap_or(key), url)
}
