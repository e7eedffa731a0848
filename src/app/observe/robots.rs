//! Requests by robot.

use crate::registry::RobotMap;

/// Robots that are counted one by one, at most.
const MAX_ROBOTS: usize = 200;
/// Hosts of robots that sign, and that no registry lists: as many are named, and one name for the rest.
const MAX_SIGNERS: usize = 201;
/// Robot under which further robots are counted.
const OTHER_ROBOTS: &str = "other";

/// Numbers of requests by robot; no request waits for them.
#[derive(Debug)]
pub(super) struct RobotCounts<N> {
    robots: RobotMap<N>,
}

impl<N: Default> Default for RobotCounts<N> {
    fn default() -> Self {
        Self {
            robots: RobotMap::new(MAX_ROBOTS),
        }
    }
}

impl<N: Default> RobotCounts<N> {
    /// Creates counts of those who sign, which take no place from listed robots.
    pub(super) fn of_signers() -> Self {
        Self {
            robots: RobotMap::new(MAX_SIGNERS),
        }
    }

    /// Returns the numbers of a robot, to count something of it.
    pub(super) fn of(&self, robot: &str) -> &N {
        self.robots.of(robot)
    }

    /// Returns robot, word and number of what was counted; `read` reads the numbers of one.
    pub(super) fn numbers(
        &self,
        read: impl Fn(&N) -> Vec<(&'static str, u64)>,
    ) -> Vec<(String, &'static str, u64)> {
        let others = (OTHER_ROBOTS, self.robots.others());
        let all = self.robots.iter().chain([others]);
        all.flat_map(|(robot, numbers)| {
            let numbers = read(numbers).into_iter();
            let counted = numbers.filter(|(_, number)| *number > 0);
            counted.map(|(word, number)| (robot.to_owned(), word, number))
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    fn numbers(counts: &RobotCounts<AtomicU64>) -> Vec<(String, &'static str, u64)> {
        counts.numbers(|number| vec![("pass", number.load(Ordering::Relaxed))])
    }

    #[test]
    fn robots_beyond_the_first_are_counted_together() {
        let counts = RobotCounts::<AtomicU64>::default();
        for number in 0..MAX_ROBOTS + 3 {
            for _ in 0..2 {
                let number = counts.of(&number.to_string());
                number.fetch_add(1, Ordering::Relaxed);
            }
        }
        let numbers = numbers(&counts);
        assert_eq!(numbers.len(), MAX_ROBOTS + 1);
        let of = |robot: &str| numbers.iter().find(|(name, ..)| name == robot).cloned();
        assert_eq!(of("0"), Some(("0".to_owned(), "pass", 2)));
        assert_eq!(of("other"), Some(("other".to_owned(), "pass", 6)));
    }
}
