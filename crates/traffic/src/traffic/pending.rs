//! Counts that have not been written to the database yet.

use std::collections::BTreeMap;

use robot_detection_store::store::{
    CountedPaths, MinuteCounts, TrafficCount, TrafficKey, TrafficSpan,
};

use super::paths::Window;

/// Maximum number of counts, which take about a hundred bytes each, before minutes are merged.
const MAX_COUNTS: usize = 50_000;

/// Maximum number of hours, and later of days, whose paths are stored separately; each takes up to
/// a megabyte.
const MAX_WINDOWS: usize = 4;

/// Counts that wait to be written to the database, by key and minute.
#[derive(Debug, Default)]
pub(super) struct Pending {
    counts: BTreeMap<(i64, TrafficKey), TrafficCount>,
}

impl Pending {
    pub(super) fn add(&mut self, minute: i64, counted: Vec<(TrafficKey, TrafficCount)>) {
        for (key, count) in counted {
            *self.counts.entry((minute, key)).or_default() += count;
        }
        // A long outage costs the exact minutes, then the exact hours of requests, but no request
        // is lost.
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

    /// Removes and returns all counts that have not been written.
    pub(super) fn take(&mut self) -> Vec<MinuteCounts> {
        let counts = std::mem::take(&mut self.counts).into_iter();
        let counted = |((minute, key), count)| MinuteCounts { minute, key, count };
        counts.map(counted).collect()
    }

    /// Merges the counts within each span into the first minute of the span.
    fn coarsen(&mut self, span: TrafficSpan) {
        for ((minute, key), count) in std::mem::take(&mut self.counts) {
            let place = (span.start(minute), key);
            *self.counts.entry(place).or_default() += count;
        }
    }
}

/// Paths that wait to be written to the database, by hour.
#[derive(Debug, Default)]
pub(super) struct PendingPaths {
    windows: BTreeMap<i64, Window>,
}

impl PendingPaths {
    pub(super) fn add(&mut self, counted: CountedPaths) {
        let hour = TrafficSpan::Hour.start(counted.minute);
        self.windows.entry(hour).or_default().merge(counted);
        // As with counts, a long outage costs the exact hours, then the exact days of requests.
        if self.windows.len() > MAX_WINDOWS {
            for (hour, window) in std::mem::take(&mut self.windows) {
                self.put(TrafficSpan::Day.start(hour), window);
            }
        }
        if self.windows.len() > MAX_WINDOWS
            && let Some((_, window)) = self.windows.pop_first()
            && let Some(next) = self.windows.keys().next().copied()
        {
            self.put(next, window);
        }
    }

    fn put(&mut self, place: i64, mut window: Window) {
        let known = self.windows.entry(place).or_default();
        known.merge(window.take(place));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.windows.is_empty()
    }

    /// Removes and returns all paths that have not been written.
    pub(super) fn take(&mut self) -> Vec<CountedPaths> {
        let windows = std::mem::take(&mut self.windows).into_iter();
        windows
            .map(|(hour, mut window)| window.take(hour))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use robot_detection_store::store::PathCount;

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
    fn long_database_outage_loses_no_request() {
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

    #[test]
    fn pending_paths_use_few_windows_and_none_is_lost() {
        let mut pending = PendingPaths::default();
        let (site, robot) = ("a".into(), "bot".into());
        for minute in (0..40 * 24 * 60).step_by(30) {
            let mut window = Window::default();
            window.add(&site, &robot, "/docs/guide/start", PathCount::for_class(2));
            pending.add(window.take(minute));
            assert!(pending.windows.len() <= MAX_WINDOWS);
        }
        let counted = pending.take();
        assert!(pending.is_empty());
        let rows = counted.iter().flat_map(|counted| &counted.rows);
        let all: u64 = rows.map(|(_, count)| count.requests).sum();
        assert_eq!(all, 40 * 48);
        assert!(counted.last().unwrap().minute >= 39 * 24 * 60);
    }
}
