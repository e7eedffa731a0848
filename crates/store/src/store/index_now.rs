//! What `IndexNow` is still to be told, and how that went last.

use super::{StoreError, columns::from_sql};

/// URLs of a site that wait to be told; what comes behind them is left out.
const MAX_WAITING: u32 = 100_000;

/// URLs that a publication changed that are read together.
const PIECE: u32 = 1_000;

statements! {
    CHANGED = "look for what a publication changed",
        "SELECT former.url FROM previous_descriptions AS former \
         LEFT JOIN resource_descriptions AS known ON known.site = former.site \
         AND known.url = former.url AND known.hidden_ms IS NULL \
         WHERE former.site = $1 AND former.turn = 0 AND former.url > $2 AND EXISTS (SELECT 1 \
         FROM heaven_publications AS last WHERE last.site = $1 AND last.run_id = $3 \
         AND last.undone_ms IS NULL) AND CASE \
         WHEN former.was_there = 1 AND former.hidden_ms IS NULL \
         THEN known.url IS NULL OR known.fingerprint <> former.fingerprint \
         ELSE known.url IS NOT NULL END ORDER BY former.url LIMIT $4 + 0";
    NOTE = "note a URL that is to be told",
        "INSERT INTO index_now_urls (site, url, noted_ms) VALUES ($1, $2, $3) \
         ON CONFLICT (site, url) DO NOTHING";
    WAITING = "count the URLs that are to be told",
        "SELECT COUNT(*) FROM index_now_urls WHERE site = $1";
    NEXT = "read the URLs that are to be told",
        "SELECT url, noted_ms FROM index_now_urls WHERE site = $1 \
         ORDER BY noted_ms, url LIMIT $2 + 0";
    TOLD = "forget URLs that were told",
        "DELETE FROM index_now_urls WHERE site = $1 AND (noted_ms, url) <= ($2, $3)";
    STATE = "read how the last telling went",
        "SELECT told_ms, taken, failure, failures, next_ms FROM index_now WHERE site = $1";
    SAVE_STATE = "note how the last telling went",
        "INSERT INTO index_now (told_ms, taken, failure, failures, next_ms, site) \
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (site) DO UPDATE SET \
         told_ms = excluded.told_ms, taken = excluded.taken, failure = excluded.failure, \
         failures = excluded.failures, next_ms = excluded.next_ms";
}

columns! {
    /// How the last telling went.
    #[derive(Clone, Debug, Default, Eq, PartialEq)]
    pub struct IndexNowState {
        /// When it was.
        pub told_ms: i64,
        /// URLs that were taken.
        pub taken: u64,
        /// Why the rest was not; nothing: all were.
        pub failure: Option<String>,
        /// Times in a row that it failed.
        pub failures: u32,
        /// Before when nobody is told again.
        pub next_ms: i64,
    }
}

handle! {
    /// Notifications of search engines.
    IndexNow, index_now
}

impl IndexNow<'_> {
    /// Notes the URLs that the publication of a run has added, changed or removed, as far as they
    /// are wanted; returns how many.
    ///
    /// 100,000 wait at most; none is noted beyond that.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn note(
        self,
        site: &str,
        run_id: i64,
        is_wanted: impl Fn(&str) -> bool,
        now_ms: i64,
    ) -> Result<u64, StoreError> {
        let waiting = self.waiting(site).await?;
        let mut room = u64::from(MAX_WAITING).saturating_sub(waiting);
        let (mut after, mut noted) = (String::new(), 0);
        while room > 0 {
            let (limit, url) = (i64::from(PIECE).into(), (&after).into());
            let values = [site.into(), url, run_id.into(), limit];
            let mut urls: Vec<(String,)> = self.db.rows(&CHANGED, &values).await?;
            let Some((last,)) = urls.last() else { break };
            after.clone_from(last);
            urls.retain(|(url,)| is_wanted(url));
            urls.truncate(usize::try_from(room).unwrap_or(usize::MAX));
            let mut transaction = self.db.begin(NOTE.what).await?;
            for (url,) in &urls {
                let values = [site.into(), url.into(), now_ms.into()];
                noted += transaction.execute(&NOTE, &values).await?;
            }
            transaction.commit().await?;
            room -= urls.len() as u64;
        }
        Ok(noted)
    }

    /// Returns how many URLs wait to be told.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn waiting(self, site: &str) -> Result<u64, StoreError> {
        let count = self.db.value(&WAITING, &[site.into()]).await?;
        Ok(count.map_or(0, from_sql))
    }

    /// Returns the URLs that wait longest, each with when it was noted.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn urls(self, site: &str, limit: u32) -> Result<Vec<(String, i64)>, StoreError> {
        let values = [site.into(), i64::from(limit).into()];
        self.db.rows(&NEXT, &values).await
    }

    /// Forgets the URLs up to one, as [`index_now_urls`](Self::urls) returned them.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn forget(self, site: &str, (url, noted_ms): (&str, i64)) -> Result<(), StoreError> {
        let values = [site.into(), noted_ms.into(), url.into()];
        self.db.run(&TOLD, &values).await
    }

    /// Returns how the last telling of a site went; nothing before the first.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn state(self, site: &str) -> Result<Option<IndexNowState>, StoreError> {
        self.db.first(&STATE, &[site.into()]).await
    }

    /// Saves how a telling went.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn save(self, site: &str, state: &IndexNowState) -> Result<(), StoreError> {
        let values = values![state; told_ms, taken, failure, failures, next_ms; site];
        self.db.run(&SAVE_STATE, &values).await
    }
}
