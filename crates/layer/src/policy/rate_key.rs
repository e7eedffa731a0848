//! Keys that determine which requests share a rate limit.

use std::{
    hash::BuildHasher,
    net::{IpAddr, Ipv6Addr},
};

use super::{Places, unlisted_name::UnlistedName};

crate::words! {
/// The key of a rate limit: all requests with the same key share a limit.
#[derive(Default, Hash)]
#[non_exhaustive]
pub enum RateKey {
    /// The robot, identified by ID or name; see [`RateLimiter`](super::RateLimiter).
    #[default]
    Robot = "robot",
    /// The client address; for IPv6, the /64 network, which belongs to a single sender.
    Address = "address",
    /// The network of the client address: /24 for IPv4, /48 for IPv6.
    Network = "network",
    /// The autonomous system of the client address, or its network if the autonomous system is
    /// unknown.
    Asn = "asn",
    /// The User-Agent, ignoring numbers and the case of letters.
    UserAgent = "user-agent",
    /// The whole site: all requests that match the rule share one limit.
    Site = "site",
}
}

impl RateKey {
    /// Returns the suffix that describes the key after a limit, such as ", per address"; empty for
    /// robots.
    pub(super) const fn suffix(self) -> &'static str {
        match self {
            Self::Robot => "",
            Self::Address => ", per address (IPv6: per /64)",
            Self::Network => ", per network (/24, /48)",
            Self::Asn => ", per autonomous system",
            Self::UserAgent => ", per User-Agent (ignoring numbers)",
            Self::Site => ", in total",
        }
    }

    /// Returns the bucket of a sender, or `None` for the keys `Robot` and `Site`.
    pub(super) fn bucket(
        self,
        hasher: &impl BuildHasher,
        user_agent: &[u8],
        client: Option<IpAddr>,
        places: &Places,
    ) -> Option<u64> {
        Some(match self {
            Self::Robot | Self::Site => return None,
            Self::UserAgent => hasher.hash_one(UnlistedName::of(user_agent)),
            Self::Address => hasher.hash_one(sender_address(client?)),
            Self::Network => hasher.hash_one(network(client?)),
            Self::Asn => match places.find(client?).asn {
                Some(asn) => hasher.hash_one(asn),
                None => hasher.hash_one(network(client?)),
            },
        })
    }
}

/// Returns the part of an address that identifies a sender: the whole IPv4 address, or the /64
/// network of an IPv6 address.
///
/// The rest of an IPv6 address identifies an interface (RFC 4291 §2.5.1), which a host may choose
/// freely. IPv4-mapped addresses are treated as IPv4; otherwise, all IPv4 addresses would share one
/// /64.
#[doc(hidden)]
#[must_use]
pub fn sender_address(client: IpAddr) -> IpAddr {
    match client.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into(),
        address @ IpAddr::V4(_) => address,
    }
}

