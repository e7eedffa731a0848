//! What is counted and not in the database yet.

use std::collections::BTreeMap;

use crate::store::{CountedMinute, TrafficCount, TrafficKey, TrafficSpan};

/// Counts that are held at most before minutes are put together; a hundred bytes each.
const MAX_COUNTS: usize = 50_000;

/// Counts that wait for the database, by key and minute.
#[derive(Debug, Default)]
pub(super) struct Pending {
    counts: BTreeMap<(i64, TrafficKey), TrafficCount>,
}

impl Pending {
    pub(super) fn add(&mut self, minute: i64, counted: Vec<(TrafficKey, TrafficCount)>) {
        for (key, count) in counted {
            *self.counts.entry((minute, key)).or_default() += count;
        }
        // A database that is away for long costs exact minutes, then exact hours, and no request.
        for span in [TrafficSpan::Hour, TrafficSpan::Day] {
            if self.counts.len() > MAX_COUNTS {
                self.coarsen(span);
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    pub(super) fn requests(&self) -> u64 {
        self.counts.values().map(|count| count.requests).sum()
    }

    /// Returns all, and is empty.
    pub(super) fn take(&mut self) -> Vec<CountedMinute> {
        let counts = std::mem::take(&mut self.counts).into_iter();
        let counted = |((minute, key), count)| CountedMinute { minute, key, count };
        counts.map(counted).collect()
    }

    /// Puts what is of the same span together, at its first minute.
    fn coarsen(&mut self, span: TrafficSpan) {
        for ((minute, key), count) in std::mem::take(&mut self.counts) {
            let place = (span.start(minute), key);
            *self.counts.entry(place).or_default() += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(requests: u64) -> TrafficCount {
        TrafficCount {
            requests,
            ..TrafficCount::default()
        }
    }

    fn key(robot: usize) -> TrafficKey {
        TrafficKey {
            robot: robot.to_string(),
            ..TrafficKey::default()
        }
    }

    #[test]
    fn a_database_that_is_away_for_long_costs_no_request() {
        let mut pending = Pending::default();
        let (robots, minutes) = (100, 24 * 60);
        for minute in 0..minutes {
            let counted = (0..robots).map(|robot| (key(robot), count(3)));
            pending.add(minute, counted.collect());
            assert!(pending.counts.len() <= MAX_COUNTS);
        }
        let counted = pending.take();
        assert!(pending.is_empty());
        let all: u64 = counted.iter().map(|counted| counted.count.requests).sum();
        assert_eq!(all, 3 * 100 * 24 * 60);
        let of_one = counted.iter().filter(|counted| counted.key == key(7));
        assert!(of_one.clone().any(|counted| counted.minute == minutes - 1));
        assert!(of_one.clone().any(|counted| counted.minute == 60));
        assert!(of_one.clone().all(|counted| counted.minute != 61));
    }
}
