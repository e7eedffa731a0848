//! Ends runs. URLs that a run did not find are removed unless its results are held.

use super::Frontier;
use super::{
    super::{StoreError, descriptions::clear},
    RunCounts, RunState, StoredRun,
    duplicates::rank,
    sql,
};

impl Frontier<'_> {
    /// Ends a run whose results are published, and removes the URLs that the run did not find.
    ///
    /// `withdrawn` is the number of descriptions that are no longer shown. Returns the updated run.
    /// This function can safely be called more than once, or on several instances.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails; in that case, call this function again later to end the
    /// run.
    pub async fn finish_run(
        self,
        site: &str,
        run_id: i64,
        withdrawn: u64,
        now_ms: i64,
    ) -> Result<StoredRun, StoreError> {
        self.count_withdrawn(run_id, withdrawn).await?;
        // If several instances end the run at the same time, only one of them completes the end of
        // the run.
        if self.end_run(run_id, RunState::Finished, now_ms).await? {
            self.settle(site, run_id).await?;
        }
        self.run(run_id).await
    }

    /// Ends a run whose results are held for review, and stores the reason.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails; in that case, call this function again later to end the
    /// run.
    pub async fn hold_run(
        self,
        run_id: i64,
        why: &str,
        withdrawn: u64,
        now_ms: i64,
    ) -> Result<StoredRun, StoreError> {
        self.count_withdrawn(run_id, withdrawn).await?;
        let held = RunState::Held.as_str();
        let values = [run_id.into(), held.into(), now_ms.into(), why.into()];
        self.db.execute(&sql::HOLD_RUN, &values).await?;
        self.run(run_id).await
    }

    /// Records that the held results of a run were published.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn accept_run(
        self,
        site: &str,
        run_id: i64,
        withdrawn: u64,
    ) -> Result<StoredRun, StoreError> {
        self.count_withdrawn(run_id, withdrawn).await?;
        let values = [run_id.into(), RunState::Finished.as_str().into()];
        if self.db.execute(&sql::ACCEPT_RUN, &values).await? > 0 {
            self.settle(site, run_id).await?;
        }
        self.run(run_id).await
    }

    /// Deletes a site's runs, URLs, robots.txt files and descriptions. Returns the number of
    /// deleted descriptions.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails; in that case, nothing is deleted.
    pub async fn clear_site(self, site: &str) -> Result<u64, StoreError> {
        let values = [site.into()];
        let mut transaction = self.db.begin("delete the data of a site").await?;
        for statement in [&sql::CLEAR_URLS, &sql::CLEAR_RUNS, &sql::CLEAR_ROBOTS_TXT] {
            transaction.execute(statement, &values).await?;
        }
        let cleared = clear(&mut transaction, site).await?;
        transaction.commit().await?;
        Ok(cleared)
    }

    /// Returns URLs described by a run, each with its MD5 digest and rank, starting after `after`.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn described_digests(
        self,
        site: &str,
        run_id: i64,
        after: &str,
        limit: u32,
    ) -> Result<Vec<(String, Option<String>, u8)>, StoreError> {
        let limit = i64::from(limit);
        let values = [site.into(), after.into(), run_id.into(), limit.into()];
        let rows: Vec<(String, Option<String>, Option<i64>)> =
            self.db.rows(&sql::DESCRIBED_MD5, &values).await?;
        let ranked = |(url, md5, preference)| (url, md5, rank(preference));
        Ok(rows.into_iter().map(ranked).collect())
    }

    /// Returns the MD5 digest in the description of a URL, and the URL's rank.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn md5(self, site: &str, url: &str) -> Result<Option<(String, u8)>, StoreError> {
        let values = [site.into(), url.into()];
        let row: Option<(Option<String>, Option<i64>)> = self.db.first(&sql::MD5, &values).await?;
        Ok(row.and_then(|(md5, preference)| Some((md5?, rank(preference)))))
    }

    async fn count_withdrawn(self, run_id: i64, withdrawn: u64) -> Result<(), StoreError> {
        let counts = RunCounts {
            withdrawn,
            ..RunCounts::default()
        };
        let values = counts.values(run_id);
        self.db.run(&sql::COUNT_RUN, &values).await
    }

    async fn settle(self, site: &str, run_id: i64) -> Result<(), StoreError> {
        let counts = self.run(run_id).await?.counts;
        if counts.changed + counts.withdrawn > 0 {
            // The pages that they duplicated may have changed.
            let doubt = &sql::DOUBT_DUPLICATES;
            self.db.execute(doubt, &[site.into()]).await?;
        }
        let values = [site.into(), run_id.into()];
        self.db.run(&sql::FORGET_URLS, &values).await
    }
}
