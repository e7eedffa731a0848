//! The store is brought in line with program and configuration.

use std::sync::atomic::Ordering;

use tracing::{debug, info, warn};

use super::{
    fingerprint::{Fingerprint, OriginKind},
    history::made_from,
    shared::Shared,
};
use crate::store::{SourceState, StoreError, StoredRobot};
use robot_detection_layer::detect::self_test;
use robot_detection_layer::registry::{Format, Robot, Source, bundled};

/// URL under which the bundled registry is stored.
const BUNDLED_URL: &str = "bundled with the program";

impl Shared {
    /// Carries out [`Refresher::prepare`](super::Refresher::prepare).
    pub(super) async fn prepare(&self, use_bundled: bool) -> Result<(), StoreError> {
        let bundled = if use_bundled {
            self.bundled().await
        } else {
            Vec::new()
        };
        let result = self.bring_in(&bundled).await;
        match &result {
            Ok(()) => self.set_unprepared(None),
            Err(error) => {
                self.set_unprepared(Some(use_bundled));
                self.serve_from_memory(bundled, error).await;
            }
        }
        result
    }

    /// Returns the bundled registry, tested.
    async fn bundled(&self) -> Vec<Robot> {
        let reading = || {
            let mut robots = bundled().robots;
            self_test(&mut robots);
            robots
        };
        let read = self.tracker.spawn_blocking(reading).await;
        read.unwrap_or_default()
    }

    async fn bring_in(&self, bundled: &[Robot]) -> Result<(), StoreError> {
        let source = Source::bundled();
        if bundled.is_empty() {
            if self.row_count(&source).await? > 0 {
                self.drop_source(&source).await?;
            }
        } else if differs(&self.store.robots().await?, bundled) {
            self.store_bundled(bundled).await?;
        }
        self.reload().await.map(|_| ())
    }

    /// Drops the robots of sources that were configured once and are no more.
    ///
    /// Done once by an instance: were it done again and again, instances with
    /// an older and a newer configuration would undo each other's work.
    pub(super) async fn drop_abandoned(&self) -> Result<(), StoreError> {
        if self.is_tidy.load(Ordering::SeqCst) {
            return Ok(());
        }
        for count in self.store.robot_counts().await? {
            if self.is_abandoned(&count.source).await? {
                self.drop_source(&count.source).await?;
            }
        }
        // Only when all are gone: if the database failed before, the next round begins again.
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
            .replace_source(&source, robots, &state, now_ms)
            .await?;
        info!(
            robots = robots.len(),
            "brought in the {} robots that come with the program: {} added, {} changed, {} removed",
            robots.len(),
            changes.added.len(),
            changes.changed.len(),
            changes.removed.len(),
        );
        Ok(())
    }

    /// Returns `true` if a source was configured once and is no more.
    async fn is_abandoned(&self, source: &Source) -> Result<bool, StoreError> {
        let is_kept = [Source::manual(), Source::bundled()].contains(source);
        if is_kept || self.spec(source).is_some() {
            return Ok(false);
        }
        let state = self.store.source_state(source).await?;
        let made = state.as_ref().and_then(made_from);
        Ok(made.is_none_or(|made| made.origin() == OriginKind::Configured))
    }

    async fn drop_source(&self, source: &Source) -> Result<(), StoreError> {
        let robots = self.store.drop_source(source).await?;
        info!(%source, robots, "dropped {robots} robots of {source}, which is configured no more");
        Ok(())
    }

    /// Puts the bundled registry into force, unless a detector is in force already.
    async fn serve_from_memory(&self, bundled: Vec<Robot>, error: &StoreError) {
        if self.detector.load().robots().is_empty() {
            match self.build(bundled).await {
                Ok(detector) => self.detector.replace_robots(&detector),
                Err(reason) => debug!("the bundled registry cannot serve: {reason}"),
            }
        }
        let reason = error.to_string();
        if self.is_news("prepare", &reason) {
            let robots = self.detector.load().robots().len();
            warn!(
                robots,
                "{robots} robots serve from memory until the database answers: {reason}"
            );
        }
    }
}

/// Returns `true` if the stored robots of the bundled registry are other ones.
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
