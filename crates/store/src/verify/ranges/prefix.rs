//! Parser for network prefixes, and rules for accepting prefixes.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::fetch::AddressKind;

/// The minimum length of an IPv4 prefix that is accepted.
// IANA allocated IPv4 by /8, some of them to one holder: a wider range cannot belong to the
// operator of a robot.
pub(super) const SHORTEST_V4: u8 = 8;
/// The minimum length of an IPv6 prefix that is accepted.
pub(super) const SHORTEST_V6: u8 = 16;

/// Parses a prefix or a single address, and masks the host bits.
///
/// The length may be given as a netmask. An IPv4 address embedded in IPv6 is converted to IPv4. The
/// parser of the `ipnet` crate is not used, as it accepts digits from other scripts.
pub(super) fn read(text: &str) -> Option<IpNet> {
    let text = text.trim();
    let (address, length) = match text.split_once('/') {
        Some((address, length)) => (address.trim_end(), Some(length.trim_start())),
        None => (text, None),
    };
    let address: IpAddr = address.parse().ok()?;
    let net = match length {
        None => IpNet::from(address),
        // The crate accepts masks of one IP version for addresses of the other.
        Some(mask) if address.is_ipv4() && mask.contains('.') => {
            let mask: Ipv4Addr = mask.parse().ok()?;
            IpNet::with_netmask(address, IpAddr::V4(mask)).ok()?
        }
        Some(length) => {
            let is_number = length.bytes().all(|byte| byte.is_ascii_digit());
            let length = is_number.then(|| length.parse().ok())??;
            IpNet::new(address, length).ok()?
        }
    };
    Some(canonical(net).trunc())
}

/// Returns `true` if a prefix is too wide to prove anything.
pub(super) fn is_too_wide(net: IpNet) -> bool {
    match net {
        IpNet::V4(net) => net.prefix_len() < SHORTEST_V4,
        IpNet::V6(net) => net.prefix_len() < SHORTEST_V6,
    }
}

/// Returns `true` if a list may contain every address in a network.
///
/// Public addresses and documentation networks are allowed. The latter have no owner, so listing
/// them verifies no client, and they are used in examples. Request addresses are checked to be
/// public before lookups ([`Methods`](crate::verify::Methods)).
pub(super) fn is_listable(net: IpNet) -> bool {
    AddressKind::special_networks(net.network(), net.broadcast())
        .all(|kind| kind == AddressKind::Documentation)
}

fn canonical(net: IpNet) -> IpNet {
    match net {
        IpNet::V6(v6) => mapped(v6).map_or(net, IpNet::V4),
        IpNet::V4(_) => net,
    }
}

fn mapped(net: Ipv6Net) -> Option<Ipv4Net> {
    let length = net.prefix_len().checked_sub(96)?;
    Ipv4Net::new(net.addr().to_ipv4_mapped()?, length).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_parsed_in_every_notation() {
        for (text, prefix) in [
            ("192.0.2.0/24", Some("192.0.2.0/24")),
            (" 192.0.2.77 / 24 ", Some("192.0.2.0/24")),
            ("192.0.2.1", Some("192.0.2.1/32")),
            ("192.0.2.0/255.255.255.128", Some("192.0.2.0/25")),
            ("2001:DB8::/32", Some("2001:db8::/32")),
            ("2001:db8::1", Some("2001:db8::1/128")),
            ("2001:db8::1/64", Some("2001:db8::/64")),
            ("::ffff:192.0.2.9", Some("192.0.2.9/32")),
            ("::ffff:192.0.2.9/120", Some("192.0.2.0/24")),
            ("::ffff:0:0/95", Some("::fffe:0:0/95")),
            ("", None),
            ("/24", None),
            ("192.0.2.0/", None),
            ("192.0.2.0/33", None),
            ("192.0.2.0/+24", None),
            ("192.0.2.0/24/24", None),
            ("192.0.2.0/255.0.255.0", None),
            ("192.0.2", None),
            ("192.0.2.256", None),
            ("192.0.2.010", None),
            ("192.0.2.\u{130}", None),
            ("2001:db8::/129", None),
            ("2001:db8::/255.255.255.0", None),
            ("fe80::1%eth0", None),
            ("example.org", None),
        ] {
            let read = read(text).map(|net| net.to_string());
            assert_eq!(read.as_deref(), prefix, "{text:?}");
        }
    }

    #[test]
    fn only_public_and_documentation_networks_are_accepted() {
        for (text, listable) in [
            ("192.0.2.0/24", true),
            ("198.51.100.0/24", true),
            ("203.0.113.0/24", true),
            ("2001:db8::/32", true),
            ("8.8.8.8", true),
            ("172.32.0.0/11", true),
            ("10.1.2.0/24", false),
            ("0.0.0.0", false),
            ("100.64.1.1", false),
            ("127.0.0.1", false),
            ("169.254.169.254", false),
            ("172.31.255.255", false),
            ("192.168.0.0/16", false),
            ("192.0.0.0/8", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("::1", false),
            ("::", false),
            ("fe80::/10", false),
            ("fd00::1", false),
            ("ff02::1", false),
            ("::ffff:10.0.0.1", false),
            ("64:ff9b::192.0.2.1", true),
            ("64:ff9b::10.0.0.1", false),
            ("192.88.99.0/24", false),
            ("2001::/32", false),
            ("2002:a00::/24", false),
        ] {
            assert_eq!(is_listable(read(text).unwrap()), listable, "{text}");
        }
    }

    #[test]
    fn wide_prefixes_are_rejected() {
        for (text, wide) in [
            ("0.0.0.0/0", true),
            ("128.0.0.0/1", true),
            ("8.0.0.0/7", true),
            ("17.0.0.0/8", false),
            ("::/0", true),
            ("2000::/3", true),
            ("2600::/15", true),
            ("2600::/16", false),
            ("::ffff:0:0/96", true),
        ] {
            assert_eq!(is_too_wide(read(text).unwrap()), wide, "{text}");
        }
    }
}
