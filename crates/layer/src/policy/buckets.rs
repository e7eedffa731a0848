//! Rate limits for visitors that are identified only by name and network.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    net::IpAddr,
    time::Duration,
};

use crate::detect::{Claim, Signed};

use super::{
    bucket::{Bucket, Rate},
    rate_key::network,
    unlisted_name::unlisted_name,
};

/// Maximum number of unlisted robot names that have a separate bucket.
pub(super) const MAX_NAMES: usize = 1_024;

/// Maximum number of networks of unlisted robots that have a separate bucket.
const MAX_NETWORKS: usize = 4_096;

/// The token buckets of unlisted robots: one bucket for each name in the User-Agent, and one for
/// each network.
///
/// A request needs a token from both buckets. A robot that changes its name shares the limit of its
/// network; a robot that uses many networks shares the limit of its name.
#[derive(Debug, Default)]
pub(super) struct UnlistedBuckets {
    // With a random seed, clients cannot choose names that share a bucket.
    hasher: RandomState,
    names: Buckets,
    networks: Buckets,
}

/// The keys of an unlisted robot's buckets.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnlistedKeys {
    pub(super) name: Option<u64>,
    pub(super) network: Option<u64>,
}

/// Token buckets by hash, each with the time of its latest request (refused or not).
#[derive(Debug, Default)]
pub(super) struct Buckets {
    known: HashMap<u64, ClientBucket>,
    others: ClientBucket,
}

#[derive(Debug)]
pub(super) struct ClientBucket {
    bucket: Bucket,
    last_ms: i64,
}

/// A request that arrived earlier than a rate limit allows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct EarlyRequest {
    /// The time since the previous request from the same visitor.
    pub(super) gap: Duration,
    /// The time to wait until a request is within the limit.
    pub(super) wait: Duration,
}

impl UnlistedKeys {
    /// Creates the keys of a visitor, or returns `None` if the visitor cannot be distinguished from
    /// other visitors.
    ///
    /// Each rate limit has its own buckets.
    pub(super) fn new(
        hasher: &impl BuildHasher,
        claim: &Claim<'_>,
        user_agent: &[u8],
        client: Option<IpAddr>,
        rate: Rate,
    ) -> Option<Self> {
        if let Claim::Signed(Signed {
            signer: Some(signer),
            ..
        }) = claim
            && let Some(host) = signer.host()
        {
            return Some(Self {
                // The robot's identity is proven, so a limit per network is unnecessary.
                name: Some(hasher.hash_one((host, "signed", rate))),
                network: None,
            });
        }
        let name = match claim {
            // Only the network identifies nameless visitors and human visitors.
            Claim::Nameless | Claim::Shared(_) | Claim::Person if client.is_some() => None,
            // Without an address, these requests do not come from a single visitor.
            Claim::Shared(_) | Claim::Person => return None,
            Claim::Nameless => Some(hasher.hash_one(rate)),
            _ => Some(hasher.hash_one((unlisted_name(claim, user_agent), rate))),
        };
        let network = client.map(|client| hasher.hash_one((network(client), rate)));
        Some(Self { name, network })
    }
}

impl UnlistedBuckets {
    /// Counts a request. A request that arrives too early does not delay the next request.
    pub(super) fn check(
        &mut self,
        claim: &Claim<'_>,
        user_agent: &[u8],
        client: Option<IpAddr>,
        now_ms: i64,
        rate: Rate,
    ) -> Result<(), EarlyRequest> {
        let keys = UnlistedKeys::new(&self.hasher, claim, user_agent, client, rate);
        let Some(UnlistedKeys { name, network }) = keys else {
            return Ok(());
        };
        let name = name.map(|key| self.names.bucket(key, MAX_NAMES, now_ms));
        let network = network.map(|key| self.networks.bucket(key, MAX_NETWORKS, now_ms));
        take_all([name, network].into_iter().flatten(), now_ms, rate)
    }

    #[cfg(test)]
    pub(super) fn bucket_counts(&self) -> [usize; 2] {
        [self.names.known.len(), self.networks.known.len()]
    }
}

impl Buckets {
    pub(super) fn bucket(&mut self, key: u64, max: usize, now_ms: i64) -> &mut ClientBucket {
        if self.known.len() >= max && !self.known.contains_key(&key) {
            self.known
                // A full bucket stores no more information than a new bucket.
                .retain(|_, bucket| !bucket.bucket.is_full(now_ms));
            if self.known.len() >= max {
                return &mut self.others;
            }
        }
        self.known.entry(key).or_default()
    }
}

impl Default for ClientBucket {
    fn default() -> Self {
        Self {
            bucket: Bucket::default(),
            last_ms: i64::MIN,
        }
    }
}

