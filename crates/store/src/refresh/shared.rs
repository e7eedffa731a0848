//! State shared by the clones of a refresher.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicBool, AtomicI64},
};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Progress, SourceSpec};
use crate::fetch::Fetcher;
use crate::store::{Store, StoreError};
use robot_detection_layer::clock::Clock;
use robot_detection_layer::detect::SharedDetector;
use robot_detection_layer::registry::Source;

/// The state shared by the clones of a refresher.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) store: Store,
    pub(super) fetcher: Fetcher,
    pub(super) detector: SharedDetector,
    pub(super) clock: Clock,
    pub(super) sources: ArcSwap<Vec<SourceSpec>>,
    pub(super) progress: watch::Sender<Progress>,
    pub(super) tracker: TaskTracker,
    pub(super) stop: CancellationToken,
    /// The random seed that makes the retry delays of different instances differ.
    pub(super) seed: u64,
    /// The lock held while the detector is being replaced, so that the newest detector remains.
    pub(super) reloading: tokio::sync::Mutex<()>,
    /// The registry version that is loaded into the detector.
    pub(super) loaded: AtomicI64,
    /// Whether the robots of removed sources have already been deleted.
    pub(super) is_tidy: AtomicBool,
    /// The argument of a `prepare` call that has not yet succeeded.
    unprepared: Mutex<Option<bool>>,
    /// The last logged reason for each ongoing failure.
    told: Mutex<HashMap<String, String>>,
}

impl Shared {
    pub(super) fn new(
        store: Store,
        fetcher: Fetcher,
        detector: SharedDetector,
        clock: Clock,
        sources: Vec<SourceSpec>,
    ) -> Self {
        Self {
            store,
            fetcher,
            detector,
            clock,
            sources: ArcSwap::from_pointee(sources),
            progress: watch::Sender::new(Progress::Idle),
            tracker: TaskTracker::new(),
            stop: CancellationToken::new(),
            seed: fastrand::u64(..),
            reloading: tokio::sync::Mutex::new(()),
            // Less than any version, so that the first check loads the registry.
            loaded: AtomicI64::new(i64::MIN),
            is_tidy: AtomicBool::new(false),
            unprepared: Mutex::default(),
            told: Mutex::default(),
        }
    }

    pub(super) fn spec(&self, source: &Source) -> Option<SourceSpec> {
        let sources = self.sources.load();
        sources.iter().find(|spec| spec.source == *source).cloned()
    }

    pub(super) async fn row_count(&self, source: &Source) -> Result<u64, StoreError> {
        let counts = self.store.robots().counts().await?;
        Ok(counts
            .iter()
            .filter(|count| count.source == *source)
            .map(|count| count.active + count.quarantined + count.unusable)
            .sum())
    }

    pub(super) fn pending_preparation(&self) -> Option<bool> {
        *self.unprepared.lock()
    }

    pub(super) fn set_pending_preparation(&self, wanted: Option<bool>) {
        *self.unprepared.lock() = wanted;
    }

    /// Returns `true` if the reason for a failure differs from the previous reason logged for this
    /// key.
    ///
    /// This ensures that an ongoing failure is logged once, rather than at each retry.
    pub(super) fn is_new_failure(&self, key: &str, reason: &str) -> bool {
        let before = self.told.lock().insert(key.to_owned(), reason.to_owned());
        before.as_deref() != Some(reason)
    }

    /// Removes the failure reason logged for this key. Returns `true` if there was such a reason.
    pub(super) fn clear_failure(&self, key: &str) -> bool {
        self.told.lock().remove(key).is_some()
    }
}
