//! Counts of refusals by network, in bounded memory.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
};

use parking_lot::Mutex;

use super::network::Network;

/// Number of shards, each with its own lock, so that threads seldom wait for each other.
const SHARDS: usize = 16;

/// Maximum number of networks per shard. Further networks are not counted until the period of a
/// counted network has ended.
const MAX_NETWORKS: usize = 4_096;

/// Counts of refusals by network and rule.
#[derive(Debug, Default)]
pub(super) struct Tallies {
    hasher: RandomState,
    shards: [Mutex<HashMap<(Network, usize), Tally>>; SHARDS],
}

#[derive(Clone, Copy, Debug)]
struct Tally {
    refusals: u32,
    /// End of the counting period or of the ban.
    until_ms: i64,
}

impl Tallies {
    /// Counts a refusal; returns `true` if the network must be banned.
    ///
    /// While a network is banned (for `lasts_ms`), its refusals are not counted.
    pub(super) fn count(
        &self,
        key: (Network, usize),
        now_ms: i64,
        (refusals, per_ms, lasts_ms): (u32, i64, i64),
    ) -> bool {
        let Some(shard) = self.shard(key) else {
            return false;
        };
        let mut shard = shard.lock();
        if !shard.contains_key(&key) && shard.len() >= MAX_NETWORKS {
            shard.retain(|_, tally| now_ms < tally.until_ms);
            if shard.len() >= MAX_NETWORKS {
                return false;
            }
        }
        let begun = Tally {
            refusals: 0,
            until_ms: now_ms.saturating_add(per_ms),
        };
        let tally = shard.entry(key).or_insert(begun);
        if now_ms >= tally.until_ms {
            *tally = begun;
        }
        tally.refusals = tally.refusals.saturating_add(1);
        if tally.refusals != refusals {
            return false;
        }
        tally.until_ms = now_ms.saturating_add(lasts_ms);
        true
    }

    /// Restarts the count of refusals for a network.
    pub(super) fn remove(&self, key: (Network, usize)) {
        if let Some(shard) = self.shard(key) {
            let mut shard = shard.lock();
            shard.remove(&key);
        }
    }

    fn shard(&self, key: (Network, usize)) -> Option<&Mutex<HashMap<(Network, usize), Tally>>> {
        let hash = self.hasher.hash_one(key);
        self.shards
            .get(usize::try_from(hash % SHARDS as u64).unwrap_or_default())
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        let len = |shard: &Mutex<HashMap<_, _>>| shard.lock().len();
        self.shards.iter().map(len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(number: u32) -> Network {
        Network::containing(std::net::Ipv4Addr::from_bits(number).into())
    }

    /// Three refusals in ten seconds lead to a ban of one minute.
    const RULE: (u32, i64, i64) = (3, 10_000, 60_000);

    #[test]
    fn exceeding_the_limit_is_reported_once_per_ban() {
        let tallies = Tallies::default();
        let key = (network(1), 0);
        let at = |now_ms| tallies.count(key, now_ms, RULE);
        assert_eq!([at(0), at(1), at(9_999)], [false, false, true]);
        assert_eq!([at(10_000), at(60_000)], [false, false], "already banned");
        let again = [at(70_000), at(70_001), at(70_002)];
        assert_eq!(again, [false, false, true]);
    }

    #[test]
    fn rare_refusals_are_never_reported() {
        let tallies = Tallies::default();
        let mut now_ms = 0;
        for _ in 0..1_000 {
            assert!(!tallies.count((network(1), 0), now_ms, RULE));
            now_ms += 5_000;
        }
    }

    #[test]
    fn networks_and_rules_are_counted_separately_in_bounded_memory() {
        let tallies = Tallies::default();
        assert!(!tallies.count((network(1), 0), 0, RULE));
        assert!(!tallies.count((network(1), 0), 0, RULE));
        assert!(!tallies.count((network(2), 0), 0, RULE));
        assert!(!tallies.count((network(1), 1), 0, RULE));
        assert!(tallies.count((network(1), 0), 0, RULE));
        for number in 0..200_000 {
            tallies.count((network(number), 0), 1, RULE);
        }
        assert_eq!(tallies.len(), SHARDS * MAX_NETWORKS);
        for number in 0..200_000 {
            tallies.count((network(1_000_000 + number), 0), 20_000, RULE);
        }
        let now = (0..3).map(|_| tallies.count((network(7_000_000), 0), 40_000, RULE));
        assert!(now.last().unwrap(), "ended periods are evicted");
    }
}
