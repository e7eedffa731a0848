//! Set of address ranges that supports fast lookups.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::prefix;

/// An immutable set of IPv4 and IPv6 address ranges.
///
/// Prefixes within other prefixes of the set are omitted. The remaining prefixes are disjoint, so a
/// lookup is a single search in sorted numbers.
///
/// # Example
///
/// ```
/// use robot_detection_store::verify::RangeSet;
///
/// let set: RangeSet = ["192.0.2.0/24".parse()?, "192.0.2.8/32".parse()?]
///     .into_iter()
///     .collect();
/// assert_eq!(set.len(), 1);
/// assert!(set.contains("192.0.2.8".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RangeSet {
    v4: SortedPrefixes<u32>,
    /// IPv6 prefixes of up to 64 bits, the usual maximum, as 64-bit numbers.
    v6: SortedPrefixes<u64>,
    v6_long: SortedPrefixes<u128>,
}

/// The number of start addresses to search after their block has been found.
const BLOCK: usize = 64;

/// Disjoint prefixes, sorted by first address.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct SortedPrefixes<A> {
    starts: Box<[A]>,
    lengths: Box<[u8]>,
    /// The first start address of each block; few enough for the processor's cache.
    heads: Box<[A]>,
}

/// An IP address represented as a number.
trait Address: Copy + Ord {
    /// Returns `true` if the first `length` bits of two addresses are equal.
    fn agrees(self, other: Self, length: u8) -> bool;
}

impl RangeSet {
    /// Parses prefixes and addresses, such as `192.0.2.0/24` and `2001:db8::1`.
    ///
    /// # Errors
    ///
    /// Returns the first text that is neither a prefix nor an address.
    pub fn parse<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Self, &'t str> {
        let read = texts.into_iter().map(|text| prefix::read(text).ok_or(text));
        read.collect()
    }

    /// Returns the prefix in the set that contains the address.
    ///
    /// An IPv4 address embedded in IPv6 is treated as IPv4. This function does not allocate.
    pub fn find(&self, address: IpAddr) -> Option<IpNet> {
        match address.to_canonical() {
            IpAddr::V4(address) => self.v4.find(address.to_bits()).and_then(v4_net),
            IpAddr::V6(address) => self.find_v6(address.to_bits()).and_then(v6_net),
        }
    }

    /// Returns `true` if any prefix in the set contains the address.
    pub fn contains(&self, address: IpAddr) -> bool {
        match address.to_canonical() {
            IpAddr::V4(address) => self.v4.find(address.to_bits()).is_some(),
            IpAddr::V6(address) => self.find_v6(address.to_bits()).is_some(),
        }
    }

    /// Returns the number of prefixes, not counting those within other prefixes.
    pub fn len(&self) -> usize {
        self.v4.starts.len() + self.v6.starts.len() + self.v6_long.starts.len()
    }

    /// Returns `true` if the set has no prefixes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the prefixes in order: IPv4, IPv6 up to /64, and longer IPv6 prefixes.
    pub fn iter(&self) -> impl Iterator<Item = IpNet> + '_ {
        let v6 = self.v6.iter().map(whole).chain(self.v6_long.iter());
        let v4 = self.v4.iter().filter_map(v4_net);
        v4.chain(v6.filter_map(v6_net))
    }

    fn find_v6(&self, address: u128) -> Option<(u128, u8)> {
        let found = self.v6.find(high(address)).map(whole);
        found.or_else(|| self.v6_long.find(address))
    }
}

impl FromIterator<IpNet> for RangeSet {
    fn from_iter<T: IntoIterator<Item = IpNet>>(prefixes: T) -> Self {
        let (mut v4, mut v6, mut v6_long) = (Vec::new(), Vec::new(), Vec::new());
        for prefix in prefixes {
            let length = prefix.prefix_len();
            match prefix.network() {
                IpAddr::V4(start) => v4.push((start.to_bits(), length)),
                IpAddr::V6(start) if length <= 64 => v6.push((high(start.to_bits()), length)),
                IpAddr::V6(start) => v6_long.push((start.to_bits(), length)),
            }
        }
        let v6 = SortedPrefixes::new(v6);
        v6_long.retain(|&(start, _)| v6.find(high(start)).is_none());
        Self {
            v4: SortedPrefixes::new(v4),
            v6,
            v6_long: SortedPrefixes::new(v6_long),
        }
    }
}

impl<A: Address> SortedPrefixes<A> {
    fn new(mut prefixes: Vec<(A, u8)>) -> Self {
        // Among prefixes with the same start, the widest comes first.
        prefixes.sort_unstable();
        // In sorted order, a prefix can only be within the last prefix that was kept.
        let mut kept: Option<(A, u8)> = None;
        prefixes.retain(|&(start, length)| {
            let is_within = kept.is_some_and(|(outer, bits)| start.agrees(outer, bits));
            if !is_within {
                kept = Some((start, length));
            }
            !is_within
        });
        let (starts, lengths): (Vec<_>, Vec<_>) = prefixes.into_iter().unzip();
        Self {
            heads: starts.iter().copied().step_by(BLOCK).collect(),
            starts: starts.into_boxed_slice(),
            lengths: lengths.into_boxed_slice(),
        }
    }

    fn find(&self, address: A) -> Option<(A, u8)> {
        let first = last_up_to(&self.heads, address)? * BLOCK;
        let starts = self.starts.get(first..)?;
        let block = starts.get(..BLOCK).unwrap_or(starts);
        let at = first + last_up_to(block, address)?;
        let (start, length) = (*self.starts.get(at)?, *self.lengths.get(at)?);
        address.agrees(start, length).then_some((start, length))
    }

    fn iter(&self) -> impl Iterator<Item = (A, u8)> + '_ {
        self.starts
            .iter()
            .copied()
            .zip(self.lengths.iter().copied())
    }
}

