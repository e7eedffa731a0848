//! What lists of addresses are for, and how each kind is kept and judged.

use std::{net::Ipv6Addr, time::Duration};

use ipnet::{IpNet, Ipv6Net};

use super::{PublishedRanges, RangeSet, RangesError, prefix};
use crate::fetch::{FetchLimits, Origin, shown_url};

/// What stands before the URL of a list of people in the store: it is judged by other rules.
const STORED: &str = "list:";

/// Most addresses of an operator's list: an eighth of IPv4.
const MOST_V4: u128 = 1 << 29;
/// Most networks of 64 bits of it: a /12.
const MOST_V6: u128 = 1 << 52;

/// Half of all addresses of IPv4.
const HALF_V4: u128 = 1 << 31;
/// Half of all networks of 64 bits that are given out, which are those of `2000::/3`.
const HALF_V6: u128 = 1 << 60;

/// Time for which a chosen list stays in the store that nobody asks for: the longest interval of a
/// configuration, 30 days, and a week. Another instance may still have chosen it.
const UNASKED: Duration = Duration::from_hours(37 * 24);

/// Whom a list of addresses is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ListKind {
    /// Robots of the operator that publishes it: to be in it proves a claim.
    Operator,
    /// Whomever those mean who have chosen it, for their rules and proxies.
    Chosen,
}

impl ListKind {
    /// Returns the largest document.
    pub(super) fn max_bytes(self) -> usize {
        match self {
            Self::Operator => 4 * 1024 * 1024,
            Self::Chosen => 16 * 1024 * 1024,
        }
    }

    /// Returns `true` if a list that is chosen no more may go, given how long nobody has asked for it.
    pub(super) fn is_forgotten(self, unasked: Duration) -> bool {
        self == Self::Operator || unasked >= UNASKED
    }

    /// Returns the limits of downloads.
    pub(super) fn fetch_limits(self) -> FetchLimits {
        FetchLimits {
            max_body_bytes: self.max_bytes() as u64,
            ..FetchLimits::default()
        }
    }

    /// Parses beside the tasks that serve: a large list takes a while.
    pub(super) async fn parse(self, url: &str, bytes: Vec<u8>) -> Result<PublishedRanges, String> {
        let shown = shown_url(url);
        let url = url.to_owned();
        let parsing =
            tokio::task::spawn_blocking(move || PublishedRanges::read(self, &url, &bytes));
        match parsing.await {
            Ok(Ok(published)) => Ok(published),
            Ok(Err(error)) => Err(format!("the list {shown} is refused: {error}")),
            Err(error) => Err(format!(
                "the list {shown} could not be read: {error}: try again later"
            )),
        }
    }

    /// Returns the most entries of a document.
    pub(super) fn max_entries(self) -> usize {
        match self {
            Self::Operator => 100_000,
            Self::Chosen => 500_000,
        }
    }

    /// Returns where a list is read from; a registry can name no file of this machine.
    pub(super) fn origin(self, url: &str) -> Result<Origin, String> {
        match self {
            Self::Operator => Ok(Origin::Web(url.to_owned())),
            Self::Chosen => Origin::parse(url),
        }
    }

    /// Returns `true` if a list is a file of this machine, which other instances do not share.
    pub(super) fn is_file(self, url: &str) -> bool {
        matches!(self.origin(url), Ok(Origin::File(_)))
    }

    /// Returns what the store calls a list.
    pub(super) fn stored_name(self, url: &str) -> String {
        match self {
            Self::Operator => url.to_owned(),
            Self::Chosen => format!("{STORED}{url}"),
        }
    }

    /// Returns the URL of what the store calls so, if it is a list of this kind.
    pub(super) fn url_of(self, stored: &str) -> Option<&str> {
        match self {
            Self::Operator => (!stored.starts_with(STORED)).then_some(stored),
            Self::Chosen => stored.strip_prefix(STORED),
        }
    }

    /// Returns `true` if a prefix is so short that anybody may be in it.
    pub(super) fn is_too_wide(self, net: IpNet) -> bool {
        match (self, net) {
            (Self::Operator, net) => prefix::is_too_wide(net),
            (Self::Chosen, IpNet::V4(net)) => net.prefix_len() == 0,
            // All that is given out; what is not is in lists of what nobody has.
            (Self::Chosen, IpNet::V6(net)) => net.prefix_len() <= 3 && net.contains(&GIVEN_OUT),
        }
    }

    /// Returns `true` if a list may name a network; the networks of people may be private.
    pub(super) fn is_listable(self, net: IpNet) -> bool {
        self == Self::Chosen || prefix::is_listable(net)
    }

    /// Refuses a list whose ranges are narrow, and all of them together everybody's.
    pub(super) fn check_size(self, set: &RangeSet) -> Result<(), RangesError> {
        let (mut v4, mut v6) = (0_u128, 0_u128);
        for net in set.iter() {
            match net {
                IpNet::V4(net) => v4 += 1 << (32 - net.prefix_len().min(32)),
                IpNet::V6(net) if self == Self::Operator || is_given_out(net) => {
                    v6 += 1 << (64 - net.prefix_len().min(64));
                }
                IpNet::V6(_) => {}
            }
        }
        match self {
            Self::Operator if v4 > MOST_V4 || v6 > MOST_V6 => Err(RangesError::TooMuch),
            Self::Chosen if v4 > HALF_V4 || v6 > HALF_V6 => Err(RangesError::Everybody),
            _ => Ok(()),
        }
    }
}

/// Begin of the addresses of IPv6 that are given out (`2000::/3`).
const GIVEN_OUT: Ipv6Addr = Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0);

fn is_given_out(net: Ipv6Net) -> bool {
    net.addr().to_bits() >> 125 == 1
}
