//! A site robot run, with the steps during and after the run.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::heaven::{HeavenError, PublishReport, publish};
use crate::site_robot::{PublishConditions, PublishPermission, Summary};
use crate::store::{Lease, LeaseError, Publication, RunState};

use super::{ParityPass, SiteRobotRuns, made::command};

/// The time after which a run is considered ended if its lease was not renewed.
const LEASE: Duration = Duration::from_mins(2);

/// The interval at which the lease is renewed.
// A quarter of `LEASE`: the database may be unavailable for two renewals.
const RENEW: Duration = Duration::from_secs(30);

/// The result of a run; a server passes it to the command that handed the run over.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct RunResult {
    /// The summary of the run, with counts of the robot's visits.
    pub summary: Summary,
    /// Files of the published heaven, if heaven was published.
    pub published: Option<PublishedFiles>,
    /// The result of comparing heaven pages with their originals, if they were compared.
    #[serde(default)]
    pub parity: Option<ParityPass>,
    /// The reason for the failure of `cmd-hook`, if it failed.
    pub hook_failure: Option<String>,
}

/// The counts of a published heaven's pages and files.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PublishedFiles {
    /// The number of pages in the published heaven.
    pub pages: usize,
    /// The number of new or changed files in the published heaven.
    pub written: usize,
    /// The number of unchanged files in the published heaven.
    pub unchanged: usize,
    /// Whether the publication changed any file.
    pub is_changed: bool,
}

impl SiteRobotRuns {
    /// Executes a run of the site robot, then publishes heaven and starts `cmd-hook`.
    ///
    /// An interrupted run is resumed. A stopped run publishes nothing; a run held for review only
    /// hides pages that forbid publication. If results that were held for review are accepted, they
    /// are published without another run.
    ///
    /// # Errors
    ///
    /// Returns an error if the database, the robot or the publication fails.
    pub async fn run(&self) -> anyhow::Result<RunResult> {
        let lease = match self.lease().await {
            Ok(lease) => Some(lease),
            // This process helps the process that holds the lease.
            Err(LeaseError::Held(_)) => None,
            Err(error) => return Err(error.into()),
        };
        let ran = self.run_with(lease.as_ref(), self.settings.accept).await;
        self.tell_servers().await;
        if let Some(lease) = lease {
            lease.release().await;
        }
        ran
    }

    /// Runs the site robot unless another process is running it for this site; `accept` accepts
    /// results that would be held for review.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::run`], or [`LeaseError::Held`] if another process is running
    /// the robot.
    pub(super) async fn run_if_free(&self, accept: bool) -> anyhow::Result<RunResult> {
        let lease = self.lease().await?;
        let ran = self.run_with(Some(&lease), accept).await;
        self.tell_servers().await;
        lease.release().await;
        ran
    }

    /// Returns `true` if the results of the last run are held for review.
    pub(super) async fn is_held(&self) -> bool {
        let last = self.store.frontier().runs(self.robot.site(), 1).await;
        last.is_ok_and(|last| last.iter().any(|run| run.held.is_some()))
    }

    /// Rolls back the last publication; a second call undoes the rollback.
    ///
    /// Returns the restored publication and its number of pages, or `None` if no earlier
    /// publication exists.
    ///
    /// # Errors
    ///
    /// Returns an error if the site robot is running, or if the database or the publication fails.
    pub async fn undo(&self) -> anyhow::Result<Option<(Publication, u64)>> {
        let lease = self.lease().await.map_err(|error| match error {
            LeaseError::Held(holder) => anyhow::anyhow!(
                "the site robot of {} is running ({holder}) and would publish again: stop it first",
                self.robot.site()
            ),
            error => error.into(),
        })?;
        let now_ms = self.clock.now_ms();
        let undone = self
            .store
            .publications()
            .undo(self.robot.site(), now_ms)
            .await;
        lease.release().await;
        // Checked after the release, so that an error does not block the robot for two minutes.
        let undone = undone?;
        if undone.is_some() {
            self.publish().await?;
        }
        Ok(undone)
    }

    /// Publishes the pages in the database to heaven's directory, if one is set.
    ///
    /// # Errors
    ///
    /// Returns an error if a database or file operation fails.
    pub async fn publish(&self) -> Result<Option<PublishReport>, HeavenError> {
        let Some(directory) = self.settings.publishes_into() else {
            return Ok(None);
        };
        let published = publish(&self.library, directory, self.heaven()).await?;
        if published.is_changed {
            let (pages, directory) = (published.catalogue.len(), directory.display());
            tracing::info!(pages, %directory, "published robot heaven, {pages} pages, in {directory}");
        }
        Ok(Some(published))
    }

    async fn lease(&self) -> Result<Lease, LeaseError> {
        let name = format!("site-robot:{}", self.robot.site());
        self.store.leases().acquire(&name, LEASE).await
    }

    /// Notifies running servers that robot heaven has changed.
    async fn tell_servers(&self) {
        if let Err(error) = self.store.orders().announce_heaven().await {
            tracing::debug!(
                "cannot notify running servers, which will load the new robot heaven within 30 seconds: {error}"
            );
        }
    }

