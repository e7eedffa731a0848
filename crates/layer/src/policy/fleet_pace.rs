//! What the instances of a fleet tell each other of the pace of a rule.

use std::{
    hash::{BuildHasher, DefaultHasher, Hash, Hasher as _, RandomState},
    sync::atomic::{AtomicU64, Ordering},
};

/// Fleet whose instances share the pace of rules.
///
/// Whoever runs the instances has them all [join](super::RateLimiter::join), and once a second
/// carries what each [has taken](super::RateLimiter::untold) to the others, to be
/// [corrected](super::RateLimiter::correct) by the sum. Until then each takes its share alone.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FleetPace {
    /// Secret of the fleet, by which all its instances know senders.
    pub seed: [u64; 2],
    /// Instances that serve, this one among them.
    pub instances: u32,
}

/// Debt of a bucket: how long it takes to be full again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct BucketDebt {
    /// Hash of the sender.
    pub key: u64,
    /// Time, in microseconds.
    pub debt_us: i64,
}

/// Seed of the hashes of senders, which nobody knows: so nobody chooses whom to meet in a bucket.
#[derive(Debug)]
pub(super) struct Seed([AtomicU64; 2]);

/// Hashes with a seed.
///
/// Two instances that two versions of the compiler built may hash otherwise. Then each of them
/// gives its share of a pace, and knows nothing of the other's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seeded([u64; 2]);

impl FleetPace {
    /// Returns a hash that is the same on all instances, and that nobody else can tell.
    #[must_use]
    pub fn hash(&self, value: &impl Hash) -> u64 {
        Seeded(self.seed).hash_one(value)
    }
}

impl Seed {
    /// Creates one of this process alone.
    pub(super) fn random() -> Self {
        let random = RandomState::new();
        Self([0, 1].map(|half| AtomicU64::new(random.hash_one(half))))
    }

    /// Exchanges the seed; returns `true` if it is another one.
    pub(super) fn set(&self, seed: [u64; 2]) -> bool {
        let halves = self.0.iter().zip(seed);
        // Both are set, whichever is another one.
        halves.fold(false, |is_new, (half, new)| {
            half.swap(new, Ordering::Relaxed) != new || is_new
        })
    }

    pub(super) fn hasher(&self) -> Seeded {
        Seeded(self.0.each_ref().map(|half| half.load(Ordering::Relaxed)))
    }
}

impl BuildHasher for Seeded {
    type Hasher = DefaultHasher;

    fn build_hasher(&self) -> DefaultHasher {
        let mut hasher = DefaultHasher::new();
        for half in self.0 {
            hasher.write_u64(half);
        }
        hasher
    }
}
