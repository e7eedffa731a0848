//! Anonymisation of stored addresses, and matching of addresses against stored networks.

use std::{fmt, net::IpAddr, str::FromStr};

use ipnet::IpNet;

/// The prefix lengths to which addresses are anonymised.
///
/// Each network covers at least a household or an office: a /24 covers 256 subscriber lines, and
/// providers assign a /48 to a site (RFC 6177 §2).
const V4_BITS: u8 = 24;
const V6_BITS: u8 = 48;

robot_detection_layer::words! {
    /// The part of visitors' addresses that is stored.
    #[derive(Default)]
    #[non_exhaustive]
    pub enum AddressRetention {
        /// Store complete addresses for clients that claim to be listed robots, and only networks
        /// for other clients.
        #[default]
        Robots = "robots",
        /// Store complete addresses for all clients.
        Whole = "whole",
        /// Store only networks: /24 for IPv4, /48 for IPv6.
        Networks = "networks",
        /// Do not store addresses.
        None = "none",
    }
}

/// An address or a network, such as `203.0.113.7` or `2001:db8::/48`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AddressNetwork {
    net: IpNet,
}

impl AddressRetention {
    /// Returns `true` if complete addresses are stored for this kind of client.
    pub fn is_whole(self, is_listed_robot: bool) -> bool {
        match self {
            Self::Robots => is_listed_robot,
            Self::Whole => true,
            Self::Networks | Self::None => false,
        }
    }

    /// Returns the form in which an address is stored.
    pub fn stored_form(self, address: IpAddr, is_listed_robot: bool) -> String {
        let address = address.to_canonical();
        if self == Self::None {
            String::new()
        } else if self.is_whole(is_listed_robot) {
            address.to_string()
        } else {
            AddressNetwork::containing(address).to_string()
        }
    }
}

impl AddressNetwork {
    /// Returns the network that is stored instead of the address when addresses are anonymised.
    pub fn containing(address: IpAddr) -> Self {
        let address = address.to_canonical();
        let bits = if address.is_ipv4() { V4_BITS } else { V6_BITS };
        Self::with_prefix(IpNet::from(address), bits)
    }

    /// Returns the network that contains the address and may be disclosed.
    #[must_use]
    pub fn widened(self) -> Self {
        let bits = if self.net.addr().is_ipv4() {
            V4_BITS
        } else {
            V6_BITS
        };
        Self::with_prefix(self.net, bits.min(self.net.prefix_len()))
    }

    /// Returns `true` if a stored address or network overlaps this network.
    ///
    /// A stored network does not reveal which of its addresses sent the request, so any overlap is
    /// a match.
    pub fn overlaps(self, kept: &str) -> bool {
        let kept = kept.parse::<Self>();
        kept.is_ok_and(|kept| self.net.contains(&kept.net) || kept.net.contains(&self.net))
    }

    fn with_prefix(net: IpNet, bits: u8) -> Self {
        let wider = IpNet::new(net.addr(), bits).unwrap_or(net);
        Self { net: wider.trunc() }
    }
}

impl FromStr for AddressNetwork {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let address = text.parse::<IpAddr>();
        let net = match address {
            Ok(address) => Some(IpNet::from(address.to_canonical())),
            Err(_) => text.parse::<IpNet>().ok(),
        };
        let net = net.ok_or_else(|| {
            format!(
                "{text:?} is neither an address nor a network; write 203.0.113.7 or 203.0.113.0/24"
            )
        })?;
        Ok(Self { net: net.trunc() })
    }
}

impl fmt::Display for AddressNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.net.prefix_len() == self.net.max_prefix_len() {
            self.net.addr().fmt(f)
        } else {
            self.net.fmt(f)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(kept: AddressRetention, address: &str, is_listed: bool) -> String {
        kept.stored_form(address.parse().unwrap(), is_listed)
    }

    #[test]
    fn setting_determines_stored_part_of_address() {
        use AddressRetention::{Networks, None, Robots, Whole};
        for (word, listed, other) in [
            (Robots, "203.0.113.7", "203.0.113.0/24"),
            (Whole, "203.0.113.7", "203.0.113.7"),
            (Networks, "203.0.113.0/24", "203.0.113.0/24"),
            (None, "", ""),
        ] {
            assert_eq!(kept(word, "203.0.113.7", true), listed);
            assert_eq!(kept(word, "::ffff:203.0.113.7", false), other);
            assert_eq!(AddressRetention::from_word(word.as_str()), Some(word));
        }
        assert_eq!(kept(Robots, "2001:db8:1:2::3", false), "2001:db8:1::/48");
    }

    #[test]
    fn addresses_and_networks_concern_each_other() {
        let concerns = |meant: &str, kept: &str| {
            let meant = meant.parse::<AddressNetwork>().unwrap();
            meant.overlaps(kept)
        };
        for kept in ["203.0.113.7", "203.0.113.0/24"] {
            assert!(concerns("203.0.113.7", kept), "{kept}");
            assert!(concerns("203.0.113.0/25", kept), "{kept}");
            assert!(concerns("::ffff:203.0.113.7", kept), "{kept}");
        }
        for kept in ["203.0.113.8", "203.0.114.0/24", "2001:db8::1", "", "x"] {
            assert!(!concerns("203.0.113.7", kept), "{kept}");
        }
        assert!("203.0.113".parse::<AddressNetwork>().is_err());
    }

    #[test]
    fn coarse_widens_addresses_to_networks() {
        for (meant, told) in [
            ("203.0.113.7", "203.0.113.0/24"),
            ("203.0.112.0/20", "203.0.112.0/20"),
            ("2001:db8::1", "2001:db8::/48"),
        ] {
            let meant: AddressNetwork = meant.parse().unwrap();
            assert_eq!(meant.widened().to_string(), told);
        }
    }
}
