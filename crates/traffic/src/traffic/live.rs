//! Stores recent decisions for viewers of the live page.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use robot_detection_layer::layer::VisitSwitch;
use robot_detection_store::store::Evidence;

/// Maximum number of stored rows: ten seconds at fifty rows per second.
const MAX_ROWS: usize = 500;

/// Maximum number of viewers; each viewer occupies a connection and reads the rows every second.
const MAX_VIEWERS: usize = 16;

/// Time for which rows are still collected after the last read, because the viewer may return.
const REST_MS: i64 = 60_000;

/// Recent decisions, which are collected only while there are viewers.
#[derive(Debug)]
pub(super) struct Live {
    switch: VisitSwitch,
    is_watched: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    rows: VecDeque<LiveRow>,
    /// Number of the most recent row.
    last: u64,
    /// Time at which the collection started, in milliseconds since 1970.
    since_ms: i64,
    looked_ms: i64,
    viewers: usize,
}

/// A decision on a request, with a consecutive number.
#[derive(Clone, Debug)]
pub struct LiveRow {
    /// Consecutive number of the decision.
    pub number: u64,
    /// The request, and the decision on it.
    pub decided: Arc<Evidence>,
}

impl Live {
    pub(super) fn new(switch: VisitSwitch) -> Self {
        Self {
            switch,
            is_watched: AtomicBool::new(false),
            state: Mutex::default(),
        }
    }

    /// Adds a decision if there are viewers.
    pub(super) fn push(&self, decided: &Evidence) {
        if !self.is_watched.load(Relaxed) {
            return;
        }
        let mut state = self.state();
        state.last += 1;
        let row = LiveRow {
            number: state.last,
            decided: Arc::new(decided.clone()),
        };
        if state.rows.len() >= MAX_ROWS {
            state.rows.pop_front();
        }
        state.rows.push_back(row);
    }

    /// Returns the rows that follow the row with the given number, oldest first, and the time at
    /// which their collection started.
    pub(super) fn rows_after(&self, behind: u64, now_ms: i64) -> (Vec<LiveRow>, i64) {
        let mut state = self.state();
        if !self.is_watched.load(Relaxed) {
            state.since_ms = now_ms;
            self.watch(true);
        }
        state.looked_ms = now_ms;
        let rows = state.rows.iter().filter(|row| row.number > behind);
        (rows.cloned().collect(), state.since_ms)
    }

    /// Returns the number of the most recent row.
    pub(super) fn last(&self) -> u64 {
        self.state().last
    }

    /// Registers a viewer; returns `false` if there are too many viewers.
    pub(super) fn begin_view(&self) -> bool {
        let mut state = self.state();
        let has_room = state.viewers < MAX_VIEWERS;
        state.viewers += usize::from(has_room);
        has_room
    }

    pub(super) fn end_view(&self) {
        let mut state = self.state();
        state.viewers = state.viewers.saturating_sub(1);
    }

    /// Stops collecting rows if no viewer has read them for a while.
    pub(super) fn pause(&self, now_ms: i64) {
        let mut state = self.state();
        if state.viewers == 0 && now_ms.saturating_sub(state.looked_ms) > REST_MS {
            self.watch(false);
            state.rows = VecDeque::new();
        }
    }

    /// Starts or stops the collection of rows. The state must be locked during the call, so that
    /// rows are not read while they are being deleted.
    fn watch(&self, watch: bool) {
        self.is_watched.store(watch, Relaxed);
        self.switch.describe_all(watch);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The rows remain valid after a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(live: &Live, behind: u64, now_ms: i64) -> Vec<u64> {
        let (rows, _) = live.rows_after(behind, now_ms);
        rows.iter().map(|row| row.number).collect()
    }

    #[test]
    fn rows_are_collected_while_viewed_and_for_a_minute_after() {
        let live = Live::new(VisitSwitch::default());
        let decided = Evidence::default();
        live.push(&decided);
        assert!(
            numbers(&live, 0, 1_000).is_empty(),
            "rows collected before the first view"
        );
        live.push(&decided);
        live.push(&decided);
        assert_eq!(numbers(&live, 0, 2_000), [1, 2]);
        assert_eq!(numbers(&live, 1, 2_000), [2]);
        live.pause(2_000 + REST_MS);
        live.push(&decided);
        assert_eq!(numbers(&live, 2, 3_000), [3]);
        live.pause(3_001 + REST_MS);
        live.push(&decided);
        assert!(numbers(&live, 0, 99_000).is_empty());
        assert_eq!(live.last(), 3, "numbering continues");
    }

    #[test]
    fn viewers_and_rows_are_bounded() {
        let live = Live::new(VisitSwitch::default());
        live.rows_after(0, 0);
        for _ in 0..MAX_ROWS + 5 {
            live.push(&Evidence::default());
        }
        assert_eq!(numbers(&live, 0, 0).len(), MAX_ROWS);
        for _ in 0..MAX_VIEWERS {
            assert!(live.begin_view());
        }
        assert!(!live.begin_view());
        live.pause(i64::MAX);
        assert_eq!(
            numbers(&live, 0, 0).len(),
            MAX_ROWS,
            "rows were deleted despite a viewer"
        );
        live.end_view();
        assert!(live.begin_view());
    }
}
