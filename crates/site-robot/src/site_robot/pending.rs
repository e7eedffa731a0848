//! Visits that have ended and wait to be recorded, many in one transaction.

use std::sync::Arc;

use robot_detection_store::store::{PageRecord, RunCommand, RunCounts, RunKey};

use super::run_loop::{LOW, RunLoop, TaskResult};

/// Pages that are recorded at once, where they come within [`PAUSE_MS`].
const BATCH: usize = 32;

/// Pages that have been visited and are not recorded, at most: so many come while a disk takes in the
/// database's log. Who goes on where we were killed fetches them again.
pub(super) const MAX_UNRECORDED: usize = 8 * BATCH;

/// Bytes of pages that wait at most: what is described of large ones takes memory.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Longest time for which a page waits for others to be recorded with it.
const PAUSE_MS: i64 = 50;

/// Visits that have ended and wait to be recorded.
///
/// What a transaction costs is shared by the pages in it. So they wait for each other, though not for
/// long.
#[derive(Debug, Default)]
pub(super) struct Pending {
    pages: Vec<PageRecord>,
    counts: RunCounts,
    /// When the first of the pages came.
    since_ms: Option<i64>,
}

impl Pending {
    /// Adds a page.
    pub(super) fn push(&mut self, page: PageRecord, counts: &RunCounts, now_ms: i64) {
        self.pages.push(page);
        self.counts.add(counts);
        self.since_ms.get_or_insert(now_ms);
    }

    /// Makes the pages due: the time has passed, whatever a clock that was set says.
    pub(super) fn hurry(&mut self) {
        self.since_ms = self.since_ms.map(|_| i64::MIN);
    }

    /// Adds to the counts.
    pub(super) fn count(&mut self, counts: &RunCounts) {
        self.counts.add(counts);
    }

    /// Returns all that waits, and starts anew.
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

    /// Returns `true` if there is no room for more.
    pub(super) fn is_full(&self) -> bool {
        self.counts.bytes >= MAX_BYTES
    }

    /// Returns `true` if enough pages wait, or one for long enough.
    pub(super) fn is_due(&self, now_ms: i64) -> bool {
        let is_late = || self.due_ms().is_some_and(|due_ms| due_ms <= now_ms);
        self.pages.len() >= BATCH || self.is_full() || is_late()
    }

    /// Returns when the first page will have waited for long enough.
    pub(super) fn due_ms(&self) -> Option<i64> {
        Some(self.since_ms?.saturating_add(PAUSE_MS))
    }
}

impl RunLoop {
    /// Records what has come since the last time, while nothing else is being recorded.
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
        self.work_beside(recording);
    }

    /// Returns `true` if what has come is to be recorded, or more may come to be recorded with it.
    fn is_record_due(&self) -> bool {
        // What was found is wanted where little waits; nobody knows what comes of a pause.
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
    fn pages_wait_for_each_other_and_not_for_long() {
        let (mut pending, counts) = (Pending::default(), RunCounts::default());
        assert!(pending.is_empty() && !pending.is_due(i64::MAX));
        pending.push(page(0), &counts, 1_000);
        pending.push(page(1), &counts, 1_040);
        assert_eq!(
            (pending.is_due(1_049), pending.is_due(1_050)),
            (false, true)
        );
        assert_eq!(pending.take().0.len(), 2);
        pending.hurry();
        assert!(pending.is_empty() && pending.due_ms().is_none());
        pending.push(page(2), &counts, 2_000);
        pending.hurry();
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
    fn what_is_only_counted_is_recorded_too() {
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
