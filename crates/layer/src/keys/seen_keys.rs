//! Keys that were seen.

use std::sync::{
    OnceLock,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use super::place_of;

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
    use super::*;

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
