//! Token buckets for a large number of senders, in bounded memory.

use std::{
    collections::BTreeMap,
    mem,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use super::{
    bucket::{Rate, micros, take_token},
    shared_limit::BucketDebt,
};

/// Number of shards of the table, each with a separate lock.
const SHARDS: usize = 64;

/// Number of bits of a key that select its shard.
const SHARD_BITS: u32 = SHARDS.ilog2();

/// Number of buckets in a set.
const WAYS: usize = 16;

/// Initial number of sets in each shard.
const MIN_SETS: usize = 4;

/// Maximum number of sets in each shard: 31 MiB in all shards, for two million buckets.
pub(super) const MAX_SETS: usize = 1_984;

/// Maximum number of buckets per shard that are waiting to be sent to the other instances.
///
/// All shards are sent within a few seconds. Debts beyond the limit are not shared.
const MAX_UNTOLD: usize = 1_024;

/// A table of token buckets with the same rate, identified by hashes with a secret seed.
///
/// A full bucket needs no memory. Each key belongs to one set of 16 buckets. If all buckets of a
/// set are in debt, the shard grows; at its maximum size, the bucket that would be full first is
/// evicted. A sender with the maximum debt therefore remains until 16 other senders in the same set
/// have a larger debt, and clients cannot know which senders belong to the same set.
#[derive(Debug)]
pub(super) struct KeyTable {
    rate: Rate,
    max_sets: usize,
    /// Number of instances that share the buckets, including this one.
    sharers: AtomicU32,
    shards: Box<[Shard; SHARDS]>,
}

/// A shard of the table, aligned so that two cores that use different shards do not write to the
/// same cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Shard(Mutex<ShardSets>);

#[derive(Debug, Default)]
struct ShardSets {
    sets: Vec<[Entry; WAYS]>,
    /// Debts that have not been sent to the other instances, in microseconds; empty if there are no
    /// other instances.
    untold: BTreeMap<u64, i64>,
}

/// The bucket of a key, in 16 bytes. An entry of zeros is a bucket that has been full since 1970.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    key: u64,
    full_us: i64,
}

impl KeyTable {
    /// Creates a table with at most `max_sets` sets per shard.
    pub(super) fn new(rate: Rate, max_sets: usize) -> Self {
        Self {
            rate,
            max_sets,
            sharers: AtomicU32::new(1),
            shards: Box::new([const { Shard(Mutex::new(ShardSets::NONE)) }; SHARDS]),
        }
    }

    /// Takes a token from the bucket of a key. If the bucket is empty, returns the time until the
    /// next token.
    ///
    /// A request that arrives too early does not delay the next request.
    pub(super) fn take(&self, key: u64, now_ms: i64) -> Result<(), Duration> {
        let (now_us, rate) = (micros(now_ms), self.rate());
        let mut places = self.places(key);
        if let Some(entry) = places.find(key) {
            entry.full_us = take_token(entry.full_us, now_us, rate)?;
        } else {
            let full_us = take_token(i64::MIN, now_us, rate)?;
            places.add(Entry { key, full_us }, now_us, rate, self.max_sets);
        }
        if rate.is_shared() {
            places.note(key, rate.interval_us());
        }
        Ok(())
    }

    /// Returns the result of [`take`](Self::take) without taking a token.
    pub(super) fn peek(&self, key: u64, now_ms: i64) -> Result<(), Duration> {
        let full_us = self.places(key).find(key).map(|entry| entry.full_us);
        let full_us = full_us.unwrap_or(i64::MIN);
        take_token(full_us, micros(now_ms), self.rate()).map(drop)
    }

    /// Puts the most recently taken token back into the bucket of a key.
    pub(super) fn return_token(&self, key: u64) {
        let rate = self.rate();
        let mut places = self.places(key);
        if let Some(entry) = places.find(key) {
            entry.full_us = entry.full_us.saturating_sub(rate.price_micros());
        }
        if rate.is_shared() {
            places.note(key, -rate.interval_us());
        }
    }

