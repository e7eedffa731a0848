//! Descriptions are read: all, by an index, one, the newest.

use super::Descriptions;
use std::{sync::Arc, time::Duration};

use moka::sync::Cache;
use tokio::time::timeout;

use super::{
    super::{StoreError, robots::from_sql, statement::Statement},
    DescriptionCursor, DescriptionQuery, StoredDescription,
    row::ReadRow,
    sql,
};

/// What an index shows of a description.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DescriptionEntry {
    /// URL of the resource.
    pub url: String,
    /// Title, empty where there is none.
    pub title: String,
    /// Key in the order of the query; empty by URL.
    pub key: String,
    /// When the resource was first described.
    pub first_seen_ms: i64,
    /// When the description last said something new.
    pub modified_ms: i64,
}

/// Longest time that a visitor waits for a description.
const VISITORS_WAIT: Duration = Duration::from_secs(1);

/// Bytes of values of the descriptions that visitors have read last, of all sites.
const RECENT_BYTES: u64 = 32 * 1024 * 1024;

/// Descriptions that visitors have read last, for the time while the database is away.
#[derive(Debug)]
pub(in crate::store) struct RecentDescriptions(Cache<String, Arc<StoredDescription>>);

impl Default for RecentDescriptions {
    fn default() -> Self {
        let cache = Cache::builder().max_capacity(RECENT_BYTES);
        let weigh = |key: &String, found: &Arc<StoredDescription>| {
            u32::try_from(key.len() + found.description.value_bytes()).unwrap_or(u32::MAX)
        };
        Self(cache.weigher(weigh).build())
    }
}

fn recent_key(site: &str, url: &str) -> String {
    format!("{site} {url}")
}

impl Descriptions<'_> {
    /// Returns descriptions in the order of a query.
    ///
    /// # Errors
    ///
    /// Fails when the database does, or when a row cannot be read.
    pub async fn list(
        self,
        query: &DescriptionQuery,
    ) -> Result<Vec<StoredDescription>, StoreError> {
        let statement = sql::read(query.order, query.key.is_some());
        let (key, url) = bounds(query);
        let limit = i64::from(query.limit);
        let values = [(&query.site).into(), key.into(), url.into(), limit.into()];
        let rows: Vec<ReadRow> = self.store.database.rows(&statement, &values).await?;
        self.read_all(rows)
    }

    /// Returns descriptions by URL without the texts that they hold: partial and full text,
    /// the table of contents, and the marks over the text.
    ///
    /// Of all descriptions of a large site, these are most of what is stored. `after` is the
    /// last URL of the piece before, empty at first.
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list).
    pub async fn without_texts(
        self,
        site: &str,
        after: &str,
        limit: u32,
    ) -> Result<Vec<StoredDescription>, StoreError> {
        let statement = sql::read_without_texts();
        let limit = i64::from(limit);
        let values = [site.into(), "".into(), after.into(), limit.into()];
        let rows: Vec<ReadRow> = self.store.database.rows(&statement, &values).await?;
        self.read_all(rows)
    }

    /// Returns what an index shows, in the order of a query.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn entries(
        self,
        query: &DescriptionQuery,
    ) -> Result<Vec<DescriptionEntry>, StoreError> {
        let statement = sql::read_entries(query.order, query.key.is_some());
        let (key, url) = bounds(query);
        let limit = i64::from(query.limit);
        let values = [(&query.site).into(), key.into(), url.into(), limit.into()];
        let rows = self.store.database.rows(&statement, &values).await?;
        let entry = |(url, title, key, first_seen_ms, modified_ms)| DescriptionEntry {
            url,
            title,
            key,
            first_seen_ms,
            modified_ms,
        };
        Ok(rows.into_iter().map(entry).collect())
    }

    /// Returns the description of a URL.
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list).
    pub async fn find(
        self,
        site: &str,
        url: &str,
    ) -> Result<Option<StoredDescription>, StoreError> {
        self.read_one(&sql::DESCRIPTION, site, url).await
    }

    /// Returns the description of a URL for a visitor, within about a second.
    ///
    /// While the database is away it is the one that was read last, if that is still in memory.
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list), and when the database takes longer.
    pub async fn recent(
        self,
        site: &str,
        url: &str,
    ) -> Result<Option<StoredDescription>, StoreError> {
        let (recent, key) = (&self.store.database.recent.0, recent_key(site, url));
        let read = timeout(VISITORS_WAIT, self.find(site, url)).await;
        let late = || {
            self.store
                .database
                .error(&sql::DESCRIPTION, &sqlx::Error::PoolTimedOut)
        };
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

    /// Returns `true` unless the database is away and a description is not in memory.
    #[must_use]
    pub fn can_read(self, site: &str, url: &str) -> bool {
        self.store.absence().is_none()
            || self
                .store
                .database
                .recent
                .0
                .contains_key(&recent_key(site, url))
    }

    /// Returns the description of a URL, shown or not.
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list).
    pub async fn kept(
        self,
        site: &str,
        url: &str,
    ) -> Result<Option<StoredDescription>, StoreError> {
        self.read_one(&sql::KEPT_DESCRIPTION, site, url).await
    }

    /// Returns the first URL described of a site, byte by byte, that is a text or behind it.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn first_url(self, site: &str, from: &str) -> Result<Option<String>, StoreError> {
        let values = [site.into(), from.into()];
        let row = self
            .store
            .database
            .first(&sql::FIRST_DESCRIBED_URL, &values);
        Ok(row.await?.map(|(url,): (String,)| url))
    }

    /// Counts the descriptions of a site.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn count(self, site: &str) -> Result<u64, StoreError> {
        let values = [site.into()];
        let row = self.store.database.first(&sql::DESCRIPTION_COUNT, &values);
        Ok(row.await?.map_or(0, |(count,): (i64,)| from_sql(count)))
    }

    /// Returns the names of the sites that have descriptions, in order.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn sites(self) -> Result<Vec<String>, StoreError> {
        let rows: Vec<(String,)> = self.store.database.rows(&sql::DESCRIBED_SITES, &[]).await?;
        Ok(rows.into_iter().map(|(site,)| site).collect())
    }

    /// Returns when a description of a site last said something new; nothing where there is none.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn changed_ms(self, site: &str) -> Result<Option<i64>, StoreError> {
        let values = [site.into()];
        let row = self
            .store
            .database
            .first(&sql::DESCRIPTIONS_CHANGED, &values);
        Ok(row.await?.map(|(changed_ms,): (i64,)| changed_ms))
    }

    async fn read_one(
        self,
        statement: &Statement,
        site: &str,
        url: &str,
    ) -> Result<Option<StoredDescription>, StoreError> {
        let values = [site.into(), url.into()];
        let row: Option<ReadRow> = self.store.database.first(statement, &values).await?;
        let stored = self.read_all(row.into_iter().collect())?;
        Ok(stored.into_iter().next())
    }

    fn read_all(self, rows: Vec<ReadRow>) -> Result<Vec<StoredDescription>, StoreError> {
        let place = &self.store.database.place;
        rows.into_iter().map(|row| row.into_stored(place)).collect()
    }
}

/// Returns the key and the URL that a query goes on behind; a query for one key returns that.
fn bounds(query: &DescriptionQuery) -> (&str, &str) {
    let after = query.after.as_ref();
    let url = after.map_or("", |after: &DescriptionCursor| after.url.as_str());
    let key = after.map_or("", |after| after.key.as_str());
    (query.key.as_deref().unwrap_or(key), url)
}
