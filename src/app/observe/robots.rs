//! Requests by robot.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    sync::{Arc, Mutex, PoisonError},
};

use arc_swap::ArcSwap;

use super::metrics::{ByDecision, Labels, numbers_by_decision};

/// Robots that are counted one by one, at most.
const MAX_ROBOTS: usize = 200;
/// Robot under which further robots are counted.
const OTHER_ROBOTS: &str = "other";

/// Numbers of requests by robot; a lock is taken only for a robot's first request.
#[derive(Debug, Default)]
pub(in super::super) struct RobotCounts {
    robots: ArcSwap<HashMap<String, Arc<ByDecision>, BuildHasherDefault<Fnv>>>,
    adding: Mutex<()>,
    other: Arc<ByDecision>,
}

/// Hash by Fowler, Noll and Vo (1a): cheap, and fit for so few names from a registry.
#[derive(Debug)]
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl RobotCounts {
    pub(super) fn count(&self, robot: &str, labels: Labels) {
        let robots = self.robots.load();
        match robots.get(robot) {
            Some(numbers) => labels.count(numbers),
            None if robots.len() >= MAX_ROBOTS => labels.count(&self.other),
            None => labels.count(&self.add(robot)),
        }
    }

    /// Returns robot, decision and number of what was counted.
    pub(in super::super) fn numbers(&self) -> Vec<(String, &'static str, u64)> {
        let robots = self.robots.load_full();
        let all = robots
            .iter()
            .map(|(robot, numbers)| (robot.as_str(), &**numbers))
            .chain([(OTHER_ROBOTS, &*self.other)]);
        all.flat_map(|(robot, numbers)| {
            numbers_by_decision(numbers)
                .map(move |(decision, number)| (robot.to_owned(), decision, number))
        })
        .collect()
    }

    #[cold]
    fn add(&self, robot: &str) -> Arc<ByDecision> {
        let _one_at_a_time = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
        let mut robots = HashMap::clone(&self.robots.load());
        if robots.len() >= MAX_ROBOTS && !robots.contains_key(robot) {
            return Arc::clone(&self.other);
        }
        let numbers = Arc::clone(robots.entry(robot.to_owned()).or_default());
        self.robots.store(Arc::new(robots));
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn robots_beyond_the_first_are_counted_together() {
        let counts = RobotCounts::default();
        for number in 0..MAX_ROBOTS + 3 {
            for _ in 0..2 {
                counts.count(&number.to_string(), Labels::default());
            }
        }
        let numbers = counts.numbers();
        assert_eq!(numbers.len(), MAX_ROBOTS + 1);
        let of = |robot: &str| numbers.iter().find(|(name, ..)| name == robot).cloned();
        assert_eq!(of("0"), Some(("0".to_owned(), "pass", 2)));
        assert_eq!(of("other"), Some(("other".to_owned(), "pass", 6)));
    }

    #[test]
    fn threads_that_meet_a_robot_at_once_count_it_together() {
        let counts = RobotCounts::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for number in 0..50 {
                        counts.count(&number.to_string(), Labels::default());
                    }
                });
            }
        });
        assert!(counts.numbers().iter().all(|(_, _, number)| *number == 4));
        assert_eq!(counts.numbers().len(), 50);
    }
}
