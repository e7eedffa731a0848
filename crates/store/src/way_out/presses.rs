//! How often the button is pressed: by networks, and by fleets of robots.

use std::{
    hash::{BuildHasher, RandomState},
    sync::atomic::{
        AtomicU32, AtomicU64,
        Ordering::{AcqRel, Relaxed},
    },
};

/// Times that one network may press in an hour.
///
/// A school behind one address has people who are taken for programs, but not sixty in an hour.
const A_NETWORK: u64 = 60;

/// Networks that are counted, a power of two: 64 KiB. Two at one place are counted together.
const NETWORKS: usize = 8_192;

/// Fleets that are counted at once.
const FLEETS: usize = 256;

/// Times that a fleet presses before that tells anything.
const FEW: u32 = 20;

/// Of so many requests of a fleet one at most may be a press: people read on, and a program presses
/// for each of its addresses.
const REQUESTS_A_PRESS: u32 = 5;

const HOUR_S: i64 = 3_600;

/// Counts of presses, in tables that do not grow.
#[derive(Debug)]
pub(super) struct Presses {
    /// Hour and count.
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

impl Default for Presses {
    fn default() -> Self {
        Self {
            networks: (0..NETWORKS).map(|_| AtomicU64::new(0)).collect(),
            fleets: (0..FLEETS).map(|_| Fleet::default()).collect(),
            hasher: RandomState::new(),
        }
    }
}

impl Presses {
    /// Counts a press of a network; returns `false` if it has had all of this hour's.
    pub(super) fn take(&self, network: &str, now_s: i64) -> bool {
        const COUNT: u64 = 0xffff;
        let hour = now_s.div_euclid(HOUR_S).cast_unsigned() << 16;
        let Some(place) = place(&self.networks, self.hasher.hash_one(network)) else {
            return false;
        };
        let next = |counted: u64| match counted & COUNT {
            _ if counted & !COUNT != hour => Some(hour | 1),
            A_NETWORK.. => None,
            count => Some(hour | (count + 1)),
        };
        place.fetch_update(AcqRel, Relaxed, next).is_ok()
    }

    /// Counts a request of a fleet; returns `true` if its presses are those of people.
    pub(super) fn ask(&self, user_agent: &[u8]) -> bool {
        let key = self.hasher.hash_one(user_agent);
        let Some(fleet) = place(&self.fleets, key) else {
            return false;
        };
        if fleet.key.swap(key, Relaxed) != key {
            // One that is over, or that counts anew once the other has asked.
            fleet.requests.store(0, Relaxed);
            fleet.presses.store(0, Relaxed);
        }
        let requests = fleet.requests.fetch_add(1, Relaxed).saturating_add(1);
        let presses = fleet.presses.load(Relaxed);
        presses < FEW || presses <= requests / REQUESTS_A_PRESS
    }

    /// Counts a press, if a fleet has that User-Agent.
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
    fn a_network_presses_so_often_and_again_in_the_next_hour() {
        let presses = Presses::default();
        let [first, second] = ["192.0.2.0/24", "198.51.100.0/24"];
        assert!((0..A_NETWORK).all(|_| presses.take(first, 7_200)));
        assert!(!presses.take(first, 7_200 + HOUR_S - 1));
        assert!(presses.take(second, 7_200));
        assert!(presses.take(first, 7_200 + HOUR_S));
    }

    #[test]
    fn a_program_that_presses_for_each_address_frees_no_fleet() {
        let presses = Presses::default();
        let (program, people) = (b"Chrome/150", b"Chrome/152");
        let mut freed = 0;
        for _ in 0..1_000 {
            freed += u32::from(presses.ask(program));
            presses.press(program);
        }
        assert!(freed <= FEW, "{freed}");
        for _ in 0..1_000 {
            for _ in 0..8 {
                assert!(presses.ask(people));
            }
            presses.press(people);
        }
        presses.press(b"Chrome/1, which is no fleet's");
    }
}