    /// Removes all buckets from the table.
    pub(super) fn clear(&self) {
        for shard in self.shards.iter() {
            *shard.places() = ShardSets::NONE;
        }
    }

    /// Sets the number of instances that share the buckets, at least 1.
    pub(super) fn set_sharers(&self, sharers: u32, now_ms: i64) {
        let before = self.sharers.swap(sharers.max(1), Ordering::Relaxed);
        let now_us = micros(now_ms);
        for shard in self.shards.iter().filter(|_| (before > 1) != (sharers > 1)) {
            let mut places = shard.places();
            places.untold.clear();
            if sharers > 1 {
                // Tokens that were already taken are unknown to the new instances.
                places.note_debts(now_us, self.rate());
            }
        }
    }

    /// Removes and returns the debts that have not been sent to the other instances, largest first.
    pub(super) fn take_unreported(&self, most: usize) -> Vec<BucketDebt> {
        let all = self
            .shards
            .iter()
            .flat_map(|shard| mem::take(&mut shard.places().untold));
        let mut all: Vec<_> = all
            .map(|(key, debt_us)| BucketDebt { key, debt_us })
            .collect();
        all.sort_unstable_by_key(|debt| -debt.debt_us);
        self.add_unreported(all.get(most..).unwrap_or_default());
        all.truncate(most);
        all
    }

    /// Adds debts to the debts that are waiting to be sent to the other instances.
    pub(super) fn add_unreported(&self, debts: &[BucketDebt]) {
        for debt in debts {
            self.places(debt.key).note(debt.key, debt.debt_us);
        }
    }

    /// Sets buckets to the total debt of all instances, as far as the instances have reported it.
    pub(super) fn apply_totals(&self, debts: &[BucketDebt], now_ms: i64) {
        let (now_us, rate) = (micros(now_ms), self.rate());
        let sharers = i64::from(self.sharers.load(Ordering::Relaxed));
        for &BucketDebt { key, debt_us } in debts {
            let mut places = self.places(key);
            let untold_us = places.untold.get(&key).copied().unwrap_or_default();
            let own_us = untold_us.saturating_mul(sharers);
            let full_us = now_us.saturating_add(debt_us.max(0)).saturating_add(own_us);
            match places.find(key) {
                Some(entry) => entry.full_us = full_us,
                None => places.add(Entry { key, full_us }, now_us, rate, self.max_sets),
            }
        }
    }

    /// Returns the memory in use, in bytes.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        let places = self.shards.iter().map(|shard| shard.0.lock().unwrap());
        let sets = places.map(|places| places.sets.capacity());
        size_of::<Self>()
            + size_of_val(&*self.shards)
            + sets.sum::<usize>() * size_of::<[Entry; WAYS]>()
    }

    fn rate(&self) -> Rate {
        // The count is a single number, and no other memory depends on it.
        self.rate.shared_by(self.sharers.load(Ordering::Relaxed))
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "the bits select one of exactly as many shards"
    )]
    fn places(&self, key: u64) -> MutexGuard<'_, ShardSets> {
        let shard = usize::try_from(key >> (u64::BITS - SHARD_BITS)).unwrap_or_default();
        self.shards[shard].places()
    }
}

impl Shard {
    fn places(&self) -> MutexGuard<'_, ShardSets> {
        // Buckets left half updated by a panic are still usable.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ShardSets {
    const NONE: Self = Self {
        sets: Vec::new(),
        untold: BTreeMap::new(),
    };

    fn find(&mut self, key: u64) -> Option<&mut Entry> {
        let set = self.set(key)?;
        set.iter_mut().find(|entry| entry.key == key)
    }

    fn add(&mut self, entry: Entry, now_us: i64, rate: Rate, max_sets: usize) {
        while self.sets.len() < max_sets && !self.has_room(entry.key, now_us, rate) {
            self.grow(now_us, rate, max_sets);
        }
        self.put(entry, now_us, rate);
    }

