//! From the rows of the store to the detector in force.

use std::sync::{Arc, atomic::Ordering};

use tracing::{debug, error};

use super::shared::Shared;
use crate::store::StoreError;
use robot_detection_layer::detect::{BuildError, Detector};
use robot_detection_layer::registry::Robot;

impl Shared {
    /// Loads the stored robots into the detector; returns the version loaded.
    ///
    /// The version is asked for first: rows that change meanwhile are loaded
    /// once more, never forgotten.
    pub(super) async fn reload(&self) -> Result<i64, StoreError> {
        let _one_at_a_time = self.reloading.lock().await;
        let version = self.store.registry_version().await?;
        let stored = self.store.robots().list().await?;
        let robots: Vec<Robot> = stored.into_iter().map(|row| row.robot).collect();
        match self.build(robots).await {
            Ok(detector) => {
                debug!(
                    robots = detector.robots().len(),
                    version, "the detector holds version {version} of the registry"
                );
                self.detector.replace_robots(&detector);
            }
            Err(reason) => error!(
                version,
                "version {version} of the registry is not in force, the one before serves on: {reason}"
            ),
        }
        // Also where it cannot be built: asking again would change nothing.
        self.loaded.store(version, Ordering::SeqCst);
        Ok(version)
    }

    /// Builds a detector away from the threads that serve.
    pub(super) async fn build(&self, robots: Vec<Robot>) -> Result<Detector, String> {
        self.tracker
            .spawn_blocking(move || build_now(robots))
            .await
            .map_err(|_| "building it was given up".to_owned())?
            .map_err(|error| error.to_string())
    }

    /// Returns the version that the detector holds.
    pub(super) fn loaded(&self) -> i64 {
        self.loaded.load(Ordering::SeqCst)
    }
}

fn build_now(robots: Vec<Robot>) -> Result<Detector, BuildError> {
    Detector::new(robots.into_iter().map(Arc::new))
}
