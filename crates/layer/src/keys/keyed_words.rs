//! Words that are known of keys.

use std::sync::{
    OnceLock,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use super::place_of;

/// A word of each key that came lately, without a lock: each key has one place of `N`, a power of two,
/// and whoever comes later to the same place takes it.
///
/// Its memory, sixteen bytes a place, is taken with the first key.
#[derive(Debug, Default)]
pub(crate) struct KeyedWords<const N: usize>(OnceLock<Box<[Place]>>);

/// Of two threads that write at once each may write a half; so one half is the key mixed with the
/// word, and another's word gives another key.
#[derive(Debug, Default)]
struct Place {
    mixed: AtomicU64,
    word: AtomicU64,
}

impl<const N: usize> KeyedWords<N> {
    /// Returns the word of a key, if its place is its own still.
    #[inline]
    pub(crate) fn get(&self, key: u64) -> Option<u64> {
        let place = self.0.get()?.get(place_of(key, N))?;
        let word = place.word.load(Relaxed);
        (place.mixed.load(Relaxed) ^ word == key).then_some(word)
    }

    /// Remembers the word of a key; 0, which no place tells from none, is not a key.
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

/// Keys that were seen lately, without a lock: each has one place of `N`, a power of two, and whoever
/// comes later to the same place takes it.
///
/// Its memory, eight bytes a place, is taken with the first key.
#[derive(Debug, Default)]
pub(crate) struct SeenKeys<const N: usize>(OnceLock<Box<[AtomicU64]>>);

impl<const N: usize> SeenKeys<N> {
    /// Returns `true` if a key was seen, and its place is its own still.
    #[inline]
    pub(crate) fn has(&self, key: u64) -> bool {
        let place = self.0.get().and_then(|places| places.get(place_of(key, N)));
        place.is_some_and(|place| place.load(Relaxed) == key)
    }

    /// Remembers a key; 0, which no place tells from none, is not one.
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
    fn many_words_are_remembered_and_no_other_key_has_one() {
        let words = KeyedWords::<16_384>::default();
        for number in 1..=1_000 {
            assert_eq!(words.get(key(number)), None);
            words.set(key(number), number - 1);
        }
        let kept = (1..=1_000).filter(|number| words.get(key(*number)) == Some(number - 1));
        assert!(kept.count() > 900, "they are spread over all places");
        assert!((1_001..=1_000_000).all(|number| words.get(key(number)).is_none()));
    }

    #[test]
    fn a_key_never_has_the_word_of_another_that_is_written_at_once() {
        // One place: all keys take it from each other.
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
    fn many_keys_are_remembered_and_no_other_is_taken_for_one() {
        let keys = SeenKeys::<16_384>::default();
        let key = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for number in 1..=1_000 {
            assert!(!keys.has(key(number)));
            keys.add(key(number));
        }
        let kept = (1..=1_000).filter(|number| keys.has(key(*number)));
        assert!(kept.count() > 900, "they are spread over all places");
        assert!((1_001..=1_000_000).all(|number| !keys.has(key(number))));
    }
}
