//! Limits on the number of confirmations, by network and by fleet.

use std::{
    hash::{BuildHasher, RandomState},
    sync::atomic::{
        AtomicU32, AtomicU64,
        Ordering::{AcqRel, Relaxed},
    },
};

/// The maximum number of confirmations from one network per hour.
///
/// A school behind a single address has some human suspects, but not sixty in an hour.
const MAX_PER_NETWORK: u64 = 60;

/// The number of network counters, a power of two (64 KiB). Networks with the same index share a
/// counter.
const NETWORKS: usize = 8_192;

/// The maximum number of fleets whose confirmations are counted at the same time.
const FLEETS: usize = 256;

/// The number of confirmations from a fleet that are always accepted.
const MIN_SUBMISSIONS: u32 = 20;

/// The minimum number of requests per confirmation from a fleet: human visitors continue to read,
/// whereas a program confirms for each of its addresses.
const REQUESTS_PER_SUBMISSION: u32 = 5;

const HOUR_S: i64 = 3_600;

/// The counters of confirmations, stored in tables of fixed size.
#[derive(Debug)]
pub(super) struct SubmissionLimits {
    /// The hour and number of confirmations for each network.
    networks: Box<[AtomicU64]>,
    fleets: Box<[Fleet]>,
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct Fleet {
    key: AtomicU64,
    requests: AtomicU32,
    presses: AtomicU32,
}

impl Default for SubmissionLimits {
    fn default() -> Self {
        Self {
            networks: (0..NETWORKS).map(|_| AtomicU64::new(0)).collect(),
            fleets: (0..FLEETS).map(|_| Fleet::default()).collect(),
            hasher: RandomState::new(),
        }
    }
}

impl SubmissionLimits {
    /// Counts a confirmation from a network. Returns `false` if the hourly limit is reached.
    pub(super) fn count(&self, network: &str, now_s: i64) -> bool {
        const COUNT: u64 = 0xffff;
        let hour = now_s.div_euclid(HOUR_S).cast_unsigned() << 16;
        let Some(place) = place(&self.networks, self.hasher.hash_one(network)) else {
            return false;
        };
        let next = |counted: u64| match counted & COUNT {
            _ if counted & !COUNT != hour => Some(hour | 1),
            MAX_PER_NETWORK.. => None,
            count => Some(hour | (count + 1)),
        };
        place.fetch_update(AcqRel, Relaxed, next).is_ok()
    }

    /// Counts a request from a fleet. Returns `true` if confirmations from the fleet are plausible.
    pub(super) fn count_fleet_request(&self, user_agent: &[u8]) -> bool {
        let key = self.hasher.hash_one(user_agent);
        let Some(fleet) = place(&self.fleets, key) else {
            return false;
        };
        if fleet.key.swap(key, Relaxed) != key {
            // The slot contained another fleet, whose counts are discarded.
            fleet.requests.store(0, Relaxed);
            fleet.presses.store(0, Relaxed);
        }
        let requests = fleet.requests.fetch_add(1, Relaxed).saturating_add(1);
        let presses = fleet.presses.load(Relaxed);
        presses < MIN_SUBMISSIONS || presses <= requests / REQUESTS_PER_SUBMISSION
    }

    /// Counts a confirmation if the User-Agent belongs to a fleet.
    pub(super) fn press(&self, user_agent: &[u8]) {
        let key = self.hasher.hash_one(user_agent);
        if let Some(fleet) = place(&self.fleets, key).filter(|fleet| fleet.key.load(Relaxed) == key)
        {
            fleet.presses.fetch_add(1, Relaxed);
        }
    }
}

fn place<T>(places: &[T], key: u64) -> Option<&T> {
    places.get(usize::try_from(key).ok()? % places.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_limit_applies_per_hour() {
        let presses = SubmissionLimits::default();
        let [first, second] = ["192.0.2.0/24", "198.51.100.0/24"];
        assert!((0..MAX_PER_NETWORK).all(|_| presses.count(first, 7_200)));
        assert!(!presses.count(first, 7_200 + HOUR_S - 1));
        assert!(presses.count(second, 7_200));
        assert!(presses.count(first, 7_200 + HOUR_S));
    }

    #[test]
    fn confirming_for_each_address_frees_no_fleet() {
        let presses = SubmissionLimits::default();
        let (program, people) = (b"Chrome/150", b"Chrome/152");
        let mut freed = 0;
        for _ in 0..1_000 {
            freed += u32::from(presses.count_fleet_request(program));
            presses.press(program);
        }
        assert!(freed <= MIN_SUBMISSIONS, "{freed}");
        for _ in 0..1_000 {
            for _ in 0..8 {
                assert!(presses.count_fleet_request(people));
            }
            presses.press(people);
        }
        presses.press(b"Chrome/1, which is no fleet's");
    }
}
