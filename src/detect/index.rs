//! What stands under a key, found with few looks into memory.

use super::words::Key;

/// Bits of the filter for each key: of eight strange keys it knows seven.
const BITS_A_KEY: usize = 8;

/// Immutable map.
///
/// A filter of one bit for a hash, small enough for the processor's nearest
/// cache, tells nearly all keys that are not there.
#[derive(Debug)]
pub(super) struct Index<T> {
    filter: Box<[u64]>,
    /// Bits by which a hash is shifted to be a place in the filter.
    shift: u32,
    /// Where the slots of each group of neighbours in the filter begin, and where the last end.
    bounds: Box<[u32]>,
    slots: Box<[Slot<T>]>,
}

/// Where a key stands with its value, in one line of the processor's caches.
#[derive(Debug)]
#[repr(align(64))]
struct Slot<T> {
    /// Halves, which are less choosy about their place in memory.
    key: [u64; 2],
    value: T,
}

impl<T> Index<T> {
    /// Creates the index of different keys; `None` where there are too many.
    pub(super) fn new(all: impl IntoIterator<Item = (Key, T)>) -> Option<Self> {
        let mut all: Vec<_> = all.into_iter().collect();
        let groups = all.len().next_power_of_two().max(64 / BITS_A_KEY);
        let bits = groups * BITS_A_KEY;
        let shift = u64::BITS - bits.trailing_zeros();
        let place = |key: Key| usize::try_from(hash(key) >> shift).unwrap_or_default();
        all.sort_by_key(|(key, _)| (place(*key), *key));
        let mut filter = vec![0_u64; bits / 64];
        let mut bounds = Vec::with_capacity(groups + 1);
        for (number, (key, _)) in all.iter().enumerate() {
            let place = place(*key);
            *filter.get_mut(place / 64)? |= 1 << (place % 64);
            let groups_before = (place / BITS_A_KEY + 1).max(bounds.len());
            bounds.resize(groups_before, u32::try_from(number).ok()?);
        }
        bounds.resize(groups + 1, u32::try_from(all.len()).ok()?);
        let slot = |(key, value)| Slot {
            key: halves(key),
            value,
        };
        Some(Self {
            filter: filter.into(),
            shift,
            bounds: bounds.into(),
            slots: all.into_iter().map(slot).collect(),
        })
    }

    /// Returns what stands under a key.
    #[inline]
    pub(super) fn get(&self, key: Key) -> Option<&T> {
        let place = usize::try_from(hash(key) >> self.shift).unwrap_or_default();
        let bits = self.filter.get(place / 64)?;
        if bits >> (place % 64) & 1 == 0 {
            return None;
        }
        let &[from, to] = self.bounds.get(place / BITS_A_KEY..)?.first_chunk()?;
        let slots = self.slots.get(from as usize..to as usize)?;
        let own = halves(key);
        let slot = slots.iter().find(|slot| slot.key == own)?;
        Some(&slot.value)
    }

    /// Returns all keys, and what stands under them.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        let whole = |[low, high]: [u64; 2]| Key::from(high) << 64 | Key::from(low);
        let slots = self.slots.iter();
        slots.map(move |slot| (whole(slot.key), &slot.value))
    }

    /// Returns the memory that it takes.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.filter) + size_of_val(&*self.bounds) + size_of_val(&*self.slots)
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "it takes the halves apart")]
fn halves(key: Key) -> [u64; 2] {
    [key as u64, (key >> 64) as u64]
}

/// Returns a hash, of which the highest bits are the best (Knuth, The Art of Computer Programming 3, 6.4).
#[inline]
pub(super) fn hash(key: Key) -> u64 {
    let [low, high] = halves(key);
    (low ^ high.rotate_left(23)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_is_found_and_nothing_else() {
        for count in [0_u32, 1, 2, 7, 8, 9, 1_000, 5_000] {
            let key = |number: u32| Key::from(number) << (number % 90) | Key::from(number) << 100;
            let index = Index::new((0..count).map(|n| (key(n), n))).unwrap();
            assert_eq!(index.iter().count(), count as usize);
            assert!(index.iter().all(|(own, number)| own == key(*number)));
            for number in 0..count {
                assert_eq!(index.get(key(number)), Some(&number));
            }
            for number in count..2 * count + 9 {
                assert_eq!(index.get(key(number)), None);
            }
        }
    }

    #[test]
    fn filter_knows_most_strange_keys() {
        let index = Index::new((0..8_000_u32).map(|n| (Key::from(n * 7), ()))).unwrap();
        let set: u32 = index.filter.iter().map(|word| word.count_ones()).sum();
        assert!(index.filter.len() * 8 <= 16 << 10);
        assert!((set as usize) < index.filter.len() * 64 / 6, "{set} bits");
    }
}