    async fn run_with(&self, lease: Option<&Lease>, accept: bool) -> anyhow::Result<RunResult> {
        Box::pin(self.library.settle(self.heaven())).await?;
        if accept && let Some(question) = self.robot.hold() {
            anyhow::bail!("nothing was published: {question}");
        }
        if accept && let Some(summary) = self.robot.accept().await? {
            return self.end(summary, None).await;
        }
        let ended = CancellationToken::new();
        let running = async {
            // The guard is also dropped if the robot fails: otherwise `join!` would wait for the
            // renewal forever.
            let _ended = ended.clone().drop_guard();
            let may_publish: &PublishPermission<'_> = &|| Box::pin(may_publish(lease));
            let terms = PublishConditions {
                accept,
                may_publish: Some(may_publish),
            };
            let summary = self.robot.run_on(&terms).await?;
            let parity = match summary.state {
                RunState::Finished => self.check_parity(summary.run_id).await,
                _ => None,
            };
            anyhow::Ok((summary, parity))
        };
        let (ran, ()) = tokio::join!(running, self.go_along(lease, &ended));
        let (summary, parity) = ran?;
        self.end(summary, parity).await
    }

    async fn end(&self, summary: Summary, parity: Option<ParityPass>) -> anyhow::Result<RunResult> {
        let mut ran = RunResult {
            published: None,
            parity,
            hook_failure: None,
            summary,
        };
        if !matches!(ran.summary.state, RunState::Finished | RunState::Held) {
            return Ok(ran);
        }
        // The data of the run is written to disk while files are created from it.
        let (published, written) = tokio::join!(self.publish(), self.store.checkpoint());
        if let Err(error) = written {
            tracing::warn!("cannot checkpoint the database after the run: {error}");
        }
        ran.published = published?.as_ref().map(files);
        ran.hook_failure = self.start_hook(&ran.summary).await;
        Ok(ran)
    }

    /// Renews the lease and publishes intermediate results during a long run.
    async fn go_along(&self, lease: Option<&Lease>, ended: &CancellationToken) {
        let publishing = self.publish_batches(lease, ended);
        let renewing = async {
            while ended
                .run_until_cancelled(tokio::time::sleep(RENEW))
                .await
                .is_some()
                && let Some(lease) = lease
            {
                match lease.renew().await {
                    Ok(true) => {}
                    Ok(false) => {
                        let site = self.robot.site();
                        tracing::warn!(
                            site,
                            "another process is now running the site robot of {site}"
                        );
                    }
                    Err(error) => {
                        tracing::warn!("cannot renew the site robot's lease: {error}");
                    }
                }
            }
        };
        tokio::join!(publishing, renewing);
    }

    /// Publishes intermediate results (`index-after-ngenerated`); a publication is never
    /// interrupted.
    async fn publish_batches(&self, lease: Option<&Lease>, ended: &CancellationToken) {
        let pause = || tokio::time::sleep(self.settings.conf.index_after);
        while ended.run_until_cancelled(pause()).await.is_some() {
            if let Err(error) = self.publish_batch(lease).await {
                tracing::warn!("cannot publish robot heaven during the run: {error:#}");
            }
        }
    }

    /// Publishes new and changed pages during a run; pages are withdrawn only at the end of the
    /// run.
    async fn publish_batch(&self, lease: Option<&Lease>) -> anyhow::Result<()> {
        if may_publish(lease).await {
            self.robot.publish_so_far().await?;
            self.publish().await?;
        }
        Ok(())
    }

    /// Starts `cmd-hook` if a page was described; returns the reason if the hook fails.
    async fn start_hook(&self, summary: &Summary) -> Option<String> {
        let counts = &summary.counts;
        let hook = self.settings.conf.cmd_hook.as_deref();
        let hook = hook.and_then(command)?;
        if counts.added + counts.changed + counts.same == 0 {
            return None;
        }
        let programs = Arc::clone(&self.programs);
        // Blocks until the program ends, which may take as long as `convert-timeout`.
        let ended = tokio::task::spawn_blocking(move || programs.run_hook(&hook)).await;
        let failure = match ended {
            Ok(Ok(())) => return None,
            Ok(Err(reason)) => reason,
            Err(error) => error.to_string(),
        };
        tracing::warn!("cmd-hook: {failure}");
        Some(failure)
    }
}

/// Returns `true` unless another process has acquired the lease; database errors are ignored.
async fn may_publish(lease: Option<&Lease>) -> bool {
    let Some(lease) = lease else { return true };
    lease.renew().await.unwrap_or_else(|error| {
        tracing::warn!("cannot renew the site robot's lease: {error}");
        false
    })
}

fn files(published: &PublishReport) -> PublishedFiles {
    PublishedFiles {
        pages: published.catalogue.len(),
        written: published.written,
        unchanged: published.unchanged,
        is_changed: published.is_changed,
    }
}
