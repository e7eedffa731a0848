use std::{
    hash::{BuildHasher, RandomState},
    net::IpAddr,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

const BUCKETS: usize = 128;
const PLACES_PER_BUCKET: usize = 8;
/// The bits of a slot that store the peer's number; the other bits identify the peer.
const NUMBER: u64 = u32::MAX as u64;

/// A table that stores a number for each of up to about a thousand peers.
///
/// An update acquires no lock and allocates no memory. If all slots of a bucket are taken, a new
/// peer replaces another peer, whose number is lost. One of two concurrent updates may be lost.
#[derive(Debug)]
pub struct PeerTable {
    places: Box<[AtomicU64]>,
    /// The hasher, which has a random seed so that clients cannot choose addresses that share a
    /// bucket.
    hasher: RandomState,
}

impl PeerTable {
    /// Changes the number stored for a peer, which is initially 0, and returns the old and the new
    /// number.
    pub fn update(&self, peer: IpAddr, change: impl FnOnce(u32) -> u32) -> (u32, u32) {
        let hash = self.hasher.hash_one(peer);
        let Ok(low) = usize::try_from(hash & NUMBER) else {
            return (0, 0);
        };
        let mut buckets = self.places.chunks_exact(PLACES_PER_BUCKET);
        let places = buckets.nth(low % BUCKETS).unwrap_or_default();
        let belongs = |entry: u64| entry & !NUMBER == hash & !NUMBER;
        let find = |wanted: &dyn Fn(u64) -> bool| {
            let mut places = places.iter();
            places.find(|place| wanted(place.load(Relaxed)))
        };
        let place = find(&belongs).or_else(|| find(&|entry| entry == 0));
        let Some(place) = place.or_else(|| places.get(low / BUCKETS % PLACES_PER_BUCKET)) else {
            return (0, 0);
        };
        let entry = place.load(Relaxed);
        let known = u32::try_from(entry & NUMBER).ok();
        let before = known.filter(|_| belongs(entry)).unwrap_or_default();
        let after = change(before);
        let changed = hash & !NUMBER | u64::from(after);
        if changed != entry {
            place.store(changed, Relaxed);
        }
        (before, after)
    }
}

impl Default for PeerTable {
    fn default() -> Self {
        let places = std::iter::repeat_with(AtomicU64::default);
        Self {
            places: places.take(BUCKETS * PLACES_PER_BUCKET).collect(),
            hasher: RandomState::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn each_peer_has_a_number_in_bounded_memory() {
        let table = PeerTable::default();
        let peer = |number| IpAddr::from(Ipv4Addr::from_bits(number));
        for round in 0..3 {
            for number in 1..=50 {
                let counted = table.update(peer(number), |count| count + number);
                assert_eq!(counted, (round * number, (round + 1) * number));
            }
        }
        for number in 100..100_000 {
            assert_eq!(table.update(peer(number), |count| count + 1), (0, 1));
        }
        assert_eq!(table.places.len(), 1_024);
    }
}
