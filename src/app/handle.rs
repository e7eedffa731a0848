//! The handle that an application keeps.

use std::sync::Arc;

use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::admin::{self, Access, Admin, SharedSettings};
use crate::clock::Clock;
use crate::detect::SharedDetector;
use crate::layer::RobotDetectionLayer;
use crate::policy::{Enforcer, SharedPolicy};
use crate::refresh::Refresher;
use crate::store::Store;

use super::{RobotDetectionBuilder, ServedRobotsTxt};

/// Handle on a running robot detection; clones share it.
///
/// Its jobs end at [`RobotDetection::shutdown`], or when the last clone is gone.
#[derive(Clone, Debug)]
pub struct RobotDetection {
    inner: Arc<Inner>,
    layer: RobotDetectionLayer,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) store: Store,
    pub(super) detector: SharedDetector,
    pub(super) policy: SharedPolicy,
    pub(super) enforcer: Enforcer,
    pub(super) refresher: Refresher,
    pub(super) clock: Clock,
    pub(super) access: Access,
    pub(super) hosts: Vec<String>,
    pub(super) settings: SharedSettings,
    pub(super) robots_txt: ServedRobotsTxt,
    pub(super) tasks: TaskTracker,
    pub(super) stop: CancellationToken,
}

impl RobotDetection {
    /// Returns a builder with the original package's defaults.
    pub fn builder() -> RobotDetectionBuilder {
        RobotDetectionBuilder::new()
    }

    pub(super) fn new(inner: Arc<Inner>) -> Self {
        let layer = RobotDetectionLayer::new(inner.detector.clone(), inner.policy.clone())
            .enforcer(inner.enforcer.clone())
            .clock(inner.clock.clone())
            .refusal_body(axum::body::Body::from);
        Self { inner, layer }
    }

    /// Returns the Tower layer; put it outside of the application's own login.
    #[must_use]
    pub fn layer(&self) -> RobotDetectionLayer {
        self.layer.clone()
    }

    /// Returns the admin pages as an axum router, to be nested under any path.
    ///
    /// Use `nest_service`, which answers with and without the slash at the end.
    pub fn admin_router(&self) -> axum::Router {
        admin::router(Admin {
            store: self.inner.store.clone(),
            detector: self.inner.detector.clone(),
            policy: self.inner.policy.clone(),
            enforcer: self.inner.enforcer.clone(),
            refresher: self.inner.refresher.clone(),
            settings: self.inner.settings.clone(),
            clock: self.inner.clock.clone(),
            access: self.inner.access.clone(),
            hosts: self.inner.hosts.clone(),
            tasks: self.inner.tasks.clone(),
        })
    }

    /// Returns a router that answers for `/robots.txt`, to be merged into the application's.
    ///
    /// It answers GET and HEAD as
    /// [`robots_txt`](RobotDetectionBuilder::robots_txt) planned it, with `ETag` and
    /// `Last-Modified`; caches keep it for five minutes. Where the plan is that
    /// the application answers itself, it answers 404: leave it out then.
    ///
    /// # Example
    ///
    /// ```no_run
    /// use robot_detection::app::{RobotDetection, RobotsTxtContent, RobotsTxtPlan, RobotsTxtRules};
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let rules = RobotsTxtRules::new().disallow(["/search"])?;
    /// let robots = RobotDetection::builder()
    ///     .robots_txt(RobotsTxtPlan::new(RobotsTxtContent::Settings(rules)))
    ///     .build()
    ///     .await?;
    /// let site: axum::Router = axum::Router::new()
    ///     .merge(robots.robots_txt_router())
    ///     .layer(robots.layer());
    /// # Ok(())
    /// # }
    /// ```
    pub fn robots_txt_router(&self) -> axum::Router {
        self.inner.robots_txt.router()
    }

    /// Returns what `/robots.txt` is on each host, and the rules in force there.
    #[must_use]
    pub fn served_robots_txt(&self) -> &ServedRobotsTxt {
        &self.inner.robots_txt
    }

    /// Returns the detector alone.
    #[must_use]
    pub fn detector(&self) -> &SharedDetector {
        &self.inner.detector
    }

    /// Returns the policy in force; replacing it takes effect at once.
    #[must_use]
    pub fn policy(&self) -> &SharedPolicy {
        &self.inner.policy
    }

    /// Returns what holds robots to robots.txt: settings, files and violations.
    #[must_use]
    pub fn enforcer(&self) -> &Enforcer {
        &self.inner.enforcer
    }

    /// Returns the database.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// Returns the job that keeps the registry up to date.
    #[must_use]
    pub fn refresher(&self) -> &Refresher {
        &self.inner.refresher
    }

    /// Returns the parameters that the admin page shows.
    #[must_use]
    pub fn shown_settings(&self) -> &SharedSettings {
        &self.inner.settings
    }

    /// Returns the clock.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.inner.clock
    }

    /// Ends the jobs, waits for them, closes the database.
    pub async fn shutdown(&self) {
        self.inner.stop.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
        self.inner.store.close().await;
    }

    pub(super) fn start_jobs(&self) {
        let refresher = self.inner.refresher.clone();
        let stop = self.inner.stop.clone();
        self.inner
            .tasks
            .spawn(async move { refresher.run(stop).await });
        let robots_txt = self.inner.robots_txt.clone();
        let stop = self.inner.stop.clone();
        self.inner
            .tasks
            .spawn(async move { robots_txt.run(stop).await });
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
