//! Kinds of address lists, and the limits and rules for each.

use std::{net::Ipv6Addr, time::Duration};

use ipnet::{IpNet, Ipv6Net};

use super::{PublishedRanges, RangeSet, RangesError, prefix};
use crate::fetch::{FetchLimits, Origin, shown_url};

/// The prefix for the stored names of lists chosen by an administrator, which are checked by
/// different rules.
const STORED: &str = "list:";

/// The maximum number of IPv4 addresses in an operator's list: an eighth of all addresses.
const MOST_V4: u128 = 1 << 29;
/// The maximum number of /64 networks in an operator's list, equal to a /12.
const MOST_V6: u128 = 1 << 52;

/// Half of all IPv4 addresses.
const HALF_V4: u128 = 1 << 31;
/// Half of all allocated /64 networks (`2000::/3`).
const HALF_V6: u128 = 1 << 60;

/// The time without a request after which a chosen list is removed from the store: the maximum
/// configurable interval, 30 days, plus a week. Until then, another instance may still use the
/// list.
const UNASKED: Duration = Duration::from_hours(37 * 24);

/// The purpose of an address list.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ListKind {
    /// Addresses of an operator's robots, published by the operator; a listed address proves a
    /// claim.
    Operator,
    /// Addresses of any kind, chosen by an administrator for use in rules or as proxies.
    Chosen,
}

impl ListKind {
    /// Returns the maximum size of a document in bytes.
    pub(super) fn max_bytes(self) -> usize {
        match self {
            Self::Operator => 4 * 1024 * 1024,
            Self::Chosen => 16 * 1024 * 1024,
        }
    }

    /// Returns `true` if an unused list may be deleted, given the time since its last request.
    pub(super) fn is_forgotten(self, unasked: Duration) -> bool {
        self == Self::Operator || unasked >= UNASKED
    }

    /// Returns the download limits.
    pub(super) fn fetch_limits(self) -> FetchLimits {
        FetchLimits {
            max_body_bytes: self.max_bytes() as u64,
            ..FetchLimits::default()
        }
    }

    /// Parses a document on a blocking thread, since a large list takes a while.
    pub(super) async fn parse(self, url: &str, bytes: Vec<u8>) -> Result<PublishedRanges, String> {
        let shown = shown_url(url);
        let url = url.to_owned();
        let parsing =
            tokio::task::spawn_blocking(move || PublishedRanges::read(self, &url, &bytes));
        match parsing.await {
            Ok(Ok(published)) => Ok(published),
            Ok(Err(error)) => Err(format!("rejected the list {shown}: {error}")),
            Err(error) => Err(format!(
                "could not parse the list {shown}: {error}; try again later"
            )),
        }
    }

    /// Returns the maximum number of entries in a document.
    pub(super) fn max_entries(self) -> usize {
        match self {
            Self::Operator => 100_000,
            Self::Chosen => 500_000,
        }
    }

    /// Returns the origin of a list. Lists specified in the registry cannot be local files.
    pub(super) fn origin(self, url: &str) -> Result<Origin, String> {
        match self {
            Self::Operator => Ok(Origin::Web(url.to_owned())),
            Self::Chosen => Origin::parse(url),
        }
    }

    /// Returns `true` if a list is a local file, which is not shared with other instances.
    pub(super) fn is_file(self, url: &str) -> bool {
        matches!(self.origin(url), Ok(Origin::File(_)))
    }

    /// Returns the name under which a list is stored.
    pub(super) fn stored_name(self, url: &str) -> String {
        match self {
            Self::Operator => url.to_owned(),
            Self::Chosen => format!("{STORED}{url}"),
        }
    }

    /// Returns the URL of a stored list from the list's name, if the name has this kind's form.
    pub(super) fn url_of(self, stored: &str) -> Option<&str> {
        match self {
            Self::Operator => (!stored.starts_with(STORED)).then_some(stored),
            Self::Chosen => stored.strip_prefix(STORED),
        }
    }

    /// Returns `true` if a prefix is too wide to belong to a single owner.
    pub(super) fn is_too_wide(self, net: IpNet) -> bool {
        match (self, net) {
            (Self::Operator, net) => prefix::is_too_wide(net),
            (Self::Chosen, IpNet::V4(net)) => net.prefix_len() == 0,
            // All allocated addresses; unallocated ones occur in lists of bogons.
            (Self::Chosen, IpNet::V6(net)) => net.prefix_len() <= 3 && net.contains(&GIVEN_OUT),
        }
    }

    /// Returns `true` if a list may contain a network; chosen lists may contain private networks.
    pub(super) fn is_listable(self, net: IpNet) -> bool {
        self == Self::Chosen || prefix::is_listable(net)
    }

    /// Rejects a list whose ranges contain too many addresses in total.
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

/// The start of the allocated IPv6 addresses (`2000::/3`).
const GIVEN_OUT: Ipv6Addr = Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0);

fn is_given_out(net: Ipv6Net) -> bool {
    net.addr().to_bits() >> 125 == 1
}