/// Returns the index of the last number that is not greater than the address.
fn last_up_to<A: Address>(sorted: &[A], address: A) -> Option<usize> {
    let after = sorted.partition_point(|&number| number <= address);
    after.checked_sub(1)
}

impl Address for u32 {
    fn agrees(self, other: Self, length: u8) -> bool {
        (self ^ other).leading_zeros() >= Self::from(length)
    }
}

impl Address for u64 {
    fn agrees(self, other: Self, length: u8) -> bool {
        (self ^ other).leading_zeros() >= u32::from(length)
    }
}

impl Address for u128 {
    fn agrees(self, other: Self, length: u8) -> bool {
        (self ^ other).leading_zeros() >= u32::from(length)
    }
}

/// Returns the upper half of an IPv6 address.
fn high(address: u128) -> u64 {
    (address >> 64) as u64
}

/// Converts a prefix of the upper half of an address to a prefix of the whole address.
fn whole((start, length): (u64, u8)) -> (u128, u8) {
    (u128::from(start) << 64, length)
}

fn v4_net((start, length): (u32, u8)) -> Option<IpNet> {
    let net = Ipv4Net::new(Ipv4Addr::from_bits(start), length);
    net.ok().map(IpNet::V4)
}

fn v6_net((start, length): (u128, u8)) -> Option<IpNet> {
    let net = Ipv6Net::new(Ipv6Addr::from_bits(start), length);
    net.ok().map(IpNet::V6)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn set(prefixes: &[&str]) -> RangeSet {
        prefixes
            .iter()
            .map(|text| text.parse::<IpNet>().unwrap())
            .collect()
    }

    fn found(set: &RangeSet, address: &str) -> Option<String> {
        let net = set.find(address.parse().unwrap())?;
        Some(net.to_string())
    }

    #[test]
    fn prefix_contains_both_of_its_ends() {
        let set = set(&["192.0.2.64/26", "2001:db8:1::/48", "198.51.100.7/32"]);
        for (address, prefix) in [
            ("192.0.2.63", None),
            ("192.0.2.64", Some("192.0.2.64/26")),
            ("192.0.2.127", Some("192.0.2.64/26")),
            ("192.0.2.128", None),
            ("198.51.100.7", Some("198.51.100.7/32")),
            ("198.51.100.8", None),
            ("0.0.0.0", None),
            ("255.255.255.255", None),
            ("2001:db8:1::", Some("2001:db8:1::/48")),
            (
                "2001:db8:1:ffff:ffff:ffff:ffff:ffff",
                Some("2001:db8:1::/48"),
            ),
            ("2001:db8:2::", None),
            ("::", None),
            ("::ffff:192.0.2.65", Some("192.0.2.64/26")),
        ] {
            assert_eq!(found(&set, address).as_deref(), prefix, "{address}");
        }
    }

    #[test]
    fn prefix_within_another_is_left_out() {
        let set = set(&[
            "192.0.2.128/25",
            "192.0.2.0/24",
            "192.0.2.0/32",
            "192.0.2.0/24",
            "203.0.113.9/24",
        ]);
        let all: Vec<_> = set.iter().map(|net| net.to_string()).collect();
        assert_eq!(all, ["192.0.2.0/24", "203.0.113.0/24"]);
        assert_eq!(found(&set, "192.0.2.200").as_deref(), Some("192.0.2.0/24"));
    }

    #[test]
    fn widest_prefix_contains_all_addresses_of_its_version() {
        let set = set(&["0.0.0.0/0"]);
        assert!(set.contains("255.255.255.255".parse().unwrap()));
        assert!(!set.contains("2001:db8::1".parse().unwrap()));
        assert!(RangeSet::default().is_empty());
        assert!(!RangeSet::default().contains("192.0.2.1".parse().unwrap()));
    }

    /// Generates addresses that are close together, so that prefixes are adjacent or nested.
    fn crowded() -> impl Strategy<Value = IpAddr> {
        prop_oneof![
            (0_u32..4096).prop_map(|low| IpAddr::V4(Ipv4Addr::from_bits(0xC000_0000 | low << 4))),
            any::<u32>().prop_map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits))),
            (0_u128..4096)
                .prop_map(|low| IpAddr::V6(Ipv6Addr::from_bits(0x2001_0db8 << 96 | low << 60))),
        ]
    }

    fn prefix() -> impl Strategy<Value = IpNet> {
        (crowded(), 0_u8..=32, 0_u8..=1).prop_map(|(address, free, half)| {
            let most = if address.is_ipv4() {
                32
            } else {
                128 - 60 * half
            };
            IpNet::new(address, most - free).unwrap()
        })
    }

    proptest! {
        #[test]
        fn lookup_equals_a_search_of_all_prefixes(
            prefixes in prop::collection::vec(prefix(), 0..300),
            addresses in prop::collection::vec(crowded(), 1..20),
        ) {
            let set: RangeSet = prefixes.iter().copied().collect();
            let ends = prefixes.iter().flat_map(|net| [net.network(), net.broadcast()]);
            for address in addresses.into_iter().chain(ends) {
                let widest = prefixes.iter().filter(|net| net.contains(&address));
                let widest = widest.min_by_key(|net| net.prefix_len()).map(IpNet::trunc);
                prop_assert_eq!(set.find(address), widest);
                prop_assert_eq!(set.contains(address), widest.is_some());
                if let IpAddr::V4(address) = address {
                    let mapped = IpAddr::V6(address.to_ipv6_mapped());
                    prop_assert_eq!(set.find(mapped), widest);
                }
            }
            let again: RangeSet = set.iter().collect();
            prop_assert_eq!(again, set);
        }
    }
}
