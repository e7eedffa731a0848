//! The one task that carries counts over to the database.

use std::{sync::Arc, time::Duration};

use tracing::warn;

use robot_detection_store::store::{
    CountedMinute, CountedPaths, LiveMinutes, Outage, Store, StoreError, StoreErrorKind,
    TrafficBatch,
};

use super::{
    counters::Counters,
    paths::Window,
    pending::{Pending, PendingPaths},
};

/// Milliseconds from one batch to the next; a process that is killed loses what came since.
///
/// A divisor of a minute: no batch holds requests of two.
const EVERY_MS: i64 = 5_000;

const MINUTE_MS: i64 = 60_000;

/// Minutes between two removals of what is too old.
const PRUNE_EVERY: i64 = 60;

/// Writer of one process.
#[derive(Debug)]
pub(super) struct Writer {
    store: Store,
    /// Another one for each start, as a number below is used once.
    name: String,
    pending: Pending,
    pending_paths: PendingPaths,
    sites: Vec<Arc<str>>,
    /// Batch that has not been added, as far as is known; it stays as it is until it has.
    batch: Option<Batch>,
    /// Number of the last batch.
    number: i64,
    begun: i64,
    /// Time up to which requests have been collected.
    collected_ms: i64,
    /// Last minute that is known to be noted as counted.
    noted: Option<i64>,
    pruned: Option<i64>,
    outage: Outage,
}

/// What is added in one transaction.
#[derive(Debug)]
struct Batch {
    number: i64,
    counted: Vec<CountedMinute>,
    paths: Vec<CountedPaths>,
    live: Vec<LiveMinutes>,
    minute: i64,
}

impl Writer {
    pub(super) fn new(store: Store, now_ms: i64) -> Self {
        Self {
            store,
            name: format!("{:x}-{:08x}", now_ms, fastrand::u32(..)),
            pending: Pending::default(),
            pending_paths: PendingPaths::default(),
            sites: Vec::new(),
            batch: None,
            number: 0,
            begun: now_ms.div_euclid(MINUTE_MS),
            collected_ms: now_ms,
            noted: None,
            pruned: None,
            outage: Outage::new(
                "traffic is counted in memory until the database takes it",
                "the database takes what is counted of traffic again",
            ),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the time until the next batch, which falls on every full minute too.
    pub(super) fn until_next(now_ms: i64) -> Duration {
        let left_ms = EVERY_MS - now_ms.rem_euclid(EVERY_MS);
        Duration::from_millis(left_ms.unsigned_abs())
    }

    /// Takes out what was counted since the last time.
    pub(super) fn collect(&mut self, counters: &Counters, now_ms: i64) {
        // It came in the minute in which it began to be counted: the timer rings at its end.
        let minute = self.collected_ms.div_euclid(MINUTE_MS);
        self.pending.add(minute, counters.take());
        self.sites = counters.site_names();
        self.collected_ms = now_ms;
    }

    /// Removes the paths of a minute that is over, and at the end those of the last one.
    pub(super) fn collect_paths(&mut self, window: &mut Window, now_ms: i64, is_last: bool) {
        let minute = self.collected_ms.div_euclid(MINUTE_MS);
        let is_over = is_last || now_ms.div_euclid(MINUTE_MS) != minute;
        if is_over && !window.is_empty() {
            self.pending_paths.add(window.take(minute));
        }
    }

    /// Adds what was collected to the sums, and removes what is too old.
    pub(super) async fn write(&mut self) {
        // After a failure there are two: the batch that failed, and what has come since.
        while let Some(batch) = self.batch.take().or_else(|| self.next_batch()) {
            let added = TrafficBatch {
                writer: &self.name,
                number: batch.number,
                counted: &batch.counted,
                paths: &batch.paths,
                live: &batch.live,
            };
            if let Err(error) = self.store.traffic().add(&added, self.collected_ms).await {
                self.batch = Some(batch);
                return self.outage.failed(&error);
            }
            self.noted = Some(batch.minute);
            self.outage.succeeded();
            // What is not trimmed now is with the next paths of the same hour.
            for paths in &batch.paths {
                if let Err(error) = self.store.traffic().trim_paths(paths.minute).await {
                    return self.outage.failed(&error);
                }
            }
        }
        let hour = self.collected_ms.div_euclid(MINUTE_MS * PRUNE_EVERY);
        if self.pruned != Some(hour) {
            match self.prune().await {
                Ok(true) => self.pruned = Some(hour),
                // What is left of it is done after the next batch, which waits no longer.
                Ok(false) => {}
                Err(error) => self.outage.failed(&error),
            }
        }
    }

    /// Removes what is too old, and packs what has long ended; returns `true` once all is done.
    async fn prune(&self) -> Result<bool, StoreError> {
        self.store.traffic().prune(self.collected_ms).await?;
        match self.store.traffic().pack(self.collected_ms).await {
            Err(error) if error.kind() == StoreErrorKind::Corrupt => {
                warn!(%error, "some traffic that is kept cannot be read: {error}");
                Ok(true)
            }
            packed => packed,
        }
    }

    /// Returns what is to be added; `None` where nothing is new.
    fn next_batch(&mut self) -> Option<Batch> {
        let minute = self.collected_ms.div_euclid(MINUTE_MS);
        if self.pending.is_empty() && self.pending_paths.is_empty() && self.noted == Some(minute) {
            return None;
        }
        self.number += 1;
        let live = self.sites.iter().map(|site| LiveMinutes {
            site: site.to_string(),
            minutes: self.begun..=minute,
        });
        Some(Batch {
            number: self.number,
            counted: self.pending.take(),
            paths: self.pending_paths.take(),
            live: live.collect(),
            minute,
        })
    }

    /// Tells what is lost if nothing is written any more.
    pub(super) fn tell_lost(&self) {
        let batch = self.batch.iter().flat_map(|batch| &batch.counted);
        let lost: u64 = batch.map(|counted| counted.count.requests).sum();
        let lost = lost.saturating_add(self.pending.requests());
        if lost > 0 {
            warn!(
                lost,
                "{lost} requests are missing in the traffic that is kept: the database did not take them"
            );
        }
    }
}
