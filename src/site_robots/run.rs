//! One run, with what goes along with it and what comes after it.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::heaven::{HeavenError, PublishReport, publish};
use crate::index_now::IndexNowTold;
use crate::site_robot::{MayPublish, PublishTerms, Summary};
use crate::store::{Lease, LeaseError, Publication, RunState};

use super::{ParityPass, SiteRobotRuns, made::command};

/// How long others believe that a run goes on without hearing of it.
const LEASE: Duration = Duration::from_mins(2);

/// How often they hear of it.
// A quarter of `LEASE`: the database may be away for two of them.
const RENEW: Duration = Duration::from_secs(30);

/// What came of a run; a server tells it to the command that has handed the run over.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Ran {
    /// What the robot did.
    pub summary: Summary,
    /// The heaven that was published, if it was.
    pub published: Option<PublishedFiles>,
    /// What came of comparing pages of heaven with their originals, if any were.
    #[serde(default)]
    pub parity: Option<ParityPass>,
    /// What search engines were told, if they were.
    #[serde(default)]
    pub index_now: Option<IndexNowTold>,
    /// Why `cmd-hook` failed, if it was started and did.
    pub hook_failure: Option<String>,
}

/// Files of a heaven that was published.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PublishedFiles {
    /// Pages that there are now.
    pub pages: usize,
    /// Files that are new or other than before.
    pub written: usize,
    /// Files that are as they were.
    pub unchanged: usize,
    /// Whether anything differs from what was there.
    pub is_changed: bool,
}

impl SiteRobotRuns {
    /// Runs the robot to its end, publishes heaven, and starts `cmd-hook`.
    ///
    /// A run that was cut off is resumed. One that is stopped publishes nothing; of one that is
    /// held back only what pages say of themselves is published. Where results are held back and
    /// accepted, they are published without another run.
    ///
    /// # Errors
    ///
    /// Fails when the database, the robot or the publication does.
    pub async fn run(&self) -> anyhow::Result<Ran> {
        let lease = match self.lease().await {
            Ok(lease) => Some(lease),
            // It helps the process that runs it.
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

    /// Does the same, unless another process runs the robot of this site; `accept` accepts the results.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::run`] does, and with [`LeaseError::Held`] where another one does.
    pub(super) async fn run_if_free(&self, accept: bool) -> anyhow::Result<Ran> {
        let lease = self.lease().await?;
        let ran = self.run_with(Some(&lease), accept).await;
        self.tell_servers().await;
        lease.release().await;
        ran
    }

    /// Returns `true` if the results of the last run are held back.
    pub(super) async fn is_held(&self) -> bool {
        let last = self.store.frontier().runs(self.robot.site(), 1).await;
        last.is_ok_and(|last| last.iter().any(|run| run.held.is_some()))
    }

    /// Restores what was in force before the last publication; called again, undoes that.
    ///
    /// Returns the publication and how many pages are in force; nothing where there is none.
    ///
    /// # Errors
    ///
    /// Fails while the robot runs, and when the database or the publication does.
    pub async fn undo(&self) -> anyhow::Result<Option<(Publication, u64)>> {
        let lease = self.lease().await.map_err(|error| match error {
            LeaseError::Held(holder) => anyhow::anyhow!(
                "the site robot of {} runs, {holder}, and would publish again: stop it first",
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
        // Behind the release: an error must not keep the robot from running for two minutes.
        let undone = undone?;
        if undone.is_some() {
            self.publish().await?;
        }
        Ok(undone)
    }

    /// Publishes what the database holds into the directory of heaven, where there is one.
    ///
    /// # Errors
    ///
    /// Fails when the database or the file system does.
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

    /// Has servers look at once at what robot heaven is made of now.
    async fn tell_servers(&self) {
        if let Err(error) = self.store.orders().announce_heaven().await {
            tracing::debug!("servers see the new robot heaven within half a minute: {error}");
        }
    }

    async fn run_with(&self, lease: Option<&Lease>, accept: bool) -> anyhow::Result<Ran> {
        Box::pin(self.library.settle(self.heaven())).await?;
        if accept && let Some(question) = self.robot.hold() {
            anyhow::bail!("nothing is put in force: {question}");
        }
        if accept && let Some(summary) = self.robot.accept().await? {
            return self.end(summary, None).await;
        }
        let ended = CancellationToken::new();
        let running = async {
            // Also where the robot fails: `join!` would otherwise wait for the renewing for ever.
            let _ended = ended.clone().drop_guard();
            let may_publish: &MayPublish<'_> = &|| Box::pin(may_publish(lease));
            let terms = PublishTerms {
                accept,
                may_publish: Some(may_publish),
            };
            let summary = self.robot.run_on(&terms).await?;
            let parity = match summary.state {
                RunState::Finished => self.keep_parity(summary.run_id).await,
                _ => None,
            };
            anyhow::Ok((summary, parity))
        };
        let (ran, ()) = tokio::join!(running, self.go_along(lease, &ended));
        let (summary, parity) = ran?;
        self.end(summary, parity).await
    }

    async fn end(&self, summary: Summary, parity: Option<ParityPass>) -> anyhow::Result<Ran> {
        let mut ran = Ran {
            published: None,
            parity,
            index_now: None,
            hook_failure: None,
            summary,
        };
        if !matches!(ran.summary.state, RunState::Finished | RunState::Held) {
            return Ok(ran);
        }
        // The disk takes in what the run has recorded while files are made of it.
        let (published, written) = tokio::join!(self.publish(), self.store.checkpoint());
        if let Err(error) = written {
            tracing::warn!("what the run has recorded stays in the log for now: {error}");
        }
        ran.published = published?.as_ref().map(files);
        ran.index_now = self.tell_index_now(ran.summary.run_id).await;
        ran.hook_failure = self.start_hook(&ran.summary).await;
        Ok(ran)
    }

    /// Keeps the lease, and publishes what a long run has brought so far.
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
                        tracing::warn!(site, "another process runs the site robot of {site} now");
                    }
                    Err(error) => {
                        tracing::warn!("the site robot's lease was not renewed: {error}");
                    }
                }
            }
        };
        tokio::join!(publishing, renewing);
    }

