//! The data that instances exchange to share the rate limits of rules.

use std::{
    hash::{BuildHasher, DefaultHasher, Hash, Hasher as _, RandomState},
    sync::atomic::{AtomicU64, Ordering},
};

/// A group of instances that share the rate limits of rules.
///
/// The program that runs the instances calls [`join`](super::RateLimiter::join) on each instance.
/// Once a second, the program collects [the debts of each instance](super::RateLimiter::take_unreported) and
/// passes the sums to [`apply_totals`](super::RateLimiter::apply_totals) on the other instances. In between,
/// each instance uses its share.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SharedLimit {
    /// A secret shared by all instances, so that all instances compute the same hash for a sender.
    pub seed: [u64; 2],
    /// Number of serving instances, including this one.
    pub instances: u32,
}

/// The debt of a bucket, which is the time until the bucket is full.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct BucketDebt {
    /// The hash that identifies the sender.
    pub key: u64,
    /// The time until the bucket is full, in microseconds.
    pub debt_us: i64,
}

/// A secret seed for the hashes of senders, so that clients cannot choose senders that share a
/// bucket.
#[derive(Debug)]
pub(super) struct Seed([AtomicU64; 2]);

/// A hash builder with a seed.
///
/// Instances that were built by different compiler versions may compute different hashes. In that
/// case, each instance enforces its share of a limit without the counts of the other instances.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeededHasher([u64; 2]);

impl SharedLimit {
    /// Returns a hash that is the same on all instances and that clients cannot predict.
    #[must_use]
    pub fn hash(&self, value: &impl Hash) -> u64 {
        SeededHasher(self.seed).hash_one(value)
    }
}

impl Seed {
    /// Creates a seed that only this process uses.
    pub(super) fn random() -> Self {
        let random = RandomState::new();
        Self([0, 1].map(|half| AtomicU64::new(random.hash_one(half))))
    }

    /// Replaces the seed; returns `true` if it has changed.
    pub(super) fn set(&self, seed: [u64; 2]) -> bool {
        let halves = self.0.iter().zip(seed);
        // Both halves are replaced, even if only one half differs.
        halves.fold(false, |is_new, (half, new)| {
            half.swap(new, Ordering::Relaxed) != new || is_new
        })
    }

    pub(super) fn hasher(&self) -> SeededHasher {
        SeededHasher(self.0.each_ref().map(|half| half.load(Ordering::Relaxed)))
    }
}

impl BuildHasher for SeededHasher {
    type Hasher = DefaultHasher;

    fn build_hasher(&self) -> DefaultHasher {
        let mut hasher = DefaultHasher::new();
        for half in self.0 {
            hasher.write_u64(half);
        }
        hasher
    }
}
