//! Lock-free tables that map recent keys to words.

use std::sync::{
    OnceLock,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use super::place_of;

/// A lock-free table that stores a word for each recent key. Each key has one of `N` slots (a power
/// of two); a later key with the same slot overwrites it.
///
/// The memory, sixteen bytes per slot, is allocated when the first key is stored.
#[derive(Debug, Default)]
pub(crate) struct KeyedWords<const N: usize>(OnceLock<Box<[Place]>>);

/// A slot of a table. `mixed` is the XOR of key and word, so that halves written by two threads at
/// the same time yield a different key.
#[derive(Debug, Default)]
struct Place {
    mixed: AtomicU64,
    word: AtomicU64,
}

impl<const N: usize> KeyedWords<N> {
    /// Returns the word stored for a key, unless another key has overwritten its slot.
    #[inline]
    pub(crate) fn get(&self, key: u64) -> Option<u64> {
        let place = self.0.get()?.get(place_of(key, N))?;
        let word = place.word.load(Relaxed);
        (place.mixed.load(Relaxed) ^ word == key).then_some(word)
    }

    /// Stores a word for a key. 0 is not a valid key because empty slots contain it.
    pub(crate) fn set(&self, key: u64, word: u64) {
        let places = self
            .0
            .get_or_init(|| (0..N).map(|_| Place::default()).collect());
        if let Some(place) = places.get(place_of(key, N)) {
            place.mixed.store(key ^ word, Relaxed);
            place.word.store(word, Relaxed);
        }
    }
}

/// A lock-free set of recent keys. Each key has one of `N` slots (a power of two); a later key with
/// the same slot overwrites it.
///
/// The memory, eight bytes per slot, is allocated when the first key is added.
#[derive(Debug, Default)]
pub(crate) struct SeenKeys<const N: usize>(OnceLock<Box<[AtomicU64]>>);

impl<const N: usize> SeenKeys<N> {
    /// Returns `true` if a key was added and has not been overwritten.
    #[inline]
    pub(crate) fn contains(&self, key: u64) -> bool {
        let place = self.0.get().and_then(|places| places.get(place_of(key, N)));
        place.is_some_and(|place| place.load(Relaxed) == key)
    }

    /// Adds a key. 0 is not a valid key because empty slots contain it.
    pub(crate) fn add(&self, key: u64) {
        let places = self
            .0
            .get_or_init(|| (0..N).map(|_| AtomicU64::new(0)).collect());
        if let Some(place) = places.get(place_of(key, N)) {
            place.store(key, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn key(number: u64) -> u64 {
        number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    #[test]
    fn most_words_are_kept_and_other_keys_have_none() {
        let words = KeyedWords::<16_384>::default();
        for number in 1..=1_000 {
            assert_eq!(words.get(key(number)), None);
            words.set(key(number), number - 1);
        }
        let kept = (1..=1_000).filter(|number| words.get(key(*number)) == Some(number - 1));
        assert!(kept.count() > 900, "the keys are not spread over all slots");
        assert!((1_001..=1_000_000).all(|number| words.get(key(number)).is_none()));
    }

    #[test]
    fn concurrent_writes_never_mix_up_words() {
        // A single slot, which all keys overwrite.
        let words = KeyedWords::<1>::default();
        thread::scope(|scope| {
            for first in 1..=2_u64 {
                let words = &words;
                scope.spawn(move || {
                    for number in (first..200_000).step_by(2) {
                        words.set(key(number), number);
                        let word = words.get(key(number));
                        assert!(word.is_none_or(|word| word == number), "{word:?}");
                    }
                });
            }
        });
    }

    #[test]
    fn most_keys_are_kept_and_other_keys_are_not_found() {
        let keys = SeenKeys::<16_384>::default();
        let key = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for number in 1..=1_000 {
            assert!(!keys.contains(key(number)));
            keys.add(key(number));
        }
        let kept = (1..=1_000).filter(|number| keys.contains(key(*number)));
        assert!(kept.count() > 900, "the keys are not spread over all slots");
        assert!((1_001..=1_000_000).all(|number| !keys.contains(key(number))));
    }
}
