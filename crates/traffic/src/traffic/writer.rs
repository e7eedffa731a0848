//! The task that writes traffic counts to the database.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tracing::warn;

use robot_detection_store::store::{
    CountedPaths, LiveMinutes, MinuteCounts, OutageLogger, ParameterKey, Store, StoreError,
    StoreErrorKind, TrafficBatch, TrafficSpan,
};

use super::{
    counters::Counters,
    kept::Recorded,
    pending::{Pending, PendingPaths},
};

/// Milliseconds between two batches; if the process is killed, the counts since the last batch are
/// lost.
///
/// This interval divides a minute evenly, so that no batch contains requests from two minutes.
const EVERY_MS: i64 = 5_000;

const MINUTE_MS: i64 = 60_000;

/// Minutes between two deletions of old counts.
const PRUNE_EVERY: i64 = 60;

/// The writer of the traffic counts of one process.
#[derive(Debug)]
pub(super) struct Writer {
    store: Store,
    /// Name of the writer, generated at each startup, because each batch number must be used only
    /// once.
    name: String,
    pending: Pending,
    pending_paths: PendingPaths,
    /// Packed parameters that are still to be stored.
    pending_parameters: BTreeMap<ParameterKey, String>,
    sites: Vec<Arc<str>>,
    /// A batch that may not have reached the database yet; the batch is retried unchanged until it
    /// has been added.
    batch: Option<Batch>,
    /// Number of the most recent batch.
    number: i64,
    begun: i64,
    /// Time up to which requests have been collected, in milliseconds since 1970.
    collected_ms: i64,
    /// The last minute that the database records as counted.
    noted: Option<i64>,
    pruned: Option<i64>,
    outage: OutageLogger,
}

/// The data that is added in a single transaction.
#[derive(Debug)]
struct Batch {
    number: i64,
    counted: Vec<MinuteCounts>,
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
            pending_parameters: BTreeMap::new(),
            sites: Vec::new(),
            batch: None,
            number: 0,
            begun: now_ms.div_euclid(MINUTE_MS),
            collected_ms: now_ms,
            noted: None,
            pruned: None,
            outage: OutageLogger::new(
                "database unavailable, buffering traffic counters in memory",
                "database available again, writing buffered traffic counters",
            ),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the time until the next batch; a batch is also due at every full minute.
    pub(super) fn until_next(now_ms: i64) -> Duration {
        let left_ms = EVERY_MS - now_ms.rem_euclid(EVERY_MS);
        Duration::from_millis(left_ms.unsigned_abs())
    }

    /// Collects the counts since the previous call.
    pub(super) fn collect(&mut self, counters: &Counters, now_ms: i64) {
        // The timer fires at the end of a minute, so the counts belong to the minute in which their
        // collection started.
        let minute = self.collected_ms.div_euclid(MINUTE_MS);
        self.pending.add(minute, counters.take());
        self.sites = counters.site_names();
        self.collected_ms = now_ms;
    }

    /// Moves the paths and parameters of a finished minute to the pending ones; at shutdown, also
    /// those of the current minute.
    pub(super) fn collect_paths(&mut self, recorded: &mut Recorded, now_ms: i64, is_last: bool) {
        let minute = self.collected_ms.div_euclid(MINUTE_MS);
        let is_over = is_last || now_ms.div_euclid(MINUTE_MS) != minute;
        if !is_over || recorded.window.is_empty() {
            return;
        }
        let counted = recorded.window.take(minute);
        for (key, count) in &counted.rows {
            if let Some(parameters) = recorded.parameters.get_mut(&*key.site) {
                parameters.add_requests(&key.robot, &key.path, count.requests);
            }
        }
        self.pending_paths.add(counted);
        let day = TrafficSpan::Day.start(minute);
        for (site, parameters) in &mut recorded.parameters {
            for (robot, packed) in parameters.packed() {
                let key = ParameterKey {
                    began: day,
                    site: site.to_string(),
                    robot,
                    writer: self.name.clone(),
                };
                self.pending_parameters.insert(key, packed);
            }
        }
        if TrafficSpan::Day.start(now_ms.div_euclid(MINUTE_MS)) != day {
            recorded.parameters.clear();
        }
    }

    /// Writes the collected counts, and deletes old counts.
    pub(super) async fn write(&mut self) {
        // After a failure, the failed batch is written first, followed by newer counts.
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
                return self.outage.log_failure(&error);
            }
            self.noted = Some(batch.minute);
            self.outage.log_success();
            // Paths that are not trimmed now are trimmed with the next paths of the same hour.
            for paths in &batch.paths {
                if let Err(error) = self.store.traffic().trim_paths(paths.minute).await {
                    return self.outage.log_failure(&error);
                }
            }
        }
        while let Some((key, packed)) = self.pending_parameters.pop_first() {
            if let Err(error) = self.store.traffic().put_parameters(&key, &packed).await {
                self.pending_parameters.insert(key, packed);
                return self.outage.log_failure(&error);
            }
        }
        let hour = self.collected_ms.div_euclid(MINUTE_MS * PRUNE_EVERY);
        if self.pruned != Some(hour) {
            match self.prune().await {
                Ok(true) => self.pruned = Some(hour),
                // The remaining work is done after the next batch, which is not delayed.
                Ok(false) => {}
                Err(error) => self.outage.log_failure(&error),
            }
        }
    }

    /// Deletes old counts, and compacts the counts of past periods. Returns `true` once all work is
    /// done.
    async fn prune(&self) -> Result<bool, StoreError> {
        self.store.traffic().prune(self.collected_ms).await?;
        match self.store.traffic().pack(self.collected_ms).await {
            Err(error) if error.kind() == StoreErrorKind::Corrupt => {
                warn!(%error, "could not read some stored traffic: {error}");
                Ok(true)
            }
            packed => packed,
        }
    }

    /// Returns the next batch, or `None` if there is nothing to write.
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

    /// Logs the number of requests whose counts are lost because the process ends.
    pub(super) fn report_lost(&self) {
        let batch = self.batch.iter().flat_map(|batch| &batch.counted);
        let lost: u64 = batch.map(|counted| counted.count.requests).sum();
        let lost = lost.saturating_add(self.pending.requests());
        if lost > 0 {
            warn!(
                lost,
                "lost the traffic counts of {lost} requests: the database is unavailable"
            );
        }
    }
}
