//! The unit of a ban: the network that a single sender controls.

use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
    str::FromStr,
};

use robot_detection_layer::policy::sender_address;

/// Prefix length of the network that a single IPv6 sender controls.
const NETWORK_BITS: u8 = 64;

/// A single IPv4 address, or an IPv6 network with a /64 prefix.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Network(IpAddr);

impl Network {
    /// Returns the network that contains an address; IPv4-mapped IPv6 addresses are treated as IPv4
    /// addresses.
    pub fn containing(address: IpAddr) -> Self {
        Self(sender_address(address))
    }

    /// Returns `true` if the network is an IPv4 address.
    pub fn is_v4(self) -> bool {
        self.0.is_ipv4()
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(v4) => write!(f, "{v4}"),
            IpAddr::V6(v6) => write!(f, "{v6}/{NETWORK_BITS}"),
        }
    }
}

/// Parses an IPv4 or IPv6 address, or an IPv6 network with a /64 prefix.
impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || {
            format!("{text:?} is not an IPv4 or IPv6 address or an IPv6 /{NETWORK_BITS} network")
        };
        let network = text
            .strip_suffix(&format!("/{NETWORK_BITS}"))
            .filter(|address| address.parse::<Ipv6Addr>().is_ok());
        let address = network.unwrap_or(text).parse();
        address.map(Self::containing).map_err(|_| wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_an_address_are_one_network() {
        for (address, network) in [
            ("192.0.2.1", "192.0.2.1"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("::ffff:c000:201", "192.0.2.1"),
            ("2001:db8::1", "2001:db8::/64"),
            ("2001:DB8:0:0:ffff:ffff:ffff:ffff", "2001:db8::/64"),
            ("2001:db8:0:1::1", "2001:db8:0:1::/64"),
            ("2001:db8::/64", "2001:db8::/64"),
        ] {
            let read: Network = address.parse().unwrap();
            assert_eq!(read.to_string(), network, "{address}");
            assert_eq!(network.parse(), Ok(read), "{network}");
        }
        for wrong in ["", "192.0.2.0/24", "2001:db8::/48", "x", "192.0.2.1;"] {
            let error = wrong.parse::<Network>().unwrap_err();
            assert!(error.contains("is not an IPv4"), "{wrong}: {error}");
        }
    }
}
