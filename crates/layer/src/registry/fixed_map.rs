//! A table that only grows, up to a limit, and is read without a lock.

use std::sync::{
    OnceLock,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

/// Numbers by keys, of bounded size.
///
/// Nothing is ever removed, so a place once taken is read without a lock or a copy.
#[derive(Debug)]
pub struct FixedMap<K, N> {
    max: usize,
    count: AtomicUsize,
    /// A power of two, so many that at most half of them are taken; made for the first key.
    places: OnceLock<Places<K, N>>,
}

type Places<K, N> = Box<[OnceLock<Place<K, N>>]>;

#[derive(Debug)]
struct Place<K, N> {
    hash: u32,
    /// In a box, so that the many places that are free take little room.
    entry: Box<(K, N)>,
}

/// Hash of a key, put together of its parts.
///
/// Cheap, as it is asked for with each request of a robot. The keys are those of a
/// registry, or hosts of which few are named: nobody who only sends requests can choose many.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeyHash(u64);

impl<K, N: Default> FixedMap<K, N> {
    /// Creates a table with room for so many keys.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self {
            max,
            count: AtomicUsize::new(0),
            places: OnceLock::new(),
        }
    }

    /// Returns the numbers of the key that `is_it` knows; `make` makes one that is new.
    ///
    /// There are none of a new key for which there is no room.
    pub fn of(
        &self,
        hash: KeyHash,
        is_it: impl Fn(&K) -> bool,
        make: impl Fn() -> K,
    ) -> Option<&N> {
        self.numbered(hash, is_it, make).map(|(_, numbers)| numbers)
    }

    /// Returns the numbers of a key as [`of`](Self::of) does, and [where](Self::at) they are.
    pub fn numbered(
        &self,
        hash: KeyHash,
        is_it: impl Fn(&K) -> bool,
        make: impl Fn() -> K,
    ) -> Option<(usize, &N)> {
        let places = self.places.get_or_init(|| {
            let len = (2 * self.max).next_power_of_two();
            (0..len).map(|_| OnceLock::new()).collect()
        });
        let hash = hash.end();
        let last = places.len() - 1;
        let start = usize::try_from(hash).unwrap_or_default();
        // Open addressing: at least half of the places are free, so that a free one is soon met.
        for step in 0..=last {
            let at = (start + step) & last;
            let place = places.get(at)?;
            let taken = match place.get() {
                Some(taken) => taken,
                // Threads that come at once may each go one beyond the limit, for which there is
                // room.
                None if self.count.load(Relaxed) >= self.max => return None,
                None => self.take(place, hash, &make),
            };
            if taken.hash == hash && is_it(&taken.entry.0) {
                return Some((at, &taken.entry.1));
            }
        }
        None
    }

    /// Returns the key at a place; a place that is taken never changes.
    #[must_use]
    pub fn at(&self, place: usize) -> Option<&K> {
        let taken = self.places.get()?.get(place)?.get()?;
        Some(&taken.entry.0)
    }

    /// Returns each key with its numbers, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &N)> {
        let places = self.places.get().into_iter().flatten();
        let taken = places.filter_map(OnceLock::get);
        taken.map(|place| (&place.entry.0, &place.entry.1))
    }

    /// Fills a place, unless another thread has just done it for a key of its own.
    #[cold]
    fn take<'p>(
        &self,
        place: &'p OnceLock<Place<K, N>>,
        hash: u32,
        make: &impl Fn() -> K,
    ) -> &'p Place<K, N> {
        place.get_or_init(|| {
            self.count.fetch_add(1, Relaxed);
            Place {
                hash,
                entry: Box::new((make(), N::default())),
            }
        })
    }
}

/// Factor that leaves no bit where it was: 2⁶⁴ by the golden ratio.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

impl KeyHash {
    /// Adds a text, eight bytes at a time.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        let bytes = text.as_bytes();
        let (words, rest) = bytes.as_chunks::<8>();
        let begun = Self(self.0 ^ bytes.len() as u64);
        let hash = words
            .iter()
            .fold(begun, |hash, word| hash.number(u64::from_le_bytes(*word)));
        if rest.is_empty() {
            return hash;
        }
        hash.number(match bytes.last_chunk::<8>() {
            // Some bytes once more cost less than the rest one by one.
            Some(word) => u64::from_le_bytes(*word),
            None => rest
                .iter()
                .fold(0, |word, byte| word << 8 | u64::from(*byte)),
        })
    }

    /// Adds a number.
    #[must_use]
    pub fn number(self, number: u64) -> Self {
        Self((self.0.rotate_left(5) ^ number).wrapping_mul(ODD))
    }

    fn end(self) -> u32 {
        // Of a product the highest bits depend on all others, and the lowest choose a place.
        let mixed = (self.0 ^ self.0 >> 32).wrapping_mul(ODD) >> 32;
        u32::try_from(mixed).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, sync::atomic::AtomicU64};

    use super::*;

    fn hash(text: &str) -> u32 {
        KeyHash::default().text(text).end()
    }

    #[test]
    fn threads_that_meet_the_same_keys_count_them_together() {
        let counts = FixedMap::<u64, AtomicU64>::new(50);
        let count = |key: u64| {
            let numbers = counts.of(
                KeyHash::default().number(key),
                |known| *known == key,
                || key,
            );
            numbers.unwrap().fetch_add(1, Relaxed);
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..50).for_each(count));
            }
        });
        let counted: Vec<_> = counts
            .iter()
            .map(|(_, number)| number.load(Relaxed))
            .collect();
        assert_eq!(counted, [4; 50]);
        let is_full = counts.of(KeyHash::default().number(50), |known| *known == 50, || 50);
        assert!(is_full.is_none());
    }

    #[test]
    fn keys_of_the_same_hash_have_numbers_of_their_own() {
        let counts = FixedMap::<&str, AtomicU64>::new(4);
        for key in ["a", "b", "a"] {
            let numbers = counts.of(KeyHash::default(), |known| *known == key, || key);
            numbers.unwrap().fetch_add(1, Relaxed);
        }
        let mut counted: Vec<_> = counts
            .iter()
            .map(|(key, number)| (*key, number.load(Relaxed)))
            .collect();
        counted.sort_unstable();
        assert_eq!(counted, [("a", 2), ("b", 1)]);
    }

    #[test]
    fn similar_texts_spread_over_the_places() {
        for ending in ["", "bot", "-a-rather-long-id"] {
            let texts = (0..512).map(|number| format!("{number}{ending}"));
            let hashes: Vec<_> = texts.map(|text| hash(&text)).collect();
            let places: HashSet<_> = hashes.iter().map(|hash| hash % 512).collect();
            assert!(hashes.iter().collect::<HashSet<_>>().len() > 490);
            // By chance it would be 324.
            assert!(places.len() > 250, "{ending}: {}", places.len());
        }
    }
}
