//! Behaviour of addresses and networks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::{
    observation::{Closed, Observation, PathKind},
    reason::{Reason, Reasons},
    table::Table,
};

/// Maximum number of addresses tracked in a window.
const MAX_SENDERS: usize = 6_144;

/// Maximum number of networks tracked in a window.
const MAX_NETWORKS: usize = 2_048;

/// Length of a slot in seconds; a window consists of sixty slots.
const SLOT_S: i64 = 10;

/// Minimum number of requests for missing pages before a sender is assumed to guess names.
const NOT_FOUND: u32 = 20;

/// Number of page requests in ten minutes that is too high for a human visitor.
const BREADTH: f64 = 60.0;

/// Minimum number of active slots, and of pages, for a sender that is considered to make no pauses.
const NO_PAUSES: u32 = 54;
const NO_PAUSES_PAGES: f64 = 30.0;

/// Minimum number of requests for paths disallowed by robots.txt before a sender is flagged.
const CLOSED: u32 = 20;

/// Minimum number of slots with a 429 response; a page whose images are refused causes one or two.
const RETRY_AFTER: u32 = 6;

/// Maximum share of assets for a sender that is considered to load no assets, and minimum share for
/// all visitors for this difference to be significant.
const ASSETS: [f64; 2] = [0.02, 0.2];

/// Minimum total weight of the reasons for flagging a sender; one weak reason is not enough.
const FLAGGED: u32 = 3;

/// The requests from an address or a network in a window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Activity {
    place: Option<Place>,
    pub(crate) requests: u32,
    pub(crate) pages: u32,
    pub(crate) missing: u32,
    closed: u32,
    traps: u32,
    /// A bit set of path hashes, from which the number of paths is estimated (at most 250).
    paths: u64,
    /// Bit sets of the slots with a request, and of the slots with a 429 response.
    active: u64,
    told: u64,
}

/// An address or a network, identified by its significant bits.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) struct Place {
    pub(crate) address: IpAddr,
    pub(crate) bits: u8,
}

impl Place {
    /// Returns the address range of a single sender: an IPv4 address or an IPv6 /64.
    pub(crate) fn sender(address: IpAddr) -> Self {
        Self::of(address, 32, 64)
    }

    /// Returns the network of an address: an IPv4 /24 or an IPv6 /48.
    pub(crate) fn network(address: IpAddr) -> Self {
        Self::of(address, 24, 48)
    }

    fn of(address: IpAddr, v4_bits: u8, v6_bits: u8) -> Self {
        match address.to_canonical() {
            IpAddr::V4(v4) => Self {
                address: Ipv4Addr::from_bits(v4.to_bits() & (u32::MAX << (32 - v4_bits))).into(),
                bits: v4_bits,
            },
            IpAddr::V6(v6) => Self {
                address: Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << (128 - v6_bits))).into(),
                bits: v6_bits,
            },
        }
    }
}

/// The addresses and networks seen in a window.
#[derive(Debug)]
pub(crate) struct Walks {
    senders: Table<Activity>,
    networks: Table<Activity>,
}

impl Walks {
    pub(crate) fn new() -> Self {
        Self {
            senders: Table::new(MAX_SENDERS),
            networks: Table::new(MAX_NETWORKS),
        }
    }

    pub(crate) fn add(&mut self, seen: &Observation<'_>, target: u64, hash: impl Fn(Place) -> u64) {
        let tables = [
            (&mut self.senders, Place::sender(seen.address)),
            (&mut self.networks, Place::network(seen.address)),
        ];
        for (table, place) in tables {
            if let Some(walk) = table.get_or_insert(hash(place)) {
                walk.place = Some(place);
                walk.add(seen, target);
            }
        }
    }

    /// Returns the addresses and networks that behave unlike human visitors, with the reasons.
    pub(crate) fn flagged(&self, assets: f64) -> impl Iterator<Item = (Place, &Activity, Reasons)> {
        // Several human visitors may share a network.
        let tables = [(&self.senders, 1), (&self.networks, 3)];
        let walks = tables.into_iter().flat_map(|(table, people)| {
            let walks = table.iter();
            walks.map(move |(_, walk)| (walk, people))
        });
        walks.filter_map(move |(walk, people)| {
            let reasons = walk.reasons(people, assets);
            (reasons.weight() >= FLAGGED).then_some((walk.place?, walk, reasons))
        })
    }

    pub(crate) fn clear(&mut self) {
        self.senders.clear();
        self.networks.clear();
    }

    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.senders.bytes() + self.networks.bytes()
    }
}

impl Activity {
    fn add(&mut self, seen: &Observation<'_>, target: u64) {
        let slot = 1 << (seen.at_s.rem_euclid(60 * SLOT_S) / SLOT_S);
        self.requests += 1;
        self.active |= slot;
        if seen.status == 429 {
            self.told |= slot;
        }
        if PathKind::from_target(seen.target) != PathKind::Page {
            return;
        }
        self.pages += 1;
        self.paths |= 1 << (target & 63);
        self.missing += u32::from(matches!(seen.status, 403 | 404 | 410));
        self.closed += u32::from(seen.closed.is_some());
        self.traps += u32::from(seen.closed == Some(Closed::Trap));
    }

    /// Returns the reasons why the given number of human visitors would not behave like this.
    fn reasons(&self, people: u32, assets: f64) -> Reasons {
        let (many, paths) = (f64::from(people), self.paths());
        let is_half = |part: u32| 2 * part >= self.pages;
        let own = 1.0 - f64::from(self.pages) / f64::from(self.requests.max(1));
        let has_none = own <= ASSETS[0] && assets >= ASSETS[1];
        let active = self.active.count_ones();
        Reasons::default()
            .with_if(
                Reason::NotFound,
                self.missing >= NOT_FOUND * people && is_half(self.missing),
            )
            .with_if(Reason::Breadth, has_none && paths >= BREADTH * many)
            .with_if(
                Reason::NoPauses,
                has_none && active >= NO_PAUSES && paths >= NO_PAUSES_PAGES * many,
            )
            .with_if(
                Reason::Closed,
                self.closed >= CLOSED * people && is_half(self.closed),
            )
            // A trap alone is not sufficient, as the visitor may just be curious.
            .with_if(Reason::Trap, self.traps >= people)
            .with_if(Reason::RetryAfter, self.told.count_ones() >= RETRY_AFTER)
    }

    /// Returns the sum of the requests in this window and in a later window.
    pub(crate) fn merged_with(mut self, later: &Self) -> Self {
        self.requests = self.requests.saturating_add(later.requests);
        self.pages = self.pages.saturating_add(later.pages);
        self.missing = self.missing.saturating_add(later.missing);
        self.paths |= later.paths;
        self
    }

    /// Returns the approximate number of distinct paths, estimated from the unset bits of `paths`.
    pub(crate) fn paths(&self) -> f64 {
        let free = self.paths.count_zeros().max(1);
        // If all 64 bits are set, the estimate is about 266, its maximum.
        let estimate = 64.0 * (64.0 / f64::from(free)).ln();
        estimate.min(f64::from(self.pages))
    }
}
