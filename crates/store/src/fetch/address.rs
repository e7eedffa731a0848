//! Classification of IP addresses as public or special-purpose.
//!
//! The classification is based on the IANA registries of special-purpose addresses
//! (<https://www.iana.org/assignments/iana-ipv4-special-registry/> and
//! <https://www.iana.org/assignments/iana-ipv6-special-registry/>, RFC 6890).
//!
//! Callers decide how to treat each kind. For hosts specified by third parties, only public
//! addresses are connected to, and only public addresses get a verdict. Documentation networks have
//! no owner but are used in examples, so they may appear in published lists and are looked up in
//! DNS.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

/// The kind of an IP address, by reachability.
///
/// An IPv4 address embedded in an IPv6 address (mapped, NAT64, 6to4) has the kind of the IPv4
/// address.
///
/// # Example
///
/// ```
/// use robot_detection_store::fetch::AddressKind;
///
/// let kind = AddressKind::from_address("::ffff:10.0.0.1".parse().unwrap());
/// assert_eq!(kind, AddressKind::Private);
/// assert_eq!(kind.to_string(), "a private address");
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum AddressKind {
    /// An address on the public Internet.
    Public,
    /// An unspecified address: `::`, or an IPv4 address in "this network" (RFC 791).
    Unspecified,
    /// A loopback address, which refers to the machine itself.
    Loopback,
    /// An address that is valid on a single link (RFC 3927, RFC 4291).
    LinkLocal,
    /// An address of a private network or of carrier-grade NAT (RFC 1918, 4193, 6598).
    Private,
    /// An address reserved for documentation (RFC 5737, 3849, 9637).
    Documentation,
    /// A multicast address (RFC 5771, 4291).
    Multicast,
    /// A reserved address, or an address for protocol or benchmark use.
    Reserved,
}

use AddressKind::{
    Documentation, LinkLocal, Loopback, Multicast, Private, Public, Reserved, Unspecified,
};

/// Special-purpose IPv4 networks, each with its first address, prefix length and kind.
const SPECIAL_V4: &[([u8; 4], u32, AddressKind)] = &[
    ([0, 0, 0, 0], 8, Unspecified),
    ([10, 0, 0, 0], 8, Private),
    // Carrier-grade NAT.
    ([100, 64, 0, 0], 10, Private),
    ([127, 0, 0, 0], 8, Loopback),
    ([169, 254, 0, 0], 16, LinkLocal),
    ([172, 16, 0, 0], 12, Private),
    // Protocol assignments.
    ([192, 0, 0, 0], 24, Reserved),
    ([192, 0, 2, 0], 24, Documentation),
    // 6to4 relays (RFC 7526).
    ([192, 88, 99, 0], 24, Reserved),
    ([192, 168, 0, 0], 16, Private),
    // Benchmarks.
    ([198, 18, 0, 0], 15, Reserved),
    ([198, 51, 100, 0], 24, Documentation),
    ([203, 0, 113, 0], 24, Documentation),
    ([224, 0, 0, 0], 4, Multicast),
    ([240, 0, 0, 0], 4, Reserved),
];

