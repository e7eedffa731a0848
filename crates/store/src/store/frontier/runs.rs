//! Runs of the site robot: begun, resumed, told what to do, counted, ended.

use super::Frontier;
use serde::{Deserialize, Serialize};

use super::{
    super::{StoreError, StoreErrorKind, publications::forget_staged, statement::Value},
    sql,
};

columns! {
    /// Run of the site robot.
    #[derive(Clone, Debug, Eq, PartialEq)]
    #[non_exhaustive]
    pub struct StoredRun {
        /// Its number, which grows.
        pub run_id: i64,
        /// Name of the site.
        pub site: String,
        /// State.
        pub state: RunState,
        /// Command to the instances that work on it.
        pub wanted: RunCommand,
        /// Settings that its decisions depend on.
        pub settings: String,
        /// When it began.
        pub started_ms: i64,
        /// When it ended.
        pub finished_ms: Option<i64>,
        /// Counts so far.
        pub counts: RunCounts,
        /// Why its results are held back, where they are.
        pub held: Option<String>,
    }
}

robot_detection_layer::words! {
    /// State of a run.
    #[derive(Deserialize, Serialize)]
    // An index allows one `Running` run a site. It ends as one of the others, of which only `Held`
    // changes once more: to `Finished`, when somebody accepts its results.
    #[non_exhaustive]
    pub enum RunState {
        /// It goes on, or was cut off and can be resumed.
        Running = "running",
        /// It came to its end.
        Finished = "finished",
        /// It came to its end, and its results wait until somebody accepts them.
        Held = "held",
        /// It was given up for another one.
        Abandoned = "abandoned",
    }
}

robot_detection_layer::words! {
    /// Command to the instances that work on a run.
    #[derive(Default)]
    pub enum RunCommand {
        /// Work.
        #[default]
        Run = "run",
        /// Wait until they shall work.
        Pause = "pause",
        /// Finish what they have begun, and leave the rest for later.
        Stop = "stop",
    }
}

columns! {
    /// Counts of a run.
    #[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
    pub struct RunCounts {
        /// URLs that were found and accepted.
        pub found: u64,
        /// Answers received, those without a body included.
        pub fetched: u64,
        /// Pages that are as they were (304, or the same content).
        pub unmodified: u64,
        /// Bytes of bodies.
        pub bytes: u64,
        /// Resource descriptions that are new.
        pub added: u64,
        /// Resource descriptions that changed.
        pub changed: u64,
        /// Resource descriptions that were made again and say the same.
        pub same: u64,
        /// Resource descriptions that were withdrawn.
        pub withdrawn: u64,
        /// Pages that were fetched and are not described: filters, META tags, statuses.
        pub rejected: u64,
        /// URLs that could not be fetched in the end.
        pub failed: u64,
    }
}

impl Frontier<'_> {
    /// Resumes a site's run that was cut off, or begins one.
    ///
    /// A run with other settings is given up, and another one begun, as are the results of one
    /// that were held back. The second value tells whether it is resumed.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
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
            // Half of the site was judged by other settings; the other half would not fit to it.
            let abandoned = RunState::Abandoned.as_str();
            let values = [open.run_id.into(), abandoned.into(), now_ms.into()];
            transaction.execute(&sql::END_RUN, &values).await?;
        }
        let added = [site.into(), settings.into(), now_ms.into()];
        // Of two that begin at once, the second resumes the run of the first.
        let added = transaction.execute(&sql::ADD_RUN, &added).await?;
        if added > 0 {
            forget_staged(&mut transaction, site).await?;
        }
        let run: StoredRun = transaction.one(&sql::OPEN_RUN, &values).await?;
        transaction.execute(&sql::PRUNE_RUNS, &values).await?;
        transaction.commit().await?;
        Ok((run, added == 0))
    }

    /// Sets the command to the instances that work on a site's run; returns `true` if there is one.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn set_run_command(self, site: &str, wanted: RunCommand) -> Result<bool, StoreError> {
        let values = [site.into(), wanted.as_str().into()];
        let told = self.db.execute(&sql::WANT_RUN, &values).await?;
        Ok(told > 0)
    }

    /// Abandons a site's run, if there is one: the next one begins anew.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn abandon_run(self, site: &str, now_ms: i64) -> Result<bool, StoreError> {
        let Some(run) = self.open_run(site).await? else {
            return Ok(false);
        };
        self.end_run(run.run_id, RunState::Abandoned, now_ms).await
    }

    /// Returns a site's run that has not ended.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn open_run(self, site: &str) -> Result<Option<StoredRun>, StoreError> {
        self.db.first(&sql::OPEN_RUN, &[site.into()]).await
    }

    /// Returns a run.
    ///
    /// # Errors
    ///
    /// `NotFound` when it is not there any more; else as the database fails.
    pub async fn run(self, run_id: i64) -> Result<StoredRun, StoreError> {
        let row: Option<StoredRun> = self.db.first(&sql::RUN, &[run_id.into()]).await?;
        row.ok_or_else(|| {
            StoreError::new(
                StoreErrorKind::NotFound,
                format!("run {run_id} of the site robot is not in the database any more"),
            )
        })
    }

    /// Returns the last runs of a site, the newest first; the last 100 are kept.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn runs(self, site: &str, limit: u32) -> Result<Vec<StoredRun>, StoreError> {
        let values = [site.into(), i64::from(limit).into()];
        self.db.rows(&sql::RUNS, &values).await
    }

    /// Returns the sites whose robots have run, in order; nothing need be described yet.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn run_sites(self) -> Result<Vec<String>, StoreError> {
        self.db.column(&sql::RUN_SITES, &[]).await
    }

    /// Ends a run; returns whether this call did it.
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

    /// Returns the values in the order of the statement that counts.
    pub(super) fn values(&self, run_id: i64) -> [Value<'static>; 11] {
        values![
            self; found, fetched, unmodified, bytes, added, changed, same, withdrawn, rejected,
            failed; run_id
        ]
    }
}
