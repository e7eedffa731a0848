//! URLs to be submitted to `IndexNow`, and the result of the last submission.

use super::{StoreError, columns::from_sql};

/// The maximum number of URLs per site that wait for submission. Further URLs are dropped.
const MAX_WAITING: u32 = 100_000;

/// The number of changed URLs in a publication to read per query.
const PIECE: u32 = 1_000;

statements! {
    CHANGED = "read the URLs changed by a publication",
        "SELECT former.url FROM previous_descriptions AS former \
         LEFT JOIN resource_descriptions AS known ON known.site = former.site \
         AND known.url = former.url AND known.hidden_ms IS NULL \
         WHERE former.site = $1 AND former.turn = 0 AND former.url > $2 AND EXISTS (SELECT 1 \
         FROM heaven_publications AS last WHERE last.site = $1 AND last.run_id = $3 \
         AND last.undone_ms IS NULL) AND CASE \
         WHEN former.was_there = 1 AND former.hidden_ms IS NULL \
         THEN known.url IS NULL OR known.fingerprint <> former.fingerprint \
         ELSE known.url IS NOT NULL END ORDER BY former.url LIMIT $4 + 0";
    NOTE = "queue a URL for IndexNow",
        "INSERT INTO index_now_urls (site, url, noted_ms) VALUES ($1, $2, $3) \
         ON CONFLICT (site, url) DO NOTHING";
    WAITING = "count the URLs queued for IndexNow",
        "SELECT COUNT(*) FROM index_now_urls WHERE site = $1";
    NEXT = "read the URLs queued for IndexNow",
        "SELECT url, noted_ms FROM index_now_urls WHERE site = $1 \
         ORDER BY noted_ms, url LIMIT $2 + 0";
    TOLD = "remove URLs submitted to IndexNow",
        "DELETE FROM index_now_urls WHERE site = $1 AND (noted_ms, url) <= ($2, $3)";
    STATE = "read the result of the last IndexNow submission",
        "SELECT told_ms, taken, failure, failures, next_ms FROM index_now WHERE site = $1";
    SAVE_STATE = "save the result of the last IndexNow submission",
        "INSERT INTO index_now (told_ms, taken, failure, failures, next_ms, site) \
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (site) DO UPDATE SET \
         told_ms = excluded.told_ms, taken = excluded.taken, failure = excluded.failure, \
         failures = excluded.failures, next_ms = excluded.next_ms";
}

columns! {
    /// The result of the last `IndexNow` submission of a site.
    #[derive(Clone, Debug, Default, Eq, PartialEq)]
    pub struct IndexNowState {
        /// The time of the last submission.
        pub told_ms: i64,
        /// The number of URLs that `IndexNow` accepted.
        pub taken: u64,
        /// The error from the submission; `None` if all URLs were accepted.
        pub failure: Option<String>,
        /// The number of consecutive failed submissions.
        pub failures: u32,
        /// The earliest time of the next submission.
        pub next_ms: i64,
    }
}

handle! {
    /// Access to the `IndexNow` queue and its state.
    IndexNow, index_now
}

impl IndexNow<'_> {
    /// Queues the URLs that a run's publication added, changed or removed, if `is_wanted` accepts
    /// them. Returns the number of queued URLs.
    ///
    /// At most 100,000 URLs are queued; further URLs are dropped.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn queue_changes(
        self,
        site: &str,
        run_id: i64,
        is_wanted: impl Fn(&str) -> bool,
        now_ms: i64,
    ) -> Result<u64, StoreError> {
        let waiting = self.queued_count(site).await?;
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

    /// Returns the number of URLs that are waiting for submission to `IndexNow`.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn queued_count(self, site: &str) -> Result<u64, StoreError> {
        let count = self.db.value(&WAITING, &[site.into()]).await?;
        Ok(count.map_or(0, from_sql))
    }

    /// Returns the URLs that have waited longest, each with the time when it was queued.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn urls(self, site: &str, limit: u32) -> Result<Vec<(String, i64)>, StoreError> {
        let values = [site.into(), i64::from(limit).into()];
        self.db.rows(&NEXT, &values).await
    }

    /// Removes queued URLs up to and including the given URL, in the order of [`urls`](Self::urls).
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn remove(self, site: &str, (url, noted_ms): (&str, i64)) -> Result<(), StoreError> {
        let values = [site.into(), noted_ms.into(), url.into()];
        self.db.run(&TOLD, &values).await
    }

    /// Returns the result of a site's last submission, or `None` if there has been no submission
    /// yet.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn state(self, site: &str) -> Result<Option<IndexNowState>, StoreError> {
        self.db.first(&STATE, &[site.into()]).await
    }

    /// Saves the result of an `IndexNow` submission.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn save(self, site: &str, state: &IndexNowState) -> Result<(), StoreError> {
        let values = values![state; told_ms, taken, failure, failures, next_ms; site];
        self.db.run(&SAVE_STATE, &values).await
    }
}
