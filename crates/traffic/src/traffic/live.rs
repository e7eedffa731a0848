//! The last decisions, for whoever looks at them.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use robot_detection_layer::layer::VisitSwitch;
use robot_detection_store::store::Evidence;

/// Rows that are held: ten seconds of fifty a second.
const MAX_ROWS: usize = 500;

/// Streams at a time; each costs a connection and a look at the rows every second.
const MAX_VIEWERS: usize = 16;

/// Time for which rows are collected after somebody has looked, who may look again.
const REST_MS: i64 = 60_000;

/// The last decisions, which are collected only while somebody looks.
#[derive(Debug)]
pub(super) struct Live {
    switch: VisitSwitch,
    is_watched: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    rows: VecDeque<LiveRow>,
    /// Number of the last row.
    last: u64,
    /// Since when rows are collected, in milliseconds since 1970.
    since_ms: i64,
    looked_ms: i64,
    viewers: usize,
}

/// Decision with its number: each is one higher than the one before.
#[derive(Clone, Debug)]
pub struct LiveRow {
    /// Its number.
    pub number: u64,
    /// The decision.
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

    /// Adds a decision, if somebody looks.
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

    /// Returns the rows behind a number, the oldest first, and since when they are collected.
    pub(super) fn look(&self, behind: u64, now_ms: i64) -> (Vec<LiveRow>, i64) {
        let mut state = self.state();
        if !self.is_watched.load(Relaxed) {
            state.since_ms = now_ms;
            self.watch(true);
        }
        state.looked_ms = now_ms;
        let rows = state.rows.iter().filter(|row| row.number > behind);
        (rows.cloned().collect(), state.since_ms)
    }

    /// Returns the number of the last row.
    pub(super) fn last(&self) -> u64 {
        self.state().last
    }

    /// Counts a viewer who stays; returns `false` if there are enough.
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

    /// Collects no more, if nobody has looked for a while.
    pub(super) fn rest(&self, now_ms: i64) {
        let mut state = self.state();
        if state.viewers == 0 && now_ms.saturating_sub(state.looked_ms) > REST_MS {
            self.watch(false);
            state.rows = VecDeque::new();
        }
    }

    /// Called with the state locked, so that nobody looks while rows are thrown away.
    fn watch(&self, watch: bool) {
        self.is_watched.store(watch, Relaxed);
        self.switch.describe_all(watch);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Rows that a panic left are rows still.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(live: &Live, behind: u64, now_ms: i64) -> Vec<u64> {
        let (rows, _) = live.look(behind, now_ms);
        rows.iter().map(|row| row.number).collect()
    }

    #[test]
    fn rows_are_collected_while_somebody_looks_and_for_a_minute() {
        let live = Live::new(VisitSwitch::default());
        let decided = Evidence::default();
        live.push(&decided);
        assert!(numbers(&live, 0, 1_000).is_empty(), "nobody had looked");
        live.push(&decided);
        live.push(&decided);
        assert_eq!(numbers(&live, 0, 2_000), [1, 2]);
        assert_eq!(numbers(&live, 1, 2_000), [2]);
        live.rest(2_000 + REST_MS);
        live.push(&decided);
        assert_eq!(numbers(&live, 2, 3_000), [3]);
        live.rest(3_001 + REST_MS);
        live.push(&decided);
        assert!(numbers(&live, 0, 99_000).is_empty());
        assert_eq!(live.last(), 3, "numbers go on");
    }

    #[test]
    fn viewers_and_rows_are_bounded() {
        let live = Live::new(VisitSwitch::default());
        live.look(0, 0);
        for _ in 0..MAX_ROWS + 5 {
            live.push(&Evidence::default());
        }
        assert_eq!(numbers(&live, 0, 0).len(), MAX_ROWS);
        for _ in 0..MAX_VIEWERS {
            assert!(live.begin_view());
        }
        assert!(!live.begin_view());
        live.rest(i64::MAX);
        assert_eq!(numbers(&live, 0, 0).len(), MAX_ROWS, "they stay");
        live.end_view();
        assert!(live.begin_view());
    }
}
