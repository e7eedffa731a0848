//! A run ends: what it has not met is withdrawn and forgotten.

use super::{
    super::{Store, StoreError, descriptions::clear},
    RunCounts, RunState, StoredRun, sql,
};

/// Descriptions that are looked at in one statement.
const PIECE: i64 = 1_000;

/// Behind every URL there is.
const LAST: &str = "\u{10ffff}";

impl Store {
    /// Ends a run: withdraws descriptions of what it has not met or not described.
    ///
    /// Returns the run as it is then. It does no harm to call it twice, nor
    /// while another instance does.
    ///
    /// # Errors
    ///
    /// Fails when the database does; the run can be ended later then.
    pub async fn finish_run(
        &self,
        site: &str,
        run_id: i64,
        now_ms: i64,
    ) -> Result<StoredRun, StoreError> {
        let withdrawn = self.withdraw_unmet(site, run_id).await?;
        let counts = RunCounts {
            withdrawn,
            ..RunCounts::default()
        };
        let values = counts.values(run_id);
        self.database.execute(&sql::COUNT_RUN, &values).await?;
        if self.end_run(run_id, RunState::Finished, now_ms).await? {
            let counts = self.run(run_id).await?.counts;
            if counts.changed + counts.withdrawn > 0 {
                // What they were duplicates of may be another page now.
                let doubt = &sql::DOUBT_DUPLICATES;
                self.database.execute(doubt, &[site.into()]).await?;
            }
            let values = [site.into(), run_id.into()];
            self.database.execute(&sql::FORGET_URLS, &values).await?;
        }
        self.run(run_id).await
    }

    /// Forgets runs, URLs, robots.txt files and descriptions of a site; returns how many descriptions.
    ///
    /// # Errors
    ///
    /// Fails when the database does, and then forgets nothing.
    pub async fn clear_site(&self, site: &str) -> Result<u64, StoreError> {
        let values = [site.into()];
        let mut transaction = self.database.begin("forget a site").await?;
        for statement in [&sql::CLEAR_URLS, &sql::CLEAR_RUNS, &sql::CLEAR_ROBOTS_TXT] {
            transaction.execute(statement, &values).await?;
        }
        let cleared = clear(&mut transaction, site).await?;
        transaction.commit().await?;
        Ok(cleared)
    }

    /// Returns URLs that a run has described or kept, with the MD5 of each, behind a URL.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn described_md5(
        &self,
        site: &str,
        run_id: i64,
        after: &str,
        limit: u32,
    ) -> Result<Vec<(String, Option<String>)>, StoreError> {
        let limit = i64::from(limit);
        let values = [site.into(), after.into(), run_id.into(), limit.into()];
        self.database.rows(&sql::DESCRIBED_MD5, &values).await
    }

    /// Returns the MD5 in the description of a URL.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn md5(&self, site: &str, url: &str) -> Result<Option<String>, StoreError> {
        let values = [site.into(), url.into()];
        let row: Option<(Option<String>,)> = self.database.first(&sql::MD5, &values).await?;
        Ok(row.and_then(|(md5,)| md5))
    }

    /// Goes through the descriptions in pieces: nobody waits for long.
    async fn withdraw_unmet(&self, site: &str, run_id: i64) -> Result<u64, StoreError> {
        let mut withdrawn = 0;
        let mut after = String::new();
        loop {
            let values = [site.into(), (&after).into(), PIECE.into()];
            let end: Option<(String,)> = self
                .database
                .first(&sql::LAST_URL_OF_PIECE, &values)
                .await?;
            let upto = end.as_ref().map_or(LAST, |(url,)| url.as_str());
            let values = [site.into(), (&after).into(), upto.into(), run_id.into()];
            withdrawn += self.database.execute(&sql::WITHDRAW_PIECE, &values).await?;
            match end {
                Some((url,)) => after = url,
                None => return Ok(withdrawn),
            }
        }
    }
}