/// Special-purpose IPv6 networks; the first network that contains an address determines its kind.
const SPECIAL_V6: &[([u16; 8], u32, AddressKind)] = &[
    ([0, 0, 0, 0, 0, 0, 0, 0], 128, Unspecified),
    ([0, 0, 0, 0, 0, 0, 0, 1], 128, Loopback),
    // Protocol assignments with Teredo.
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, Reserved),
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, Documentation),
    // 6to4 ranges that are not within one IPv4 network.
    ([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, Reserved),
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, Documentation),
    ([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7, Private),
    ([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10, LinkLocal),
    // Site-local, the predecessor of unique local addresses (RFC 3879).
    ([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10, Private),
    ([0xff00, 0, 0, 0, 0, 0, 0, 0], 8, Multicast),
    // Everything outside 2000::/3, the part allocated to networks (RFC 4291 §2.4).
    ([0, 0, 0, 0, 0, 0, 0, 0], 3, Reserved),
    ([0x4000, 0, 0, 0, 0, 0, 0, 0], 2, Reserved),
    ([0x8000, 0, 0, 0, 0, 0, 0, 0], 1, Reserved),
];

impl AddressKind {
    /// Returns the kind of an IP address.
    pub fn from_address(address: IpAddr) -> Self {
        Self::special_networks(address, address)
            .next()
            .unwrap_or(Public)
    }

    /// Returns the kind of each special-purpose network that overlaps an address range.
    ///
    /// The iterator is empty if all addresses are public.
    pub fn special_networks(first: IpAddr, last: IpAddr) -> impl Iterator<Item = Self> {
        let (v4, v6) = match Span::of(first, last) {
            Span::V4(first, last) => (Some((first, last)), None),
            Span::V6(first, last) => (None, Some((first, last))),
        };
        let v4 = v4.into_iter().flat_map(|span| {
            let networks = SPECIAL_V4.iter();
            networks.filter_map(move |&(start, length, kind)| {
                let start = Ipv4Addr::from_octets(start).to_bits();
                let end = start | u32::MAX.checked_shr(length).unwrap_or(0);
                (start <= span.1 && span.0 <= end).then_some(kind)
            })
        });
        let v6 = v6.into_iter().flat_map(|span| {
            let networks = SPECIAL_V6.iter();
            networks.filter_map(move |&(start, length, kind)| {
                // `checked_shr` returns `None` for a shift by 128 bits: the network is a single
                // address.
                let start = Ipv6Addr::from_segments(start).to_bits();
                let end = start | u128::MAX.checked_shr(length).unwrap_or(0);
                (start <= span.1 && span.0 <= end).then_some(kind)
            })
        });
        v4.chain(v6)
    }
}

/// Returns `true` if an address belongs to the public Internet.
///
/// # Example
///
/// ```
/// use robot_detection_store::fetch::is_public;
///
/// assert!(is_public("93.184.216.34".parse().unwrap()));
/// assert!(!is_public("::ffff:10.0.0.1".parse().unwrap()));
/// ```
pub fn is_public(address: IpAddr) -> bool {
    AddressKind::from_address(address) == Public
}

/// A range of IP addresses of the same IP version.
enum Span {
    V4(u32, u32),
    V6(u128, u128),
}

impl Span {
    fn of(first: IpAddr, last: IpAddr) -> Self {
        let (first, last) = match (first, last) {
            (IpAddr::V4(first), IpAddr::V4(last)) => {
                return Self::V4(first.to_bits(), last.to_bits());
            }
            (first, last) => (v6(first), v6(last)),
        };
        match (within(first), within(last)) {
            // Only if both ends are embedded in the same way: other ranges also contain IPv6
            // addresses.
            (Some((way, first)), Some((other, last))) if way == other => Self::V4(first, last),
            _ => Self::V6(first.to_bits(), last.to_bits()),
        }
    }
}

fn v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

/// Returns the IPv4 address embedded in an IPv6 address, and the first segment of the embedding
/// prefix.
fn within(address: Ipv6Addr) -> Option<(u16, u32)> {
    let v4 = |high: u16, low: u16| u32::from(high) << 16 | u32::from(low);
    match address.segments() {
        // Mapped; NAT64 (RFC 6052); 6to4 (RFC 3056).
        [0, 0, 0, 0, 0, 0xffff, high, low] => Some((0, v4(high, low))),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some((0x64, v4(high, low))),
        [0x2002, high, low, _, _, _, _, _] => Some((0x2002, v4(high, low))),
        _ => None,
    }
}

impl fmt::Display for AddressKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Public => "a public address",
            Unspecified => "an unspecified address",
            Loopback => "a loopback address",
            LinkLocal => "a link-local address",
            Private => "a private address",
            Documentation => "a documentation address",
            Multicast => "a multicast address",
            Reserved => "a reserved address",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_kinds_match_the_iana_registries() {
        for (address, kind) in [
            ("0.0.0.0", Unspecified),
            ("0.1.2.3", Unspecified),
            ("8.8.8.8", Public),
            ("10.1.2.3", Private),
            ("100.63.255.255", Public),
            ("100.64.0.1", Private),
            ("100.127.255.255", Private),
            ("100.128.0.1", Public),
            ("127.0.0.1", Loopback),
            ("169.254.169.254", LinkLocal),
            ("172.15.255.255", Public),
            ("172.16.0.1", Private),
            ("172.31.255.255", Private),
            ("172.32.0.1", Public),
            ("192.0.0.170", Reserved),
            ("192.0.1.1", Public),
            ("192.0.2.1", Documentation),
            ("192.88.99.1", Reserved),
            ("192.168.0.1", Private),
            ("198.17.255.255", Public),
            ("198.19.255.255", Reserved),
            ("198.51.100.1", Documentation),
            ("203.0.113.1", Documentation),
            ("223.255.255.255", Public),
            ("224.0.0.1", Multicast),
            ("240.0.0.1", Reserved),
            ("255.255.255.255", Reserved),
            ("::", Unspecified),
            ("::1", Loopback),
            ("::2", Reserved),
            ("::8.8.8.8", Reserved),
            ("::ffff:8.8.8.8", Public),
            ("::ffff:127.0.0.1", Loopback),
            ("64:ff9b::8.8.8.8", Public),
            ("64:ff9b::10.0.0.1", Private),
            ("64:ff9b:1::1", Reserved),
            ("2001::1", Reserved),
            ("2001:1ff:ffff::1", Reserved),
            ("2001:200::1", Public),
            ("2001:db8::1", Documentation),
            ("2002:a00:1::1", Private),
            ("2002:808:808::1", Public),
            ("2606:4700::1111", Public),
            ("3fff:fff::1", Documentation),
            ("3fff:1000::1", Public),
            ("4000::1", Reserved),
            ("8000::1", Reserved),
            ("fc00::1", Private),
            ("fdff::1", Private),
            ("fe80::1", LinkLocal),
            ("febf::1", LinkLocal),
            ("fec0::1", Private),
            ("ff02::1", Multicast),
        ] {
            let address: IpAddr = address.parse().unwrap();
            assert_eq!(AddressKind::from_address(address), kind, "{address}");
            assert_eq!(is_public(address), kind == Public, "{address}");
        }
    }

    #[test]
    fn network_is_public_only_if_all_its_parts_are() {
        for (first, last, kinds) in [
            ("8.0.0.0", "8.255.255.255", &[][..]),
            ("172.32.0.0", "172.63.255.255", &[]),
            ("203.0.112.0", "203.0.113.255", &[Documentation]),
            ("192.0.0.0", "192.0.255.255", &[Reserved, Documentation]),
            ("::ffff:10.0.0.0", "::ffff:10.0.0.255", &[Private]),
            ("2001::", "2001:ffff::", &[Reserved, Documentation]),
            ("2002:808::", "2002:808:ffff::", &[]),
            ("2002:a00::", "2002:aff:ffff::", &[Private]),
            ("2600::", "2600:ffff::", &[]),
        ] {
            let span = AddressKind::special_networks(first.parse().unwrap(), last.parse().unwrap());
            assert_eq!(span.collect::<Vec<_>>(), kinds, "{first} to {last}");
        }
        let whole = ["2000::", "3fff:ffff::"].map(|it| it.parse().unwrap());
        assert_ne!(AddressKind::special_networks(whole[0], whole[1]).count(), 0);
    }
}
