//! The counters of one cell, which any number of threads can increment.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use robot_detection_layer::{layer::Outcome, policy::Action};
use robot_detection_store::store::{TrafficCount, TrafficKey};

/// Number of status classes; class 0 contains all statuses other than 1xx to 5xx.
pub(super) const CLASSES: usize = 6;

/// The counters of a cell, by status class.
#[derive(Debug, Default)]
pub(super) struct Cell([Numbers; CLASSES]);

/// Returns the class of an HTTP status, such as 4 for 404.
pub(super) fn status_class(status: u16) -> u8 {
    let class = u8::try_from(status / 100).unwrap_or_default();
    if usize::from(class) < CLASSES {
        class
    } else {
        0
    }
}

#[derive(Debug, Default)]
struct Numbers {
    /// Number of requests counted since the last `take`.
    requests: AtomicU64,
    bytes: AtomicU64,
    micros: AtomicU64,
    /// Number of requests counted before the last `take`.
    taken: AtomicU64,
}

impl Cell {
    pub(super) fn add(&self, status: u16, bytes: u64, duration: Duration) {
        if let Some(numbers) = self.0.get(usize::from(status_class(status))) {
            // The microseconds overflow only after half a million years.
            let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
            numbers.requests.fetch_add(1, Relaxed);
            numbers.bytes.fetch_add(bytes, Relaxed);
            numbers.micros.fetch_add(micros, Relaxed);
        }
    }

    /// Resets the counters, and appends the counts of each status class to `taken`.
    pub(super) fn take(
        &self,
        key: impl Fn() -> TrafficKey,
        taken: &mut Vec<(TrafficKey, TrafficCount)>,
    ) {
        for (status, numbers) in (0..).zip(&self.0) {
            let count = numbers.take();
            if !count.is_empty() {
                taken.push((TrafficKey { status, ..key() }, count));
            }
        }
    }

    pub(super) fn requests(&self) -> [u64; CLASSES] {
        let requests =
            |numbers: &Numbers| numbers.taken.load(Relaxed) + numbers.requests.load(Relaxed);
        std::array::from_fn(|class| self.0.get(class).map_or(0, requests))
    }
}

impl Numbers {
    fn take(&self) -> TrafficCount {
        let requests = self.requests.swap(0, Relaxed);
        self.taken.fetch_add(requests, Relaxed);
        TrafficCount {
            requests,
            bytes: self.bytes.swap(0, Relaxed),
            micros: self.micros.swap(0, Relaxed),
        }
    }
}

/// Returns the name of a decision; a decision that was only logged (dry run) has another name.
pub fn decision_name(outcome: &Outcome) -> &'static str {
    Decision::from_outcome(outcome).word()
}

/// The decision on a request, as part of a counter's key.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Decision {
    action: Action,
    /// Whether the decision was only logged (dry run); `false` for a pass, even in a dry run.
    is_noted: bool,
}

impl Decision {
    pub(super) fn from_outcome(outcome: &Outcome) -> Self {
        let action = outcome.decision();
        Self {
            action,
            is_noted: outcome.is_dry_run() && action != Action::Pass,
        }
    }

    pub(super) fn word(self) -> &'static str {
        let words = self.action.words();
        if self.is_noted {
            words.would
        } else {
            words.word
        }
    }

    /// Returns a number that identifies the decision.
    pub(super) fn number(self) -> u64 {
        2 * (self.action as u64) + u64::from(self.is_noted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_has_two_words_and_a_number_for_each() {
        let mut numbers = Vec::new();
        for action in Action::ALL {
            let done = Decision {
                action: *action,
                is_noted: false,
            };
            let noted = Decision {
                is_noted: true,
                ..done
            };
            assert_eq!(done.word(), action.as_str());
            assert_eq!(noted.word(), format!("would-{action}"));
            numbers.extend([done.number(), noted.number()]);
        }
        let count = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), count);
    }
}
