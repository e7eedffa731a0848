//! Token buckets of very many senders, in memory that has an end.

use std::{
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::bucket::{Rate, micros, refilled};

/// Parts of the table, each with a lock of its own.
const SHARDS: usize = 64;

/// Bits of a key that name its shard.
const SHARD_BITS: u32 = SHARDS.ilog2();

/// Buckets that one place has room for.
const WAYS: usize = 16;

/// Places of a shard as soon as it has any.
const MIN_SETS: usize = 4;

/// Places of a shard at most: 31 MiB of all shards, two million buckets.
const MAX_SETS: usize = 1_984;

/// Token buckets of one rate by keys, which are hashes with a seed that nobody knows.
///
/// A bucket that is full again needs no memory. Each key has one place, which holds 16 buckets;
/// where they are all in debt the shard grows, and where it has its full size the
/// bucket goes that would be full first. So who is in debt to his whole depth stays until 16 others
/// at his place are deeper in debt, and nobody knows who they would have to be.
#[derive(Debug)]
pub(super) struct KeyTable {
    rate: Rate,
    shards: Box<[Shard; SHARDS]>,
}

/// Aligned so that no two cores that ask two shards write to one line of a cache.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Shard(Mutex<Places>);

#[derive(Debug, Default)]
struct Places {
    sets: Vec<[Entry; WAYS]>,
}

/// Bucket of a key, 16 bytes; one of zeros has been full since 1970.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    key: u64,
    full_us: i64,
}

impl KeyTable {
    pub(super) fn new(rate: Rate) -> Self {
        Self {
            rate,
            shards: Box::new([const { Shard(Mutex::new(Places { sets: Vec::new() })) }; SHARDS]),
        }
    }

    /// Takes a token of a key; where there is none, returns how long to wait for one.
    ///
    /// Who comes too soon does not put off the next.
    pub(super) fn take(&self, key: u64, now_ms: i64) -> Result<(), Duration> {
        let now_us = micros(now_ms);
        let mut places = self.places(key);
        if let Some(entry) = places.find(key) {
            entry.full_us = refilled(entry.full_us, now_us, self.rate)?;
            return Ok(());
        }
        let full_us = refilled(i64::MIN, now_us, self.rate)?;
        places.add(Entry { key, full_us }, now_us, self.rate);
        Ok(())
    }

    /// Finds what [`take`](Self::take) would, and takes nothing.
    pub(super) fn peek(&self, key: u64, now_ms: i64) -> Result<(), Duration> {
        let full_us = self.places(key).find(key).map(|entry| entry.full_us);
        let full_us = full_us.unwrap_or(i64::MIN);
        refilled(full_us, micros(now_ms), self.rate).map(drop)
    }

    /// Returns the memory that it has, in bytes.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        let places = self.shards.iter().map(|shard| shard.0.lock().unwrap());
        let sets = places.map(|places| places.sets.capacity());
        size_of::<Self>()
            + size_of_val(&*self.shards)
            + sets.sum::<usize>() * size_of::<[Entry; WAYS]>()
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "these bits name one of as many shards"
    )]
    fn places(&self, key: u64) -> MutexGuard<'_, Places> {
        let shard = usize::try_from(key >> (u64::BITS - SHARD_BITS)).unwrap_or_default();
        // What a panic left half way are buckets still.
        let places = self.shards[shard].0.lock();
        places.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Places {
    fn find(&mut self, key: u64) -> Option<&mut Entry> {
        let set = self.set(key)?;
        set.iter_mut().find(|entry| entry.key == key)
    }

    fn add(&mut self, entry: Entry, now_us: i64, rate: Rate) {
        while self.sets.len() < MAX_SETS && !self.has_room(entry.key, now_us, rate) {
            self.grow(now_us, rate);
        }
        self.put(entry, now_us, rate);
    }

    fn has_room(&mut self, key: u64, now_us: i64, rate: Rate) -> bool {
        let is_full = |entry: &Entry| entry.debt_us(now_us, rate) == 0;
        self.set(key).is_some_and(|set| set.iter().any(is_full))
    }

    /// Puts a bucket in the place of the one at its place that has the least debt.
    fn put(&mut self, entry: Entry, now_us: i64, rate: Rate) {
        let set = self.set(entry.key).into_iter().flatten();
        if let Some(least) = set.min_by_key(|entry| entry.debt_us(now_us, rate)) {
            *least = entry;
        }
    }

    fn grow(&mut self, now_us: i64, rate: Rate) {
        let sets = (self.sets.len() * 2).clamp(MIN_SETS, MAX_SETS);
        let old = mem::replace(&mut self.sets, vec![[Entry::default(); WAYS]; sets]);
        for entry in old.into_iter().flatten() {
            if entry.debt_us(now_us, rate) > 0 {
                self.put(entry, now_us, rate);
            }
        }
    }

    fn set(&mut self, key: u64) -> Option<&mut [Entry; WAYS]> {
        // The 32 bits behind those of the shard, as a fraction of all places.
        let fraction = key << SHARD_BITS >> 32;
        let at = (fraction * self.sets.len() as u64) >> 32;
        self.sets.get_mut(usize::try_from(at).ok()?)
    }
}