/// Returns the network of an address, which usually belongs to a single sender.
pub(super) fn network(client: IpAddr) -> [u8; 6] {
    match client.to_canonical() {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            // No IPv6 network starts with these bytes.
            [0, 0, 0, a, b, c]
        }
        IpAddr::V6(address) => address.octets().first_chunk().copied().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        hash::RandomState,
        net::{Ipv4Addr, Ipv6Addr},
        sync::Arc,
    };

    use proptest::prelude::*;

    use super::*;
    use crate::policy::Place;

    fn bucket(key: RateKey, user_agent: &str, client: Option<IpAddr>) -> Option<u64> {
        thread_local! {
            static HASHER: RandomState = RandomState::new();
        }
        let find = |address: IpAddr| Place {
            asn: match address {
                IpAddr::V4(address) => (address.octets()[0] < 128).then_some(64_496),
                IpAddr::V6(_) => None,
            },
            country: None,
        };
        let places = Places::new(Arc::new(find));
        HASHER.with(|hasher| key.bucket(hasher, user_agent.as_bytes(), client, &places))
    }

    fn of_address(key: RateKey, address: &str) -> Option<u64> {
        bucket(key, "", Some(address.parse().unwrap()))
    }

    #[test]
    fn every_word_parses_to_its_key() {
        for &key in RateKey::ALL {
            assert_eq!(RateKey::from_word(key.as_str()), Some(key));
        }
        assert_eq!(RateKey::from_word("addresses"), None);
    }

    #[test]
    fn addresses_are_distinguished_by_sender() {
        use RateKey::{Address, Asn, Network};
        for (key, one, other, are_one) in [
            (Address, "192.0.2.1", "192.0.2.2", false),
            (Address, "2001:db8:0:1::1", "2001:db8:0:2::1", false),
            (Network, "192.0.2.1", "192.0.2.255", true),
            (Network, "192.0.2.1", "192.0.3.1", false),
            (Network, "2001:db8:0:1::1", "2001:db8:0:ffff::1", true),
            (Network, "2001:db8:1::1", "2001:db8:2::1", false),
            (Asn, "10.0.0.1", "127.0.0.1", true),
            (Asn, "192.0.2.1", "192.0.2.9", true),
            (Asn, "192.0.2.1", "192.0.3.1", false),
            (Asn, "10.0.0.1", "192.0.2.1", false),
        ] {
            let same = of_address(key, one) == of_address(key, other);
            assert_eq!(same, are_one, "{key} {one} {other}");
        }
    }

    #[test]
    fn an_unknown_address_has_no_bucket() {
        for key in [RateKey::Address, RateKey::Network, RateKey::Asn] {
            assert_eq!(bucket(key, "x", None), None);
        }
        assert!(bucket(RateKey::UserAgent, "", None).is_some());
    }

    /// Returns several spellings of the same IPv6 address.
    fn spellings(address: Ipv6Addr) -> [String; 4] {
        let groups = address.segments();
        let long = groups.map(|group| format!("{group:04x}")).join(":");
        let [a, b, c, d] = [
            groups[6] >> 8,
            groups[6] & 255,
            groups[7] >> 8,
            groups[7] & 255,
        ];
        let first = groups.iter().take(6).map(|group| format!("{group:x}"));
        let first: Vec<_> = first.collect();
        [
            address.to_string(),
            address.to_string().to_uppercase(),
            long,
            format!("{}:{a}.{b}.{c}.{d}", first.join(":")),
        ]
    }

    proptest! {
        #[test]
        fn all_spellings_of_an_address_share_a_bucket(
            bits: u128,
            host: u64,
            short: u32,
        ) {
            let address = Ipv6Addr::from_bits(bits);
            let neighbour = Ipv6Addr::from_bits(bits >> 64 << 64 | u128::from(host));
            for key in [RateKey::Address, RateKey::Network, RateKey::Asn] {
                let own = bucket(key, "", Some(address.into()));
                for spelled in spellings(address) {
                    prop_assert_eq!(of_address(key, &spelled), own, "{} {}", key, spelled);
                }
                if address.to_ipv4_mapped().is_none() && neighbour.to_ipv4_mapped().is_none() {
                    prop_assert_eq!(bucket(key, "", Some(neighbour.into())), own);
                }
                let plain = Ipv4Addr::from_bits(short);
                let own = bucket(key, "", Some(plain.into()));
                for spelled in spellings(plain.to_ipv6_mapped()) {
                    prop_assert_eq!(of_address(key, &spelled), own, "{} {}", key, spelled);
                }
            }
        }

        #[test]
        fn user_agents_share_a_bucket_regardless_of_numbers_and_case(
            name in "[A-Za-zäöé]{0,300}",
            numbers in proptest::collection::vec((0..300_usize, "[0-9 ./;()_-]{1,40}"), 0..20),
        ) {
            let own = bucket(RateKey::UserAgent, &name, None);
            let mut spelled: Vec<char> = name.chars().collect();
            for (at, number) in numbers {
                let at = at.min(spelled.len());
                spelled.splice(at..at, number.chars());
            }
            let spelled: String = spelled.into_iter().collect();
            for spelled in [spelled.to_ascii_uppercase(), spelled.to_ascii_lowercase(), spelled] {
                prop_assert_eq!(bucket(RateKey::UserAgent, &spelled, None), own, "{}", spelled);
            }
            let other = format!("x{name}");
            prop_assert_ne!(bucket(RateKey::UserAgent, &other, None), own);
        }
    }
}
