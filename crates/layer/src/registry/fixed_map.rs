//! A bounded hash table that is read without a lock.

use std::sync::{
    OnceLock,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

/// A bounded hash table from keys to counters.
///
/// Entries are never removed, so reading requires neither a lock nor a copy.
#[derive(Debug)]
pub struct FixedMap<K, N> {
    max: usize,
    count: AtomicUsize,
    /// The slots, allocated when the first key is inserted; their number is a power of two, and at
    /// most half of the slots are used.
    places: OnceLock<Places<K, N>>,
}

type Places<K, N> = Box<[OnceLock<Place<K, N>>]>;

#[derive(Debug)]
struct Place<K, N> {
    hash: u32,
    /// Boxed so that the many free slots need little memory.
    entry: Box<(K, N)>,
}

/// The hash of a key, computed from the parts of the key.
///
/// Hashing is cheap because each request from a robot requires it. The keys come from a registry or
/// from a small number of hosts, so clients cannot choose many keys.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeyHash(u64);

impl<K, N: Default> FixedMap<K, N> {
    /// Creates a table for at most `max` keys.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self {
            max,
            count: AtomicUsize::new(0),
            places: OnceLock::new(),
        }
    }

    /// Returns the value for the key that `is_it` recognizes, or inserts the key created by `make`.
    ///
    /// Returns `None` for a new key if the table is full.
    pub fn get_or_insert(
        &self,
        hash: KeyHash,
        is_it: impl Fn(&K) -> bool,
        make: impl Fn() -> K,
    ) -> Option<&N> {
        self.get_or_insert_indexed(hash, is_it, make)
            .map(|(_, numbers)| numbers)
    }

    /// Returns the value for a key as [`get_or_insert`](Self::get_or_insert) does, with the [position](Self::at) of the
    /// key.
    pub fn get_or_insert_indexed(
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
        // Open addressing: at least half of the slots are free, so a free slot is found soon.
        for step in 0..=last {
            let at = (start + step) & last;
            let place = places.get(at)?;
            let taken = match place.get() {
                Some(taken) => taken,
                // Concurrent threads may each exceed the limit by one key, for which there is
                // space.
                None if self.count.load(Relaxed) >= self.max => return None,
                None => self.take(place, hash, &make),
            };
            if taken.hash == hash && is_it(&taken.entry.0) {
                return Some((at, &taken.entry.1));
            }
        }
        None
    }

    /// Returns the key at a position. A used slot never changes.
    #[must_use]
    pub fn at(&self, place: usize) -> Option<&K> {
        let taken = self.places.get()?.get(place)?.get()?;
        Some(&taken.entry.0)
    }

    /// Returns all keys with their values, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &N)> {
        let places = self.places.get().into_iter().flatten();
        let taken = places.filter_map(OnceLock::get);
        taken.map(|place| (&place.entry.0, &place.entry.1))
    }

    /// Fills a slot, unless another thread has just filled it with another key.
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

/// A multiplier that mixes all bits: 2⁶⁴ divided by the golden ratio.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

impl KeyHash {
    /// Adds a text to the hash, eight bytes at a time.
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
            // Hashing some bytes twice is cheaper than hashing the rest one by one.
            Some(word) => u64::from_le_bytes(*word),
            None => rest
                .iter()
                .fold(0, |word, byte| word << 8 | u64::from(*byte)),
        })
    }

    /// Adds a number to the hash.
    #[must_use]
    pub fn number(self, number: u64) -> Self {
        Self((self.0.rotate_left(5) ^ number).wrapping_mul(ODD))
    }

    fn end(self) -> u32 {
        // A product's highest bits depend on all its bits; the result's lowest bits select a slot.
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
    fn threads_share_the_counters_of_a_key() {
        let counts = FixedMap::<u64, AtomicU64>::new(50);
        let count = |key: u64| {
            let numbers = counts.get_or_insert(
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
        let is_full =
            counts.get_or_insert(KeyHash::default().number(50), |known| *known == 50, || 50);
        assert!(is_full.is_none());
    }

    #[test]
    fn keys_with_the_same_hash_have_separate_counters() {
        let counts = FixedMap::<&str, AtomicU64>::new(4);
        for key in ["a", "b", "a"] {
            let numbers = counts.get_or_insert(KeyHash::default(), |known| *known == key, || key);
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
    fn similar_texts_spread_over_the_slots() {
        for ending in ["", "bot", "-a-rather-long-id"] {
            let texts = (0..512).map(|number| format!("{number}{ending}"));
            let hashes: Vec<_> = texts.map(|text| hash(&text)).collect();
            let places: HashSet<_> = hashes.iter().map(|hash| hash % 512).collect();
            assert!(hashes.iter().collect::<HashSet<_>>().len() > 490);
            // A random hash would result in 324 places.
            assert!(places.len() > 250, "{ending}: {}", places.len());
        }
    }
}