    /// Publishes every now and then (`index-after-ngenerated`); not broken off in the middle.
    async fn publish_batches(&self, lease: Option<&Lease>, ended: &CancellationToken) {
        let pause = || tokio::time::sleep(self.settings.conf.index_after);
        while ended.run_until_cancelled(pause()).await.is_some() {
            if let Err(error) = self.publish_batch(lease).await {
                tracing::warn!("robot heaven stays as it was during the run: {error:#}");
            }
        }
    }

    /// Publishes new and changed pages; nothing is withdrawn before the end.
    async fn publish_batch(&self, lease: Option<&Lease>) -> anyhow::Result<()> {
        if may_publish(lease).await {
            self.robot.publish_so_far().await?;
            self.publish().await?;
        }
        Ok(())
    }

    /// Starts `cmd-hook` where something was described; returns why it failed.
    async fn start_hook(&self, summary: &Summary) -> Option<String> {
        let counts = &summary.counts;
        let hook = self.settings.conf.cmd_hook.as_deref();
        let hook = hook.and_then(command)?;
        if counts.added + counts.changed + counts.same == 0 {
            return None;
        }
        let programs = Arc::clone(&self.programs);
        // It blocks until the program ends, which may take as long as `convert-timeout`.
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

/// Returns `true` unless another process has taken the lease, or the database cannot tell.
async fn may_publish(lease: Option<&Lease>) -> bool {
    let Some(lease) = lease else { return true };
    lease.renew().await.unwrap_or_else(|error| {
        tracing::warn!("the site robot's lease was not renewed: {error}");
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