    fn note(&mut self, key: u64, debt_us: i64) {
        let has_room = self.untold.len() < MAX_UNTOLD;
        if let Some(untold_us) = self.untold.get_mut(&key) {
            *untold_us = untold_us.saturating_add(debt_us);
        } else if has_room {
            self.untold.insert(key, debt_us);
        }
    }

    fn note_debts(&mut self, now_us: i64, rate: Rate) {
        let entries = self.sets.iter().flatten();
        let debts = entries.map(|entry| (entry.key, entry.debt_us(now_us, rate)));
        let debts: Vec<_> = debts.filter(|(_, debt_us)| *debt_us > 0).collect();
        for (key, debt_us) in debts {
            self.note(key, debt_us);
        }
    }

    fn has_room(&mut self, key: u64, now_us: i64, rate: Rate) -> bool {
        let is_full = |entry: &Entry| entry.debt_us(now_us, rate) == 0;
        self.set(key).is_some_and(|set| set.iter().any(is_full))
    }

    /// Replaces the bucket with the smallest debt in the set.
    fn put(&mut self, entry: Entry, now_us: i64, rate: Rate) {
        let set = self.set(entry.key).into_iter().flatten();
        if let Some(least) = set.min_by_key(|entry| entry.debt_us(now_us, rate)) {
            *least = entry;
        }
    }

    fn grow(&mut self, now_us: i64, rate: Rate, max_sets: usize) {
        let sets = (self.sets.len() * 2).clamp(MIN_SETS, max_sets);
        let old = mem::replace(&mut self.sets, vec![[Entry::default(); WAYS]; sets]);
        for entry in old.into_iter().flatten() {
            if entry.debt_us(now_us, rate) > 0 {
                self.put(entry, now_us, rate);
            }
        }
    }

    fn set(&mut self, key: u64) -> Option<&mut [Entry; WAYS]> {
        // Use the 32 bits after the shard's bits as a fraction of all sets.
        let fraction = key << SHARD_BITS >> 32;
        let at = (fraction * self.sets.len() as u64) >> 32;
        self.sets.get_mut(usize::try_from(at).ok()?)
    }
}

