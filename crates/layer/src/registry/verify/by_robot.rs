//! Numbers by robot, for which no request waits.

use super::{FixedMap, KeyHash};

/// Numbers of robots by their ids, of bounded size: robots beyond it share theirs.
#[derive(Debug)]
pub struct RobotMap<N> {
    robots: FixedMap<Box<str>, N>,
    others: N,
}

impl<N: Default> RobotMap<N> {
    /// Creates a table with room for so many robots.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self {
            robots: FixedMap::new(max),
            others: N::default(),
        }
    }

    /// Returns the numbers of a robot; allocates for one that has not been seen.
    pub fn of(&self, id: &str) -> &N {
        let hash = KeyHash::default().text(id);
        let found = self.robots.of(hash, |known| **known == *id, || id.into());
        found.unwrap_or(&self.others)
    }

    /// Returns what all further robots share.
    pub fn others(&self) -> &N {
        &self.others
    }

    /// Returns each robot with its numbers, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &N)> {
        self.robots.iter().map(|(id, numbers)| (&**id, numbers))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use super::*;

    fn count(counts: &RobotMap<AtomicU64>, id: &str) {
        counts.of(id).fetch_add(1, Relaxed);
    }

    fn counted(counts: &RobotMap<AtomicU64>) -> Vec<(String, u64)> {
        let all = counts.iter();
        let mut all: Vec<_> = all
            .map(|(id, number)| (id.to_owned(), number.load(Relaxed)))
            .collect();
        all.sort();
        all
    }

    #[test]
    fn robots_are_told_apart_whatever_the_length_of_their_ids() {
        let text = "a-robot-of-some-length";
        let counts = RobotMap::new(text.len() + 1);
        for _ in 0..3 {
            for len in 0..=text.len() {
                count(&counts, text.get(..len).unwrap());
            }
        }
        count(&counts, "one-robot-too-many");
        let counted = counted(&counts);
        assert_eq!(counted.len(), text.len() + 1);
        assert!(counted.iter().all(|(_, number)| *number == 3));
        assert_eq!(counts.others().load(Relaxed), 1);
    }
}
