//! Numbers by robot, for which no request waits.

use std::sync::{
    OnceLock,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

/// Numbers of robots by their ids, of bounded size: robots beyond it share theirs.
///
/// Nothing is ever removed, so a place once taken is read without a lock or a copy.
#[derive(Debug)]
pub struct RobotMap<N> {
    max: usize,
    count: AtomicUsize,
    /// A power of two, so many that at most half of them are taken; made for the first robot.
    places: OnceLock<Box<[OnceLock<Place<N>>]>>,
    others: N,
}

#[derive(Debug)]
struct Place<N> {
    hash: u64,
    robot: Box<(Box<str>, N)>,
}

impl<N: Default> RobotMap<N> {
    /// Creates a table with room for so many robots.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self {
            max,
            count: AtomicUsize::new(0),
            places: OnceLock::new(),
            others: N::default(),
        }
    }

    /// Returns the numbers of a robot; allocates for one that has not been seen.
    pub fn of(&self, id: &str) -> &N {
        let places = self.places.get_or_init(|| {
            let len = (2 * self.max).next_power_of_two();
            (0..len).map(|_| OnceLock::new()).collect()
        });
        let hash = hash(id.as_bytes());
        let last = places.len() - 1;
        let start = usize::try_from(hash).unwrap_or_default();
        // Open addressing: at least half of the places are free, so that a free one is soon met.
        for step in 0..=last {
            let Some(place) = places.get((start + step) & last) else {
                break;
            };
            let taken = match place.get() {
                Some(taken) => taken,
                // Threads that come at once may each go one beyond the limit, for which there is
                // room.
                None if self.count.load(Relaxed) >= self.max => break,
                None => self.take(place, hash, id),
            };
            if taken.hash == hash && *taken.robot.0 == *id {
                return &taken.robot.1;
            }
        }
        &self.others
    }

    /// Returns what all further robots share.
    pub fn others(&self) -> &N {
        &self.others
    }

    /// Returns each robot with its numbers, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &N)> {
        let places = self.places.get().into_iter().flatten();
        let taken = places.filter_map(OnceLock::get);
        taken.map(|place| (&*place.robot.0, &place.robot.1))
    }

    /// Fills a place, unless another thread has just done it for a robot of its own.
    #[cold]
    fn take<'p>(&self, place: &'p OnceLock<Place<N>>, hash: u64, id: &str) -> &'p Place<N> {
        place.get_or_init(|| {
            self.count.fetch_add(1, Relaxed);
            Place {
                hash,
                robot: Box::new((id.into(), N::default())),
            }
        })
    }
}

/// Factor that leaves no bit where it was: 2⁶⁴ by the golden ratio.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Hash of an id, of 32 bits, eight bytes at a time.
///
/// Cheap, as it is asked for with each request of a robot. The ids are those of a
/// registry, or hosts of which few are named: nobody who only sends requests can choose many.
fn hash(id: &[u8]) -> u64 {
    let (words, rest) = id.as_chunks::<8>();
    let mut hash = words.iter().fold(id.len() as u64, |hash, word| {
        mix(hash, u64::from_le_bytes(*word))
    });
    if !rest.is_empty() {
        hash = match id.last_chunk::<8>() {
            // Some bytes once more cost less than the rest one by one.
            Some(word) => mix(hash, u64::from_le_bytes(*word)),
            None => mix(
                hash,
                rest.iter()
                    .fold(0, |word, byte| word << 8 | u64::from(*byte)),
            ),
        };
    }
    // Of a product the highest bits depend on all others, and the lowest choose a place.
    (hash ^ hash >> 32).wrapping_mul(ODD) >> 32
}

fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(5) ^ word).wrapping_mul(ODD)
}

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, sync::atomic::AtomicU64};

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

    #[test]
    fn threads_that_meet_the_same_robots_count_them_together() {
        let counts = RobotMap::new(50);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for number in 0..50 {
                        count(&counts, &number.to_string());
                    }
                });
            }
        });
        let counted = counted(&counts);
        assert_eq!(counted.len(), 50);
        assert!(counted.iter().all(|(_, number)| *number == 4));
    }

    #[test]
    fn similar_ids_spread_over_the_places() {
        for ending in ["", "bot", "-a-rather-long-id"] {
            let ids = (0..512).map(|number| format!("{number}{ending}"));
            let hashes: Vec<_> = ids.map(|id| hash(id.as_bytes())).collect();
            let places: HashSet<_> = hashes.iter().map(|hash| hash % 512).collect();
            assert!(hashes.iter().collect::<HashSet<_>>().len() > 490);
            // By chance it would be 324.
            assert!(places.len() > 250, "{ending}: {}", places.len());
        }
    }
}