impl Entry {
    /// Returns the time until the bucket is full, or 0 if it is already full.
    fn debt_us(self, now_us: i64, rate: Rate) -> i64 {
        let debt_us = self.full_us.saturating_sub(now_us);
        // A debt of more than the depth of a bucket means that the clock was set back.
        if debt_us > rate.max_debt_us() {
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

    /// Returns a rate of two requests per hour, both at once.
    fn rate() -> Rate {
        Rate::new(2, Duration::from_hours(1), 2)
    }

    fn is_served(table: &KeyTable, key: u64, now_ms: i64) -> bool {
        table.take(key, now_ms).is_ok()
    }

    #[test]
    fn a_million_addresses_have_separate_buckets_in_32_mib() {
        let (table, hasher) = (KeyTable::new(rate(), MAX_SETS), RandomState::new());
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
    fn few_senders_need_little_memory_and_full_buckets_none() {
        let (table, hasher) = (KeyTable::new(rate(), MAX_SETS), RandomState::new());
        for hour in 0..100 {
            for sender in 0..100 {
                let key = hasher.hash_one((hour, sender));
                assert!(is_served(&table, key, hour * 3_600_000));
            }
        }
        assert!(table.bytes() < MIB / 4, "{}", table.bytes());
    }

    #[test]
    fn many_single_requests_do_not_evict_an_exhausted_bucket() {
        let (table, hasher) = (KeyTable::new(rate(), MAX_SETS), RandomState::new());
        let spent: Vec<_> = (0..100).map(|n| hasher.hash_one(("spent", n))).collect();
        for &key in spent.iter().chain(&spent) {
            table.take(key, 0).unwrap();
        }
        // There are more senders than the table can hold, so some senders are evicted.
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
    fn requests_from_many_threads_share_one_limit() {
        let table = KeyTable::new(Rate::new(1_000, Duration::from_hours(1), 1_000), MAX_SETS);
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
    fn a_clock_set_back_blocks_no_request() {
        let table = KeyTable::new(rate(), MAX_SETS);
        for now_ms in [i64::MAX, i64::MAX, 1_000_000_000_000, i64::MIN, -5, 0] {
            assert!(is_served(&table, 7, now_ms), "{now_ms}");
        }
    }

    /// A reference implementation of a bucket, with tokens that return over time.
    struct Tokens {
        /// The fill level, as the number of microseconds in which this number of tokens return.
        level_us: i64,
        at_ms: i64,
    }

    /// The data that the instances have exchanged: the time at which each bucket will be full.
    #[derive(Default)]
    struct ExchangedDebts(HashMap<u64, i64>);

    impl ExchangedDebts {
        fn add(&mut self, table: &KeyTable, now_ms: i64) {
            for BucketDebt { key, debt_us } in table.take_unreported(usize::MAX) {
                let full_us = self.0.entry(key).or_default();
                *full_us = micros(now_ms).max(*full_us) + debt_us;
            }
        }

        fn tell(&self, table: &KeyTable, now_ms: i64) {
            let debt = |(&key, full_us): (&u64, &i64)| BucketDebt {
                key,
                debt_us: full_us - micros(now_ms),
            };
            table.apply_totals(&self.0.iter().map(debt).collect::<Vec<_>>(), now_ms);
        }
    }

    /// Creates the tables of `instances` instances that share a rate.
    fn fleet(rate: Rate, instances: usize) -> Vec<KeyTable> {
        let tables: Vec<_> = (0..instances)
            .map(|_| KeyTable::new(rate, MAX_SETS))
            .collect();
        for table in &tables {
            table.set_sharers(u32::try_from(instances).unwrap(), 0);
        }
        tables
    }

    #[test]
    fn tokens_taken_on_one_instance_are_missing_on_the_others() {
        let hour = Duration::from_hours(1);
        let tables = fleet(Rate::new(30, hour, 30), 3);
        let mut told = ExchangedDebts::default();
        let served = |table: &KeyTable| (0..100).filter(|_| is_served(table, 7, 0)).count();
        // An instance that has not received the other instances' counts serves a third.
        assert_eq!(served(&tables[0]), 10);
        for left in [20, 13, 8] {
            for table in &tables {
                told.add(table, 0);
            }
            for table in &tables {
                told.tell(table, 0);
            }
            let share = usize::div_ceil(left, 3);
            assert_eq!(served(&tables[0]), share, "{left}");
        }
        // An instance that receives no counts serves its share, and no more.
        assert_eq!((served(&tables[1]), served(&tables[2])), (3, 3));
    }

    #[test]
    fn tokens_taken_alone_are_reported_to_a_second_instance() {
        let tables = [0; 2].map(|_| KeyTable::new(rate(), MAX_SETS));
        assert!(is_served(&tables[0], 7, 0) && is_served(&tables[0], 7, 0));
        for table in &tables {
            table.set_sharers(2, 1);
        }
        let mut told = ExchangedDebts::default();
        told.add(&tables[0], 1);
        told.tell(&tables[1], 1);
        assert!(!is_served(&tables[1], 7, 2));
        // A single instance has nothing to report.
        tables[0].set_sharers(1, 3);
        assert!(tables[0].take_unreported(9).is_empty());
    }

    #[test]
    fn the_deepest_debts_are_reported_first() {
        let table = &fleet(Rate::new(100, Duration::from_hours(1), 100), 2)[0];
        let hasher = RandomState::new();
        let key = |n: u32| hasher.hash_one(n);
        for n in 0..50 {
            for _ in 0..=n {
                assert!(is_served(table, key(n), 0));
            }
        }
        let first = table.take_unreported(10);
        assert_eq!(first.len(), 10);
        assert!(first.iter().all(|debt| debt.debt_us >= 41 * 36_000_000));
        table.add_unreported(&first);
        table.return_token(key(49));
        let all = table.take_unreported(100);
        assert_eq!(all.len(), 50);
        let debt = |n| all.iter().find(|debt| debt.key == key(n)).unwrap().debt_us;
        assert_eq!(
            (debt(49), debt(48), debt(0)),
            (49 * 36_000_000, 49 * 36_000_000, 36_000_000)
        );
        assert!(table.take_unreported(100).is_empty());
    }

    #[test]
    fn unreported_debts_are_limited() {
        let table = &fleet(rate(), 2)[0];
        let hasher = RandomState::new();
        for address in 0..500_000_u32 {
            table.take(hasher.hash_one(address), 0).unwrap();
        }
        let untold = table.take_unreported(usize::MAX).len();
        assert_eq!(untold, SHARDS * MAX_UNTOLD);
    }

    proptest! {
        #[test]
        fn each_key_gets_the_tokens_of_its_own_bucket(
            requests in 1..50_u32,
            per_ms in 100..100_000_i64,
            burst in 1..10_u32,
            arrivals in proptest::collection::vec((0..40_u64, 0..2_000_i64), 1..400),
        ) {
            let per = Duration::from_millis(per_ms.unsigned_abs());
            let table = KeyTable::new(Rate::new(requests, per, burst), MAX_SETS);
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
            // In any period, no more requests are served than the burst and the tokens returned
            // since.
            for times in served.values() {
                for (at, first) in times.iter().enumerate() {
                    for (count, last) in times.iter().skip(at).zip(1_i64..).map(|(t, n)| (n, t)) {
                        let back = (last - first) * 1_000 / interval_us;
                        prop_assert!(count <= i64::from(burst) + back);
                    }
                }
            }
        }

        /// The limit can be exceeded because tokens taken by others since the last exchange are
        /// unknown.
        #[test]
        fn instances_exceed_a_limit_by_at_most_half_a_burst_and_two_per_other_instance(
            instances in 1..6_usize,
            requests in 1..50_u32,
            per_ms in 1_000..60_000_i64,
            burst in 1..60_u32,
            turns_ms in proptest::collection::vec(0..1_000_i64, 6),
            arrivals in proptest::collection::vec((0..6_usize, 0..3_u64, 0..200_i64), 1..600),
        ) {
            let rate = Rate::new(requests, Duration::from_millis(per_ms.unsigned_abs()), burst);
            let tables = fleet(rate, instances);
            let (mut told, hasher) = (ExchangedDebts::default(), RandomState::new());
            let mut served: HashMap<u64, Vec<i64>> = HashMap::new();
            let (mut now_ms, mut before_ms) = (1_000_000_i64, 1_000_000);
            for (instance, key, gap) in arrivals {
                now_ms += gap;
                for at_ms in before_ms + 1..=now_ms {
                    let turns = tables.iter().zip(&turns_ms);
                    for (table, _) in turns.filter(|(_, turn_ms)| at_ms % 1_000 == **turn_ms) {
                        told.add(table, at_ms);
                        told.tell(table, at_ms);
                    }
                }
                before_ms = now_ms;
                if is_served(&tables[instance % instances], hasher.hash_one(key), now_ms) {
                    served.entry(key).or_default().push(now_ms);
                }
            }
            let others = i64::try_from(instances).unwrap() - 1;
            let of_others = if others > 0 { i64::from(burst) / 2 + 2 * others } else { 0 };
            let interval_us = per_ms * 1_000 / i64::from(requests);
            for times in served.values() {
                for (at, first) in times.iter().enumerate() {
                    for (last, count) in times.iter().skip(at).zip(1_i64..) {
                        let back = (last - first) * 1_000 / interval_us;
                        let most = i64::from(burst) + back + of_others;
                        prop_assert!(count <= most, "{count} of {most} in {} ms", last - first);
                    }
                }
            }
        }
    }
}