impl Entry {
    /// Returns how long it is until the bucket is full; 0: it is as good as a new one.
    fn debt_us(self, now_us: i64, rate: Rate) -> i64 {
        let debt_us = self.full_us.saturating_sub(now_us);
        // Farther ahead than a bucket is deep: the clock was set back.
        if debt_us > rate.depth_us() {
            0
        } else {
            debt_us.max(0)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::HashMap,
        hash::{BuildHasher, RandomState},
        thread,
    };

    use proptest::prelude::*;

    use super::*;

    const MIB: usize = 1 << 20;

    /// Two an hour, both at once.
    fn rate() -> Rate {
        Rate::new(2, Duration::from_hours(1), 2)
    }

    fn is_served(table: &KeyTable, key: u64, now_ms: i64) -> bool {
        table.take(key, now_ms).is_ok()
    }

    #[test]
    fn a_million_addresses_have_buckets_of_their_own_in_32_mib() {
        let (table, hasher) = (KeyTable::new(rate()), RandomState::new());
        let keys = || (0..1_000_000_u32).map(|address| hasher.hash_one(address));
        let empty = table.bytes();
        assert!(empty < 8 * 1_024, "{empty}");
        for key in keys().chain(keys()) {
            table.take(key, 0).unwrap();
        }
        let bytes = table.bytes();
        assert!((16 * MIB..=32 * MIB).contains(&bytes), "{bytes}");
        let forgotten = keys().filter(|key| is_served(&table, *key, 1)).count();
        assert!(forgotten < 2_500, "{forgotten}");
        assert_eq!(table.bytes(), bytes);
    }

    #[test]
    fn a_few_senders_take_little_memory_and_those_who_are_full_again_none() {
        let (table, hasher) = (KeyTable::new(rate()), RandomState::new());
        for hour in 0..100 {
            for sender in 0..100 {
                let key = hasher.hash_one((hour, sender));
                assert!(is_served(&table, key, hour * 3_600_000));
            }
        }
        assert!(table.bytes() < MIB / 4, "{}", table.bytes());
    }

    #[test]
    fn many_who_ask_once_free_nobody_who_is_spent() {
        let (table, hasher) = (KeyTable::new(rate()), RandomState::new());
        let spent: Vec<_> = (0..100).map(|n| hasher.hash_one(("spent", n))).collect();
        for &key in spent.iter().chain(&spent) {
            table.take(key, 0).unwrap();
        }
        // More than there is room for, so that some of them go.
        for address in 0..4_000_000_u32 {
            table.take(hasher.hash_one(address), 1).unwrap();
        }
        assert!(table.bytes() <= 32 * MIB);
        assert!(spent.iter().all(|key| !is_served(&table, *key, 2)));
        let half_an_hour = 1_800_000;
        assert!(
            spent
                .iter()
                .all(|key| is_served(&table, *key, half_an_hour))
        );
    }

    #[test]
    fn who_asks_from_many_threads_gets_no_more() {
        let table = KeyTable::new(Rate::new(1_000, Duration::from_hours(1), 1_000));
        let served = || (0..1_000).filter(|_| is_served(&table, 7, 0)).count();
        let all: usize = thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(served)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .sum()
        });
        assert_eq!(all, 1_000);
    }

    #[test]
    fn a_clock_that_is_set_back_locks_nobody_out() {
        let table = KeyTable::new(rate());
        for now_ms in [i64::MAX, i64::MAX, 1_000_000_000_000, i64::MIN, -5, 0] {
            assert!(is_served(&table, 7, now_ms), "{now_ms}");
        }
    }

    /// A bucket as one would explain it: tokens that come back with time.
    struct Tokens {
        /// In microseconds of the time that one takes to come back.
        level_us: i64,
        at_ms: i64,
    }

    proptest! {
        #[test]
        fn each_key_gets_what_its_own_bucket_would_give(
            requests in 1..50_u32,
            per_ms in 100..100_000_i64,
            burst in 1..10_u32,
            arrivals in proptest::collection::vec((0..40_u64, 0..2_000_i64), 1..400),
        ) {
            let per = Duration::from_millis(per_ms.unsigned_abs());
            let table = KeyTable::new(Rate::new(requests, per, burst));
            let (hasher, mut now_ms) = (RandomState::new(), 1_000_000_i64);
            let interval_us = per_ms * 1_000 / i64::from(requests);
            let depth_us = interval_us * i64::from(burst);
            let mut model: HashMap<u64, Tokens> = HashMap::new();
            let mut served: HashMap<u64, Vec<i64>> = HashMap::new();
            for (key, gap) in arrivals {
                now_ms += gap;
                let full = Tokens { level_us: depth_us, at_ms: now_ms };
                let tokens = model.entry(key).or_insert(full);
                let back_us = (now_ms - tokens.at_ms) * 1_000;
                tokens.level_us = (tokens.level_us + back_us).min(depth_us);
                tokens.at_ms = now_ms;
                let expected = tokens.level_us >= interval_us;
                if expected {
                    tokens.level_us -= interval_us;
                    served.entry(key).or_default().push(now_ms);
                }
                let found = is_served(&table, hasher.hash_one(key), now_ms);
                prop_assert_eq!(found, expected, "{} at {}", key, now_ms);
            }
            // Over any time: no more than the burst and what came back since.
            for times in served.values() {
                for (at, first) in times.iter().enumerate() {
                    for (count, last) in times.iter().skip(at).zip(1_i64..).map(|(t, n)| (n, t)) {
                        let back = (last - first) * 1_000 / interval_us;
                        prop_assert!(count <= i64::from(burst) + back);
                    }
                }
            }
        }
    }
}
