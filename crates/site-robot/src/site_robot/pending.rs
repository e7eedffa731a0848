//! Queue of finished visits, which are recorded in batches.

use std::sync::Arc;

use robot_detection_store::store::{PageRecord, RunCommand, RunCounts, RunKey};

use super::run_loop::{LOW, RunLoop, TaskResult};

/// Number of pages recorded in one transaction if they finish within [`PAUSE_MS`].
const BATCH: usize = 32;

/// Maximum number of pages that have been visited but not recorded, which is enough for the
/// duration of a disk sync. After a crash, these pages are fetched again.
pub(super) const MAX_UNRECORDED: usize = 8 * BATCH;

/// Maximum total size of waiting pages, in bytes, which limits the memory used by their
/// descriptions.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Maximum time that a page waits to be recorded in a batch.
const PAUSE_MS: i64 = 50;

/// Finished visits that are waiting to be recorded.
///
/// Pages wait for each other for a short time, to share the cost of a transaction.
#[derive(Debug, Default)]
pub(super) struct Pending {
    pages: Vec<PageRecord>,
    counts: RunCounts,
    /// Time at which the first of the waiting pages arrived.
    since_ms: Option<i64>,
}

impl Pending {
    /// Adds a page that has yet to be recorded.
    pub(super) fn push(&mut self, page: PageRecord, counts: &RunCounts, now_ms: i64) {
        self.pages.push(page);
        self.counts.add(counts);
        self.since_ms.get_or_insert(now_ms);
    }

    /// Makes the pages due immediately, regardless of the clock, which may have been set back.
    pub(super) fn make_due(&mut self) {
        self.since_ms = self.since_ms.map(|_| i64::MIN);
    }

    pub(super) fn count(&mut self, counts: &RunCounts) {
        self.counts.add(counts);
    }

    /// Returns everything that is waiting, and resets the queue.
    pub(super) fn take(&mut self) -> (Vec<PageRecord>, RunCounts) {
        self.since_ms = None;
        (
            std::mem::take(&mut self.pages),
            std::mem::take(&mut self.counts),
        )
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pages.is_empty() && self.counts == RunCounts::default()
    }

    /// Returns `true` if there is no room for more pages.
    pub(super) fn is_full(&self) -> bool {
        self.counts.bytes >= MAX_BYTES
    }

    /// Returns `true` if enough pages are waiting, or if a page has waited long enough.
    pub(super) fn is_due(&self, now_ms: i64) -> bool {
        let is_late = || self.due_ms().is_some_and(|due_ms| due_ms <= now_ms);
        self.pages.len() >= BATCH || self.is_full() || is_late()
    }

    /// Returns the time at which the first page becomes due.
    pub(super) fn due_ms(&self) -> Option<i64> {
        Some(self.since_ms?.saturating_add(PAUSE_MS))
    }
}

impl RunLoop {
    /// Records the waiting pages, unless pages are already being recorded.
    pub(super) fn record(&mut self) {
        if self.is_recording || self.pending.is_empty() || !self.is_record_due() {
            return;
        }
        self.is_recording = true;
        self.position += 1;
        let (pages, counts) = self.pending.take();
        let (visitor, run_id, position) =
            (Arc::clone(&self.visitor), self.run.run_id, self.position);
        let recording = async move {
            let settings = visitor.settings();
            let key = RunKey {
                site: &settings.site,
                run_id,
                settings: &visitor.fingerprint,
                position,
            };
            let now_ms = settings.clock.now_ms();
            let recorded = settings
                .frontier()
                .record_pages(&key, &pages, &counts, now_ms);
            Ok(TaskResult::RecordSummary {
                recorded: recorded.await?,
                pages: pages.len(),
            })
        };
        self.spawn_database_work(recording);
    }

    /// Returns `true` if the waiting pages should be recorded now, without waiting for more.
    fn is_record_due(&self) -> bool {
        // A short queue needs new links, and nothing may be lost before a pause or stop.
        let is_short = self.hosts.queued() < LOW && !self.is_taking;
        let is_wanted = is_short || self.wanted != RunCommand::Run || self.is_over;
        is_wanted || self.active == 0 || self.pending.is_due(self.now_ms())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use robot_detection_store::store::ClaimedUrl;

    fn page(number: usize) -> PageRecord {
        let url = format!("http://a.example/{number}");
        PageRecord::new(ClaimedUrl::new(url, "a.example:80"), "")
    }

    #[test]
    fn pages_wait_briefly_for_each_other() {
        let (mut pending, counts) = (Pending::default(), RunCounts::default());
        assert!(pending.is_empty() && !pending.is_due(i64::MAX));
        pending.push(page(0), &counts, 1_000);
        pending.push(page(1), &counts, 1_040);
        assert_eq!(
            (pending.is_due(1_049), pending.is_due(1_050)),
            (false, true)
        );
        assert_eq!(pending.take().0.len(), 2);
        pending.make_due();
        assert!(pending.is_empty() && pending.due_ms().is_none());
        pending.push(page(2), &counts, 2_000);
        pending.make_due();
        assert!(pending.is_due(0));
        pending.take();
        for number in 0..BATCH {
            assert!(!pending.is_due(2_000), "{number}");
            pending.push(page(number), &counts, 2_000);
        }
        assert!(pending.is_due(2_000) && !pending.is_full());
    }

    #[test]
    fn large_pages_do_not_wait() {
        let mut pending = Pending::default();
        let counts = RunCounts {
            bytes: MAX_BYTES / 2 + 1,
            ..RunCounts::default()
        };
        pending.push(page(0), &counts, 1_000);
        assert!(!pending.is_full() && !pending.is_due(1_000));
        pending.push(page(1), &counts, 1_000);
        assert!(pending.is_full() && pending.is_due(1_000));
    }

    #[test]
    fn counts_without_pages_are_recorded() {
        let mut pending = Pending::default();
        let counts = RunCounts {
            found: 3,
            ..RunCounts::default()
        };
        pending.count(&counts);
        assert!(!pending.is_empty());
        assert_eq!(pending.take().1.found, 3);
    }
}
