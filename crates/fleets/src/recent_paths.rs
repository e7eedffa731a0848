//! An approximate set of recently requested paths.

/// Size of a generation's bit set in words: 256 KiB.
const WORDS: usize = 1 << 15;

/// Maximum number of paths in a generation, so that at most one bit in eight is set.
const MOST: u32 = 1 << 18;

/// Duration of a generation: a path not requested for a day or two counts as new.
const LASTS_S: i64 = 86_400;

/// An approximate set of the paths requested in the last day or two; one in five new paths is
/// mistaken for a path in the set.
#[derive(Debug)]
pub(crate) struct RecentPaths {
    now: Vec<u64>,
    before: Vec<u64>,
    paths: u32,
    since_s: i64,
}

impl RecentPaths {
    pub(crate) fn new() -> Self {
        Self {
            now: vec![0; WORDS],
            before: vec![0; WORDS],
            paths: 0,
            since_s: i64::MIN,
        }
    }

    /// Records a path by its hash; returns `true` if the path is new.
    pub(crate) fn record(&mut self, hash: u64, at_s: i64) -> bool {
        if self.paths >= MOST || at_s.abs_diff(self.since_s) >= LASTS_S.unsigned_abs() {
            std::mem::swap(&mut self.now, &mut self.before);
            self.now.fill(0);
            (self.paths, self.since_s) = (0, at_s);
        }
        let at = usize::try_from(hash >> 6).unwrap_or_default() % WORDS;
        let bit = 1 << (hash & 63);
        let is_set = |words: &[u64]| words.get(at).is_some_and(|word| word & bit != 0);
        let (is_now, was_before) = (is_set(&self.now), is_set(&self.before));
        if let Some(word) = self.now.get_mut(at).filter(|_| !is_now) {
            *word |= bit;
            self.paths += 1;
        }
        !is_now && !was_before
    }

    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        8 * (self.now.capacity() + self.before.capacity())
    }
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher as _;

    use foldhash::quality::FixedState;

    use super::*;

    #[test]
    fn path_is_new_once_in_two_days() {
        let mut seen = RecentPaths::new();
        let asked = [0, 1, LASTS_S, 4 * LASTS_S, 5 * LASTS_S, 6 * LASTS_S];
        let is_new = asked.map(|at_s| seen.record(77, at_s));
        // Each request for the path renews its entry.
        assert_eq!(is_new, [true, false, false, false, false, false]);
        for day in 7..9 {
            seen.record(1 << 40, day * LASTS_S);
        }
        assert!(seen.record(77, 9 * LASTS_S));
    }

    #[test]
    fn most_of_a_million_new_paths_are_recognised() {
        let (mut seen, hasher) = (RecentPaths::new(), FixedState::with_seed(1));
        let new = (0..1_000_000_u32).filter(|n| seen.record(hasher.hash_one(n), 0));
        let new = new.count();
        assert!(new > 750_000, "{new}");
    }
}
