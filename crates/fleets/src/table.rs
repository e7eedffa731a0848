//! A table of bounded size that retains the most frequent keys.

/// Number of slots in which a key can be stored.
const WAYS: usize = 8;

/// The key that marks a free slot.
const FREE: u64 = 0;

/// A table of values by key. The keys are seeded hashes.
///
/// If all slots for a key are taken, the key decrements the count of the least frequent key and
/// replaces that key when its count is zero: a million keys that occur only once do not displace
/// frequent keys.
#[derive(Clone, Debug)]
pub(crate) struct Table<T> {
    sets: Vec<[Slot<T>; WAYS]>,
}

#[derive(Clone, Debug, Default)]
struct Slot<T> {
    key: u64,
    life: u32,
    value: T,
}

impl<T: Default> Table<T> {
    /// Creates a table with the given number of slots, at least eight.
    pub(crate) fn new(places: usize) -> Self {
        let sets = (0..(places / WAYS).max(1)).map(|_| Default::default());
        Self {
            sets: sets.collect(),
        }
    }

    /// Counts an occurrence of a key, and returns the key's value if there is a slot for the key.
    pub(crate) fn get_or_insert(&mut self, key: u64) -> Option<&mut T> {
        // Zero marks a free slot.
        let key = key.max(1);
        let set = self.set(key)?;
        let at = |key| move |slot: &Slot<T>| slot.key == key;
        let found = set.iter().position(at(key));
        let found = found.or_else(|| set.iter().position(at(FREE)));
        let slot = if let Some(found) = found {
            set.get_mut(found)?
        } else {
            let weakest = set.iter_mut().min_by_key(|slot| slot.life)?;
            weakest.life = weakest.life.saturating_sub(1);
            if weakest.life > 0 {
                return None;
            }
            *weakest = Slot::default();
            weakest
        };
        slot.key = key;
        slot.life = slot.life.saturating_add(1);
        Some(&mut slot.value)
    }

    /// Returns all stored keys and values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        let slots = self.sets.iter().flatten();
        let taken = slots.filter(|slot| slot.key != FREE);
        taken.map(|slot| (slot.key, &slot.value))
    }

    /// Removes all keys.
    pub(crate) fn clear(&mut self) {
        for slot in self.sets.iter_mut().flatten() {
            if slot.key != FREE {
                *slot = Slot::default();
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.sets.capacity() * size_of::<[Slot<T>; WAYS]>()
    }

    fn set(&mut self, key: u64) -> Option<&mut [Slot<T>; WAYS]> {
        // Use the upper half of the key as a fraction of all sets.
        let at = ((key >> 32) * self.sets.len() as u64) >> 32;
        self.sets.get_mut(usize::try_from(at).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher as _;

    use foldhash::quality::FixedState;

    use super::*;

    #[test]
    fn a_million_rare_keys_do_not_displace_a_frequent_key() {
        let hasher = FixedState::with_seed(3);
        let mut table = Table::<u32>::new(1_024);
        let bytes = table.bytes();
        for number in 0..1_000_000_u32 {
            let _ = table.get_or_insert(hasher.hash_one(number));
            if number % 50 == 0 {
                *table.get_or_insert(hasher.hash_one("often")).unwrap() += 1;
            }
        }
        let often = hasher.hash_one("often");
        let (_, count) = table.iter().find(|(key, _)| *key == often).unwrap();
        assert_eq!(*count, 20_000);
        assert_eq!(table.bytes(), bytes);
        table.clear();
        assert_eq!(table.iter().count(), 0);
    }
}
