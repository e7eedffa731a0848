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
    /// Halves of the keys, which are less choosy about their place in memory.
    keys: Box<[[u64; 2]]>,
    /// What stands under them, in the same order: most that is asked needs no look here.
    values: Box<[Value<T>]>,
}

/// What stands under a key, in one line of the processor's caches.
#[derive(Debug)]
#[repr(align(64))]
struct Value<T>(T);

/// Where a key stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Place {
    at: usize,
    /// What was told of it when the index was made.
    pub(super) flags: [bool; FLAGS.len()],
}

/// Bits of the second half of a key that no letter has.
const FLAGS: [u64; 3] = [1 << 63, 1 << 55, 1 << 47];
const LETTERS: u64 = !(FLAGS[0] | FLAGS[1] | FLAGS[2]);

impl<T> Index<T> {
    /// Creates the index of different keys, and tells by flags what stands under
    /// them; `None` where there are too many.
    pub(super) fn new(
        all: impl IntoIterator<Item = (Key, T)>,
        flags: impl Fn(&T) -> [bool; FLAGS.len()],
    ) -> Option<Self> {
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
        let flagged = |(key, value): &(Key, T)| {
            let [low, high] = halves(*key);
            let flags = FLAGS.into_iter().zip(flags(value));
            let flags = flags.filter(|(_, is_set)| *is_set);
            [low, flags.fold(high, |high, (flag, _)| high | flag)]
        };
        Some(Self {
            filter: filter.into(),
            shift,
            bounds: bounds.into(),
            keys: all.iter().map(flagged).collect(),
            values: all.into_iter().map(|(_, value)| Value(value)).collect(),
        })
    }

    /// Returns what stands under a key.
    #[inline]
    pub(super) fn get(&self, key: Key) -> Option<&T> {
        self.value(self.find(key)?)
    }

    /// Returns what stands at a place.
    #[inline]
    pub(super) fn value(&self, place: Place) -> Option<&T> {
        self.values.get(place.at).map(|Value(value)| value)
    }

    /// Returns where a key stands.
    #[inline]
    pub(super) fn find(&self, key: Key) -> Option<Place> {
        let place = usize::try_from(hash(key) >> self.shift).unwrap_or_default();
        let bits = self.filter.get(place / 64)?;
        if bits >> (place % 64) & 1 == 0 {
            return None;
        }
        let &[from, to] = self.bounds.get(place / BITS_A_KEY..)?.first_chunk()?;
        let keys = self.keys.get(from as usize..to as usize)?;
        let own = halves(key);
        let (behind, found) = (from as usize..)
            .zip(keys)
            .find(|(_, [low, high])| [*low, high & LETTERS] == own)?;
        Some(Place {
            at: behind,
            flags: FLAGS.map(|flag| found[1] & flag != 0),
        })
    }

    /// Returns all keys, and what stands under them.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        let keys = self.keys.iter();
        let whole = keys.map(|[low, high]| Key::from(high & LETTERS) << 64 | Key::from(*low));
        whole.zip(self.values.iter().map(|Value(value)| value))
    }

    /// Returns the memory that it takes.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.filter)
            + size_of_val(&*self.bounds)
            + size_of_val(&*self.keys)
            + size_of_val(&*self.values)
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
            let flags = |number: u32| [3_u32, 5, 7].map(|divisor| number.is_multiple_of(divisor));
            let key = |number: u32| Key::from(number) << (number % 90) | Key::from(number) << 98;
            let all = (0..count).map(|number| (key(number), number));
            let index = Index::new(all, |number| flags(*number)).unwrap();
            assert_eq!(index.iter().count(), count as usize);
            assert!(index.iter().all(|(own, number)| own == key(*number)));
            for number in 0..count {
                assert_eq!(index.get(key(number)), Some(&number));
                let place = index.find(key(number)).unwrap();
                assert_eq!(place.flags, flags(number));
            }
            for number in count..2 * count + 9 {
                assert_eq!(index.get(key(number)), None);
            }
        }
    }

    #[test]
    fn filter_knows_most_strange_keys() {
        let index = Index::new((0..8_000_u32).map(|n| (Key::from(n * 7), ())), |()| {
            [false; 3]
        })
        .unwrap();
        let set: u32 = index.filter.iter().map(|word| word.count_ones()).sum();
        assert!(index.filter.len() * 8 <= 16 << 10);
        assert!((set as usize) < index.filter.len() * 64 / 6, "{set} bits");
    }
}
