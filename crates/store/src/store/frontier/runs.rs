//! Runs of the site robot: start, resume, send commands, update counts, and end.

use super::Frontier;
use serde::{Deserialize, Serialize};

use super::{
    super::{StoreError, StoreErrorKind, publications::delete_staged, statement::Value},
    sql,
};

columns! {
    /// A run of the site robot.
    #[derive(Clone, Debug, Eq, PartialEq)]
    #[non_exhaustive]
    pub struct StoredRun {
        /// The ID of the run, which increases with each new run.
        pub run_id: i64,
        /// The name of the site.
        pub site: String,
        /// The state of the run.
        pub state: RunState,
        /// The command for the instances that work on the run.
        pub wanted: RunCommand,
        /// The settings that affect the run's decisions.
        pub settings: String,
        /// The start time of the run.
        pub started_ms: i64,
        /// The end time of the run; `None` while the run has not ended.
        pub finished_ms: Option<i64>,
        /// The counts of pages and descriptions so far.
        pub counts: RunCounts,
        /// The reason why the results are held for review, if they are held.
        pub held: Option<String>,
    }
}

robot_detection_layer::words! {
    /// The state of a site robot run.
    #[derive(Deserialize, Serialize)]
    // An index allows one `Running` run per site. It ends in one of the other states; only `Held`
    // changes later, to `Finished`, when its results are accepted.
    #[non_exhaustive]
    pub enum RunState {
        /// The run is in progress, or was interrupted and can be resumed.
        Running = "running",
        /// The run is complete, and its results are not held.
        Finished = "finished",
        /// The run is complete, and its results are held until they are accepted.
        Held = "held",
        /// The run was abandoned in favour of another run.
        Abandoned = "abandoned",
    }
}

robot_detection_layer::words! {
    /// A command for the instances that work on a run.
    #[derive(Default)]
    pub enum RunCommand {
        /// Start the run, or continue it after a pause.
        #[default]
        Run = "run",
        /// Pause the run until the next `Run` command.
        Pause = "pause",
        /// Finish the pages in progress, and leave the remaining pages for later.
        Stop = "stop",
    }
}

columns! {
    /// The counters of a site robot run.
    #[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
    pub struct RunCounts {
        /// The number of URLs that were found and accepted.
        pub found: u64,
        /// The number of received responses, including those without a body.
        pub fetched: u64,
        /// The number of unchanged pages (status 304, or the same content).
        pub unmodified: u64,
        /// The total size of all response bodies, in bytes.
        pub bytes: u64,
        /// The number of added resource descriptions.
        pub added: u64,
        /// The number of changed resource descriptions.
        pub changed: u64,
        /// The number of resource descriptions that were generated again but did not change.
        pub same: u64,
        /// The number of withdrawn resource descriptions.
        pub withdrawn: u64,
        /// The number of fetched pages that are not described because of filters, META tags or
        /// their status.
        pub rejected: u64,
        /// The number of URLs that could not be fetched even after all retries.
        pub failed: u64,
    }
}

