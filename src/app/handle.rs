//! The handle that an application keeps.

use std::sync::Arc;

use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::admin::{self, Access, Admin, SharedSettings};
use crate::clock::Clock;
use crate::detect::SharedDetector;
use crate::layer::RobotDetectionLayer;
use crate::policy::SharedPolicy;
use crate::refresh::Refresher;
use crate::store::Store;

use super::RobotDetectionBuilder;

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
    pub(super) refresher: Refresher,
    pub(super) clock: Clock,
    pub(super) access: Access,
    pub(super) hosts: Vec<String>,
    pub(super) settings: SharedSettings,
    pub(super) tasks: TaskTracker,
    pub(super) stop: CancellationToken,
}

impl RobotDetection {
    /// Returns a builder with the original package's defaults.
    pub fn builder() -> RobotDetectionBuilder {
        RobotDetectionBuilder::new()
    }

    pub(super) fn new(inner: Arc<Inner>) -> Self {
        let layer = RobotDetectionLayer::new(inner.detector.clone(), inner.policy.clone());
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
            refresher: self.inner.refresher.clone(),
            settings: self.inner.settings.clone(),
            clock: self.inner.clock.clone(),
            access: self.inner.access.clone(),
            hosts: self.inner.hosts.clone(),
            tasks: self.inner.tasks.clone(),
        })
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
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
