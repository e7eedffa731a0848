//! Preparation of the store for the current program version and configuration.

use std::sync::atomic::Ordering;

use tracing::{debug, error, info, warn};

use super::{
    fingerprint::{Fingerprint, OriginKind},
    history::fingerprint_of,
    shared::Shared,
};
use crate::store::{LeaseHolder, RefreshRecord, SourceState, StoreError, StoredRobot};
use robot_detection_layer::{
    detect::self_test,
    registry::{Format, Robot, Source, bundled},
};

/// The URL under which the bundled registry is stored.
const BUNDLED_URL: &str = "bundled with the program";

impl Shared {
    /// Implements [`Refresher::prepare`](super::Refresher::prepare).
    pub(super) async fn prepare(&self, use_bundled: bool) -> Result<(), StoreError> {
        self.prepare_with(use_bundled, || bundled().robots).await
    }

    /// Prepares the store with the bundled registry returned by `read`.
    async fn prepare_with(
        &self,
        use_bundled: bool,
        read: impl FnOnce() -> Vec<Robot> + Send + 'static,
    ) -> Result<(), StoreError> {
        let bundled = if use_bundled {
            self.tested(read).await
        } else {
            Vec::new()
        };
        let result = self.store_bundled_registry(use_bundled, &bundled).await;
        match &result {
            Ok(()) => self.set_pending_preparation(None),
            Err(error) => {
                self.set_pending_preparation(Some(use_bundled));
                self.serve_from_memory(bundled, error).await;
            }
        }
        result
    }

    /// Returns the robots from `read` after the self-test, or no robots if reading them panics.
    async fn tested(&self, read: impl FnOnce() -> Vec<Robot> + Send + 'static) -> Vec<Robot> {
        let reading = move || {
            let mut robots = read();
            self_test(&mut robots);
            robots
        };
        let read = self.tracker.spawn_blocking(reading).await;
        read.unwrap_or_default()
    }

    async fn store_bundled_registry(
        &self,
        use_bundled: bool,
        bundled: &[Robot],
    ) -> Result<(), StoreError> {
        let source = Source::bundled();
        if !use_bundled {
            if self.row_count(&source).await? > 0 {
                self.drop_source(&source).await?;
            }
        } else if bundled.is_empty() {
            // Old data is kept until new data is known to be good.
            error!("cannot read the bundled registry; using the stored copy");
        } else if differs(&self.store.robots().list().await?, bundled) {
            self.store_bundled(bundled).await?;
        }
        self.reload().await.map(|_| ())
    }

    /// Removes the robots from sources that are no longer configured.
    ///
    /// This runs once per instance: otherwise, instances with older and newer configurations would
    /// undo each other's changes.
    pub(super) async fn drop_abandoned(&self) -> Result<(), StoreError> {
        if self.is_tidy.load(Ordering::SeqCst) {
            return Ok(());
        }
        for count in self.store.robots().counts().await? {
            if self.is_abandoned(&count.source).await? {
                self.drop_source(&count.source).await?;
            }
        }
        // Set only when all robots have been removed, so that a database error leads to another
        // attempt.
        self.is_tidy.store(true, Ordering::SeqCst);
        Ok(())
    }

    async fn store_bundled(&self, robots: &[Robot]) -> Result<(), StoreError> {
        let now_ms = self.clock.now_ms();
        let made = Fingerprint::new(OriginKind::Configured, Format::WebRobotsDb, &[]);
        let state = SourceState {
            url: BUNDLED_URL.to_owned(),
            content_sha256: Some(made.to_string()),
            succeeded_ms: Some(now_ms),
            ..SourceState::default()
        };
        let source = Source::bundled();
        let changes = self
            .store
            .robots()
            .replace_source(&source, robots, &state, now_ms)
            .await?;
        info!(
            robots = robots.len(),
            "stored the bundled registry of {} robots: {} added, {} changed, {} removed",
            robots.len(),
            changes.added.len(),
            changes.changed.len(),
            changes.removed.len(),
        );
        Ok(())
    }

    /// Returns `true` if a source used to be configured but is no longer configured.
    async fn is_abandoned(&self, source: &Source) -> Result<bool, StoreError> {
        let is_kept = [Source::manual(), Source::bundled()].contains(source);
        if is_kept || self.spec(source).is_some() {
            return Ok(false);
        }
        let state = self.store.refreshes().source_state(source).await?;
        let made = state.as_ref().and_then(fingerprint_of);
        Ok(made.is_none_or(|made| made.origin() == OriginKind::Configured))
    }