impl Frontier<'_> {
    /// Resumes a site's interrupted run, or starts a new one.
    ///
    /// If the interrupted run had different settings, the run and any held results are abandoned,
    /// and a new run is started. The second returned value is `true` if a run was resumed.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn begin_run(
        self,
        site: &str,
        settings: &str,
        now_ms: i64,
    ) -> Result<(StoredRun, bool), StoreError> {
        let what = sql::ADD_RUN.what;
        let mut transaction = self.db.begin(what).await?;
        let values = [site.into()];
        let open: Vec<StoredRun> = transaction.rows(&sql::OPEN_RUN, &values).await?;
        if let Some(open) = open.into_iter().next() {
            if open.settings == settings {
                let wanted = RunCommand::Run;
                let values = [site.into(), wanted.as_str().into()];
                transaction.execute(&sql::WANT_RUN, &values).await?;
                transaction.commit().await?;
                return Ok((StoredRun { wanted, ..open }, true));
            }
            // Part of the site was processed with other settings; mixing both would give wrong
            // results.
            let abandoned = RunState::Abandoned.as_str();
            let values = [open.run_id.into(), abandoned.into(), now_ms.into()];
            transaction.execute(&sql::END_RUN, &values).await?;
        }
        let added = [site.into(), settings.into(), now_ms.into()];
        // If two instances start at the same time, the second resumes the run of the first.
        let added = transaction.execute(&sql::ADD_RUN, &added).await?;
        if added > 0 {
            delete_staged(&mut transaction, site).await?;
        }
        let run: StoredRun = transaction.one(&sql::OPEN_RUN, &values).await?;
        transaction.execute(&sql::PRUNE_RUNS, &values).await?;
        transaction.commit().await?;
        Ok((run, added == 0))
    }

    /// Sets the command for a site's current run. Returns `false` if there is no run.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn set_run_command(self, site: &str, wanted: RunCommand) -> Result<bool, StoreError> {
        let values = [site.into(), wanted.as_str().into()];
        let told = self.db.execute(&sql::WANT_RUN, &values).await?;
        Ok(told > 0)
    }

    /// Abandons a site's current run, if any, so that the next run starts from the beginning.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn abandon_run(self, site: &str, now_ms: i64) -> Result<bool, StoreError> {
        let Some(run) = self.open_run(site).await? else {
            return Ok(false);
        };
        self.end_run(run.run_id, RunState::Abandoned, now_ms).await
    }

    /// Returns a site's current run, if any.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn open_run(self, site: &str) -> Result<Option<StoredRun>, StoreError> {
        self.db.first(&sql::OPEN_RUN, &[site.into()]).await
    }

    /// Returns the run with the given ID.
    ///
    /// # Errors
    ///
    /// Returns `NotFound` if the run no longer exists, or an error if the query fails.
    pub async fn run(self, run_id: i64) -> Result<StoredRun, StoreError> {
        let row: Option<StoredRun> = self.db.first(&sql::RUN, &[run_id.into()]).await?;
        row.ok_or_else(|| {
            StoreError::new(
                StoreErrorKind::NotFound,
                format!("the site robot run {run_id} no longer exists"),
            )
        })
    }

    /// Returns the most recent runs of a site, newest first. Only the last 100 runs are stored.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn runs(self, site: &str, limit: u32) -> Result<Vec<StoredRun>, StoreError> {
        let values = [site.into(), i64::from(limit).into()];
        self.db.rows(&sql::RUNS, &values).await
    }

    /// Returns the sorted names of all sites that have runs, even if they have no descriptions yet.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn run_sites(self) -> Result<Vec<String>, StoreError> {
        self.db.column(&sql::RUN_SITES, &[]).await
    }

    /// Ends a run. Returns `true` if the run was ended by this call.
    pub(super) async fn end_run(
        self,
        run_id: i64,
        state: RunState,
        now_ms: i64,
    ) -> Result<bool, StoreError> {
        let values = [run_id.into(), state.as_str().into(), now_ms.into()];
        let ended = self.db.execute(&sql::END_RUN, &values).await?;
        Ok(ended > 0)
    }
}

column!(RunState, String, |word| Ok(
    RunState::from_word(&word).unwrap_or(RunState::Abandoned)
));

column!(RunCommand, String, |word| Ok(
    RunCommand::from_word(&word).unwrap_or_default()
));

impl RunCounts {
    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Self) {
        self.found += other.found;
        self.fetched += other.fetched;
        self.unmodified += other.unmodified;
        self.bytes += other.bytes;
        self.added += other.added;
        self.changed += other.changed;
        self.same += other.same;
        self.withdrawn += other.withdrawn;
        self.rejected += other.rejected;
        self.failed += other.failed;
    }

    /// Returns the values in the order of the statement that updates the counts.
    pub(super) fn values(&self, run_id: i64) -> [Value<'static>; 11] {
        values![
            self; found, fetched, unmodified, bytes, added, changed, same, withdrawn, rejected,
            failed; run_id
        ]
    }
}