/// Takes a token from each bucket. If any bucket is empty, takes no token and returns the longest
/// wait.
fn take_all<'t>(
    buckets: impl IntoIterator<Item = &'t mut ClientBucket>,
    now_ms: i64,
    rate: Rate,
) -> Result<(), EarlyRequest> {
    let mut taken = [const { None }; 2];
    let mut soon: Option<EarlyRequest> = None;
    for (bucket, place) in buckets.into_iter().zip(&mut taken) {
        let gap_ms = now_ms.saturating_sub(bucket.last_ms);
        bucket.last_ms = now_ms;
        if let Err(wait) = bucket.bucket.peek(now_ms, rate)
            && soon.is_none_or(|soon| soon.wait < wait)
        {
            let gap = Duration::from_millis(u64::try_from(gap_ms).unwrap_or_default());
            soon = Some(EarlyRequest { gap, wait });
        }
        *place = Some(&bucket.bucket);
    }
    if let Some(soon) = soon {
        return Err(soon);
    }
    for bucket in taken.into_iter().flatten() {
        // The lock is held, so no other request takes tokens.
        let _ = bucket.take(now_ms, rate);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::{Sign, Unlisted};

    /// Returns a rate of two requests per minute, both at once.
    fn rate() -> Rate {
        Rate::new(2, Duration::from_mins(1), 2)
    }

    fn check(buckets: &mut UnlistedBuckets, name: &str, client: &str, now_ms: i64) -> bool {
        let sign = Sign::Word;
        let claim = match name {
            "" => Claim::Nameless,
            _ => Claim::Unlisted(Unlisted { sign, range: 0..1 }),
        };
        let client = client.parse().ok();
        let checked = buckets.check(&claim, name.as_bytes(), client, now_ms, rate());
        checked.is_ok()
    }

    #[test]
    fn numbers_in_a_name_are_ignored() {
        let mut buckets = UnlistedBuckets::default();
        let names = [
            "OtherCrawler/1",
            "OtherCrawler/2.0b",
            "OtherCrawler3/1",
            "OTHERcrawler-4",
        ];
        let in_time = names.map(|name| check(&mut buckets, name, "", 0));
        assert_eq!(in_time, [true, true, false, false]);
        assert!(check(&mut buckets, "AnotherCrawler/1", "", 0));
    }

    #[test]
    fn names_on_one_network_share_its_limit() {
        for [first, second, elsewhere] in [
            ["192.0.2.1", "192.0.2.250", "192.0.3.1"],
            ["2001:db8:1:2::3", "2001:db8:1:ffff::1", "2001:db8:2::1"],
            ["::ffff:192.0.2.1", "192.0.2.9", "::ffff:192.0.3.1"],
        ] {
            let mut buckets = UnlistedBuckets::default();
            assert!(check(&mut buckets, "Abot", first, 0));
            assert!(check(&mut buckets, "Bbot", second, 0));
            assert!(!check(&mut buckets, "Cbot", first, 0));
            assert!(check(&mut buckets, "Cbot", elsewhere, 0), "{elsewhere}");
        }
    }

    #[test]
    fn one_name_shares_a_limit_across_networks() {
        let mut buckets = UnlistedBuckets::default();
        let clients = ["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1"];
        let in_time = clients.map(|client| check(&mut buckets, "Abot/1", client, 0));
        assert_eq!(in_time, [true, true, false, false]);
        // A request that is refused because of the robot's name takes no token from the network's
        // bucket.
        assert!(check(&mut buckets, "Bbot", "203.0.113.1", 0));
        assert!(check(&mut buckets, "Cbot", "203.0.113.1", 0));
    }

    #[test]
    fn nameless_visitors_are_distinguished_by_network() {
        let mut buckets = UnlistedBuckets::default();
        for client in ["192.0.2.1", "198.51.100.1", ""] {
            let in_time = [0; 3].map(|now_ms| check(&mut buckets, "", client, now_ms));
            assert_eq!(in_time, [true, true, false], "{client:?}");
        }
    }

    #[test]
    fn the_number_of_names_and_networks_is_limited() {
        let name = |number: usize| -> String {
            let digits = format!("{number:05}").into_bytes();
            digits.iter().map(|digit| char::from(digit + 49)).collect()
        };
        let (mut buckets, mut in_time) = (UnlistedBuckets::default(), 0);
        for number in 0..3 * MAX_NAMES {
            in_time += usize::from(check(&mut buckets, &name(number), "", 0));
        }
        assert_eq!(
            (buckets.bucket_counts(), in_time),
            ([MAX_NAMES, 0], MAX_NAMES + 2)
        );
        assert!(check(&mut buckets, "later", "", 60_000));
        assert_eq!(buckets.bucket_counts(), [1, 0]);
        for number in 0..2 * MAX_NETWORKS {
            let client = format!("10.{}.{}.1", number / 256, number % 256);
            check(&mut buckets, "", &client, 0);
        }
        assert_eq!(buckets.bucket_counts(), [1, MAX_NETWORKS]);
    }
}
