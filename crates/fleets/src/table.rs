//! Table of bounded size in which those who come often stay.

/// Places that a key can be at.
const WAYS: usize = 8;

/// Key of a place that nobody has.
const FREE: u64 = 0;

/// Values by keys, which are hashes with a seed.
///
/// A key that finds all its places taken wears down the one that came least often and takes its
/// place when nothing of that is left: who comes once with each of a million keys drives nobody out
/// who comes often.
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
    /// Creates a table of so many places, eight at least.
    pub(crate) fn new(places: usize) -> Self {
        let sets = (0..(places / WAYS).max(1)).map(|_| Default::default());
        Self {
            sets: sets.collect(),
        }
    }

    /// Returns the value of a key that came, where there is a place for it.
    pub(crate) fn come(&mut self, key: u64) -> Option<&mut T> {
        // Zero stands for a free place.
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

    /// Returns all that have a place, with their keys.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        let slots = self.sets.iter().flatten();
        let taken = slots.filter(|slot| slot.key != FREE);
        taken.map(|slot| (slot.key, &slot.value))
    }

    /// Frees all places.
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
        // The upper half of the key as a fraction of all sets.
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
    fn who_comes_often_is_driven_out_by_no_million_that_come_once() {
        let hasher = FixedState::with_seed(3);
        let mut table = Table::<u32>::new(1_024);
        let bytes = table.bytes();
        for number in 0..1_000_000_u32 {
            let _ = table.come(hasher.hash_one(number));
            if number % 50 == 0 {
                *table.come(hasher.hash_one("often")).unwrap() += 1;
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
