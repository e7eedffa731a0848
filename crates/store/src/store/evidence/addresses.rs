//! How much of an address is kept, and which addresses are meant.

use std::{fmt, net::IpAddr, str::FromStr};

use ipnet::IpNet;

/// Bits of an address that are kept where it is not kept whole.
///
/// A household or an office has at most these: a /24 stands for 256 lines, and a /48 is what a
/// provider gives to one site (RFC 6177 §2).
const V4_BITS: u8 = 24;
const V6_BITS: u8 = 48;

robot_detection_layer::words! {
    /// How much is kept of the addresses of visitors.
    #[derive(Default)]
    #[non_exhaustive]
    pub enum KeptAddresses {
        /// Whole ones of who says that he is a listed robot, networks of everybody else.
        #[default]
        Robots = "robots",
        /// Whole ones of everybody.
        Whole = "whole",
        /// Networks alone: /24 of IPv4, /48 of IPv6.
        Networks = "networks",
        /// None.
        None = "none",
    }
}

/// Address, or a network of addresses, such as `203.0.113.7` or `2001:db8::/48`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AddressNetwork {
    net: IpNet,
}

impl KeptAddresses {
    /// Returns `true` if addresses of such visitors are kept whole.
    pub fn is_whole(self, is_listed_robot: bool) -> bool {
        match self {
            Self::Robots => is_listed_robot,
            Self::Whole => true,
            Self::Networks | Self::None => false,
        }
    }

    /// Returns what is kept of an address.
    pub fn kept(self, address: IpAddr, is_listed_robot: bool) -> String {
        let address = address.to_canonical();
        if self == Self::None {
            String::new()
        } else if self.is_whole(is_listed_robot) {
            address.to_string()
        } else {
            AddressNetwork::around(address).to_string()
        }
    }
}

impl AddressNetwork {
    /// Returns the network that is kept of an address that is not kept whole.
    pub fn around(address: IpAddr) -> Self {
        let address = address.to_canonical();
        let bits = if address.is_ipv4() { V4_BITS } else { V6_BITS };
        Self::of(IpNet::from(address), bits)
    }

    /// Returns the network that may be told where the address may not.
    #[must_use]
    pub fn coarse(self) -> Self {
        let bits = if self.net.addr().is_ipv4() {
            V4_BITS
        } else {
            V6_BITS
        };
        Self::of(self.net, bits.min(self.net.prefix_len()))
    }

    /// Returns `true` if something kept may be of an address that is meant.
    ///
    /// Of a network that is kept nobody knows which of its addresses asked: it counts where any
    /// may have.
    pub fn concerns(self, kept: &str) -> bool {
        let kept = kept.parse::<Self>();
        kept.is_ok_and(|kept| self.net.contains(&kept.net) || kept.net.contains(&self.net))
    }

    fn of(net: IpNet, bits: u8) -> Self {
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

    fn kept(kept: KeptAddresses, address: &str, is_listed: bool) -> String {
        kept.kept(address.parse().unwrap(), is_listed)
    }

    #[test]
    fn as_much_is_kept_as_the_word_says() {
        use KeptAddresses::{Networks, None, Robots, Whole};
        for (word, listed, other) in [
            (Robots, "203.0.113.7", "203.0.113.0/24"),
            (Whole, "203.0.113.7", "203.0.113.7"),
            (Networks, "203.0.113.0/24", "203.0.113.0/24"),
            (None, "", ""),
        ] {
            assert_eq!(kept(word, "203.0.113.7", true), listed);
            assert_eq!(kept(word, "::ffff:203.0.113.7", false), other);
            assert_eq!(KeptAddresses::from_word(word.as_str()), Some(word));
        }
        assert_eq!(kept(Robots, "2001:db8:1:2::3", false), "2001:db8:1::/48");
    }

    #[test]
    fn an_address_concerns_its_network_and_a_network_its_addresses() {
        let concerns = |meant: &str, kept: &str| {
            let meant = meant.parse::<AddressNetwork>().unwrap();
            meant.concerns(kept)
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
    fn what_is_told_of_an_address_is_its_network() {
        for (meant, told) in [
            ("203.0.113.7", "203.0.113.0/24"),
            ("203.0.112.0/20", "203.0.112.0/20"),
            ("2001:db8::1", "2001:db8::/48"),
        ] {
            let meant: AddressNetwork = meant.parse().unwrap();
            assert_eq!(meant.coarse().to_string(), told);
        }
    }
}