    async fn drop_source(&self, source: &Source) -> Result<(), StoreError> {
        let robots = self.store.robots().drop_source(source).await?;
        info!(%source, robots, "removed {robots} robots from {source}, which is no longer configured");
        Ok(())
    }

    /// Publishes the bundled registry unless the detector already contains robots.
    async fn serve_from_memory(&self, bundled: Vec<Robot>, error: &StoreError) {
        if self.detector.load().robots().is_empty() {
            match self.build(bundled).await {
                Ok(detector) => self.detector.replace_robots(&detector),
                Err(reason) => debug!("cannot use the bundled registry: {reason}"),
            }
        }
        let reason = error.to_string();
        if self.is_new_failure("prepare", &reason) {
            let robots = self.detector.load().robots().len();
            warn!(
                robots,
                "database unavailable; using {robots} robots in memory: {reason}"
            );
        }
    }
}

/// Returns `true` if the stored robots of the bundled registry differ from `bundled`.
fn differs(rows: &[StoredRobot], bundled: &[Robot]) -> bool {
    let source = Source::bundled();
    let by_id = |a: &&Robot, b: &&Robot| a.id.cmp(&b.id);
    let mut stored: Vec<&Robot> = rows
        .iter()
        .map(|row| &row.robot)
        .filter(|robot| robot.source == source)
        .collect();
    let mut wanted: Vec<&Robot> = bundled.iter().collect();
    stored.sort_by(by_id);
    wanted.sort_by(by_id);
    stored != wanted
}

/// The error of a failed refresh; the rows, the detector and the source state remain unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RefreshError {
    /// The configuration has no source with this name.
    #[error("unknown source {0:?}; `registry list` shows the sources")]
    UnknownSource(String),
    /// The source has no URL: its robots were added by hand or are bundled with the program.
    #[error("cannot refresh the source {0}: its robots are not downloaded")]
    Reserved(Source),
    /// Another process is already refreshing the same source and holds its lease.
    #[error("a refresh of {0} is already running {1}; wait until it finishes")]
    Busy(Source, LeaseHolder),
    /// The process was suspended until its lease expired, and another process acquired the lease.
    #[error("cancelled the refresh of {0}: another process has started one")]
    Overtaken(Source),
    /// The program is shutting down, or the refresh was cancelled.
    #[error("cancelled the refresh of {0}: the program is shutting down")]
    Stopped(Source),
    /// The refresh failed; the history contains a record of it.
    #[error("{}", .0.error)]
    Failed(Box<RefreshRecord>),
    /// The document is held until an administrator accepts it; the history contains a record of it.
    #[error("held for review: {}", .0.error)]
    Held(Box<RefreshRecord>),
    /// The database is unavailable, so the refresh could not be recorded.
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::{FetchLimits, Fetcher};
    use crate::store::Store;
    use robot_detection_layer::clock::Clock;
    use robot_detection_layer::detect::SharedDetector;
    use robot_detection_layer::registry::{Pattern, PatternKind};

    fn robots() -> Vec<Robot> {
        let mut robot = Robot::new("examplefetcher", Source::bundled());
        robot.patterns = vec![Pattern::new(PatternKind::Token, "examplefetcher")];
        vec![robot]
    }

    #[tokio::test]
    async fn stored_rows_are_used_if_the_bundled_registry_cannot_be_read() {
        let store = Store::connect("sqlite::memory:").await.unwrap();
        let shared = |store: &Store| {
            let fetcher = Fetcher::new(FetchLimits::default()).unwrap();
            let (detector, clock) = (SharedDetector::default(), Clock::manual(1_000_000));
            Shared::new(store.clone(), fetcher, detector, clock, Vec::new())
        };
        let before = shared(&store);
        before.prepare_with(true, robots).await.unwrap();
        for fails in [true, false] {
            let after = shared(&store);
            let read = move || {
                assert!(!fails, "the parser panics");
                Vec::new()
            };
            after.prepare_with(true, read).await.unwrap();
            assert_eq!(after.detector.load().robots().len(), 1);
            assert_eq!(store.robots().list().await.unwrap().len(), 1);
        }
        before.prepare(false).await.unwrap();
        assert!(store.robots().list().await.unwrap().is_empty());
    }
}
