//! Descriptions are read: all, by an index, one, the newest.

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
}

/// Longest time that a visitor waits for a description.
const VISITORS_WAIT: Duration = Duration::from_secs(1);

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
        let rows: Vec<ReadRow> = self.db.rows(&statement, &values).await?;
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
        let rows: Vec<ReadRow> = self.db.rows(&statement, &values).await?;
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
        self.db.rows(&statement, &values).await
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

    /// Returns `true` unless the database is away and a description is not in memory.
    pub fn can_read(self, site: &str, url: &str) -> bool {
        self.db.link.absence().is_none() || self.db.recent.0.contains_key(&recent_key(site, url))
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
        self.db.value(&sql::FIRST_DESCRIBED_URL, &values).await
    }

    /// Counts the descriptions of a site.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn count(self, site: &str) -> Result<u64, StoreError> {
        let values = [site.into()];
        let count = self.db.value(&sql::DESCRIPTION_COUNT, &values).await?;
        Ok(count.map_or(0, from_sql))
    }

    /// Returns the names of the sites that have descriptions, in order.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn sites(self) -> Result<Vec<String>, StoreError> {
        self.db.column(&sql::DESCRIBED_SITES, &[]).await
    }

    /// Returns when a description of a site last said something new; nothing where there is none.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
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

/// Returns the key and the URL that a query goes on behind; a query for one key returns that.
fn bounds(query: &DescriptionQuery) -> (&str, &str) {
    let after = query.after.as_ref();
    let url = after.map_or("", |after: &DescriptionCursor| after.url.as_str());
    let key = after.map_or("", |after| after.key.as_str());
    (query.key.as_deref().unwrap_or(key), url)
}
