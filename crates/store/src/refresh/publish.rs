//! Builds the detector from the stored robots.

use std::sync::{Arc, atomic::Ordering};

use tracing::{debug, error};

use super::shared::Shared;
use crate::store::StoreError;
use robot_detection_layer::detect::{BuildError, Detector};
use robot_detection_layer::registry::Robot;

impl Shared {
    /// Loads the stored robots into the detector. Returns the loaded version.
    ///
    /// The version is queried first, so rows that change in the meantime are loaded again later.
    pub(super) async fn reload(&self) -> Result<i64, StoreError> {
        let _one_at_a_time = self.reloading.lock().await;
        let version = self.store.registry_version().await?;
        let stored = self.store.robots().list().await?;
        let robots: Vec<Robot> = stored.into_iter().map(|row| row.robot).collect();
        match self.build(robots).await {
            Ok(detector) => {
                debug!(
                    robots = detector.robots().len(),
                    version, "loaded version {version} of the registry into the detector"
                );
                self.detector.replace_robots(&detector);
            }
            Err(reason) => error!(
                version,
                "cannot use version {version} of the registry; keeping the previous version: \
                 {reason}"
            ),
        }
        // Also set if the detector cannot be built, since another attempt would also fail.
        self.loaded.store(version, Ordering::SeqCst);
        Ok(version)
    }

    /// Builds a detector on a blocking thread.
    pub(super) async fn build(&self, robots: Vec<Robot>) -> Result<Detector, String> {
        self.tracker
            .spawn_blocking(move || build_now(robots))
            .await
            .map_err(|_| "building the detector was cancelled".to_owned())?
            .map_err(|error| error.to_string())
    }

    /// Returns the version of the registry in the detector.
    pub(super) fn loaded_version(&self) -> i64 {
        self.loaded.load(Ordering::SeqCst)
    }
}

fn build_now(robots: Vec<Robot>) -> Result<Detector, BuildError> {
    Detector::new(robots.into_iter().map(Arc::new))
}
