//! One run, with what goes along with it and what comes after it.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use crate::filter::Commands as _;
use crate::heaven::Published;
use crate::site_robot::{Summary, has_ended, holder_name};
use crate::store::RunState;

use super::SiteRobotRuns;

/// How long others believe that a run goes on without hearing of it.
const LEASE: Duration = Duration::from_mins(2);

/// How often they hear of it.
const RENEW: Duration = Duration::from_secs(30);

/// What came of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Ran {
    /// What the robot did.
    pub summary: Summary,
    /// The heaven that was published, if it was.
    pub published: Option<Published>,
    /// Why `cmd-hook` failed, if it was started and did.
    pub hook_failure: Option<String>,
}

/// Right to run a site's robot, held until the run has ended.
struct Lease<'r> {
    runs: &'r SiteRobotRuns,
    name: String,
    holder: String,
}

impl SiteRobotRuns {
    /// Runs the robot to its end, publishes heaven, and starts `cmd-hook`.
    ///
    /// A run that was cut off is resumed. One that is stopped publishes nothing.
    ///
    /// # Errors
    ///
    /// Fails when the database, the robot or the publication does.
    pub async fn run(&self) -> anyhow::Result<Ran> {
        let lease = Lease::new(self);
        lease.renew().await?;
        let ran = self.run_with(&lease).await;
        lease.release().await;
        ran
    }

    /// Does the same, unless another process runs the robot of this site.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::run`] does.
    pub async fn run_if_free(&self) -> anyhow::Result<Option<Ran>> {
        let lease = Lease::new(self);
        if !lease.renew().await? {
            return Ok(None);
        }
        let ran = self.run_with(&lease).await;
        lease.release().await;
        ran.map(Some)
    }

    async fn run_with(&self, lease: &Lease<'_>) -> anyhow::Result<Ran> {
        let ended = CancellationToken::new();
        let running = async {
            let _ended = ended.clone().drop_guard();
            self.robot.run().await
        };
        let (summary, ()) = tokio::join!(running, self.go_along(lease, &ended));
        let summary = summary?;
        if summary.state != RunState::Finished {
            return Ok(Ran {
                summary,
                published: None,
                hook_failure: None,
            });
        }
        Ok(Ran {
            published: self.publication.publish().await?,
            hook_failure: self.start_hook(&summary).await,
            summary,
        })
    }

    /// Keeps the lease, and publishes what a long run has brought so far.
    async fn go_along(&self, lease: &Lease<'_>, ended: &CancellationToken) {
        let publishing = self.publish_batches(ended);
        let renewing = async {
            while ended
                .run_until_cancelled(tokio::time::sleep(RENEW))
                .await
                .is_some()
            {
                if let Err(error) = lease.renew().await {
                    tracing::warn!("the site robot's lease was not renewed: {error}");
                }
            }
        };
        tokio::join!(publishing, renewing);
    }

    /// Publishes every now and then (`index-after-ngenerated`); not broken off in the middle.
    async fn publish_batches(&self, ended: &CancellationToken) {
        let pause = || tokio::time::sleep(self.publish_every);
        while ended.run_until_cancelled(pause()).await.is_some() {
            if let Err(error) = self.publication.publish().await {
                tracing::warn!("robot heaven stays as it was during the run: {error}");
            }
        }
    }

    /// Starts `cmd-hook` where something was described; returns why it failed.
    async fn start_hook(&self, summary: &Summary) -> Option<String> {
        let counts = &summary.counts;
        let hook = self.hook.clone()?;
        if counts.added + counts.changed + counts.same == 0 {
            return None;
        }
        let programs = Arc::clone(&self.programs);
        let ended = tokio::task::spawn_blocking(move || programs.run(&hook, b"")).await;
        let failure = match ended {
            Ok(Ok(_)) => return None,
            Ok(Err(reason)) => reason,
            Err(error) => error.to_string(),
        };
        tracing::warn!("cmd-hook: {failure}");
        Some(failure)
    }
}

impl<'r> Lease<'r> {
    fn new(runs: &'r SiteRobotRuns) -> Self {
        Self {
            runs,
            name: format!("site-robot:{}", runs.robot.site()),
            holder: holder_name(),
        }
    }

    /// Takes it or holds on to it; false while somebody else has it.
    async fn renew(&self) -> Result<bool, crate::store::StoreError> {
        let now_ms = self.runs.clock.now_ms();
        let store = &self.runs.store;
        let acquire = || store.acquire_lease(&self.name, &self.holder, now_ms, LEASE);
        if acquire().await? {
            return Ok(true);
        }
        // Who was killed has not given it back.
        match store.lease_holder(&self.name).await? {
            Some(other) if has_ended(&other) => {
                store.release_lease(&self.name, &other).await?;
                acquire().await
            }
            _ => Ok(false),
        }
    }

    async fn release(self) {
        let released = self
            .runs
            .store
            .release_lease(&self.name, &self.holder)
            .await;
        if let Err(error) = released {
            tracing::debug!("the site robot's lease was not released: {error}");
        }
    }
}
