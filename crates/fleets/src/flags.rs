//! The immutable result of an evaluation of fleets, addresses and networks.

use std::{fmt, hash::BuildHasher as _, net::IpAddr, sync::Arc};

use foldhash::quality::FixedState;

use crate::{
    conduct::Place,
    non_members::NonMembers,
    observation::{MAX_USER_AGENT_BYTES, Observation},
    reason::Reasons,
};

/// Maximum number of fleets, and of addresses and networks, that [`Flags::add`] keeps.
const MAX_MERGED: usize = 1_000;

/// All flagged fleets, addresses and networks.
#[derive(Clone, Debug)]
pub struct Flags {
    pub(crate) hasher: FixedState,
    /// The flagged fleets, sorted by key.
    pub(crate) fleets: Vec<Fleet>,
    /// The flagged addresses and networks, sorted by address.
    pub(crate) conduct: Vec<Conduct>,
    pub(crate) released: NonMembers,
}

/// A fleet of robots that share a User-Agent and a fingerprint.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Fleet {
    pub(crate) key: u64,
    /// The User-Agent as received, truncated and converted to UTF-8; escape it before display.
    pub user_agent: Arc<str>,
    /// The time when the fleet was flagged, in seconds since 1970.
    pub since_s: i64,
    /// The time of the most recent evaluation that flagged the fleet, in seconds since 1970.
    pub until_s: i64,
    /// The reasons why the fleet is flagged.
    pub reasons: Reasons,
    /// Statistics of the fleet's requests, starting a few hours before the fleet was flagged.
    pub figures: Figures,
    /// At most three requested paths, without queries; escape the paths before display.
    pub samples: Vec<Arc<str>>,
}

/// Statistics of a fleet's requests.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Figures {
    /// Number of requests.
    pub requests: u64,
    /// Approximate number of addresses.
    pub addresses: u64,
    /// Approximate number of requests per address within ten minutes.
    pub per_address: f64,
    /// The share of the fleet's requests that are for assets.
    pub assets: f64,
    /// The fleet's largest share of all page requests, in one window or over a few hours.
    pub share: f64,
    /// The User-Agent's usual share of all page requests, which is known after a day.
    pub usual_share: Option<f64>,
}

/// An address or a network that behaves unlike human visitors.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Conduct {
    pub(crate) place: Place,
    /// The time when the address or network was flagged, in seconds since 1970.
    pub since_s: i64,
    /// The time of the most recent evaluation that flagged the address or network, in seconds since
    /// 1970.
    pub until_s: i64,
    /// The reasons why the address or network is flagged.
    pub reasons: Reasons,
    /// Number of requests since a few minutes before the address or network was flagged.
    pub requests: u64,
    /// Number of requests for pages.
    pub pages: u64,
    /// Approximate number of distinct pages in one window, at most 266.
    pub paths: u64,
    /// Number of requests for pages that are missing or forbidden.
    pub missing: u64,
}

impl Flags {
    /// Adds the flags of a later evaluation; of equal fleets, addresses and networks, the later figures
    /// and the earliest `since_s` are kept.
    ///
    /// At most 1,000 fleets, and 1,000 addresses and networks, are kept.
    pub fn add(&mut self, later: &Self) {
        merge(
            &mut self.fleets,
            &later.fleets,
            |one| one.key,
            |fleet| &mut fleet.since_s,
        );
        merge(
            &mut self.conduct,
            &later.conduct,
            |one| one.place,
            |one| &mut one.since_s,
        );
        // The evaluation after the last fleet has ended knows no other senders.
        if !later.fleets.is_empty() {
            self.released = later.released.clone();
        }
    }

    /// Returns `true` if nothing is flagged.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fleets.is_empty() && self.conduct.is_empty()
    }

    /// Returns the flagged fleet with the given User-Agent and fingerprint, if any.
    ///
    /// The lookup costs a hash and a few comparisons, or nothing if there are no fleets.
    #[must_use]
    pub fn fleet(&self, user_agent: &[u8], fingerprint: u64) -> Option<&Fleet> {
        if self.fleets.is_empty() {
            return None;
        }
        let key = agent_key(&self.hasher, user_agent, fingerprint);
        let at = self.fleets.binary_search_by_key(&key, |fleet| fleet.key);
        self.fleets.get(at.ok()?)
    }

    /// Returns the flagged fleet that a request belongs to, if any.
    ///
    /// A request does not belong to the fleet if the request, or an earlier one from the same
    /// sender, contradicts the fleet's behaviour: the sender is a human visitor with the same
    /// browser.
    #[must_use]
    pub fn fleet_for(&self, seen: &Observation<'_>) -> Option<&Fleet> {
        let fleet = self.fleet(seen.user_agent, seen.fingerprint)?;
        let is_another = fleet.reasons.contradicts(seen)
            || self
                .released
                .contains(sender_key(&self.hasher, fleet.key, seen.address));
        (!is_another).then_some(fleet)
    }

    /// Returns the flagged behaviour of an address or of its network, if any.
    #[must_use]
    pub fn conduct(&self, address: IpAddr) -> Option<&Conduct> {
        if self.conduct.is_empty() {
            return None;
        }
        let places = [Place::sender(address), Place::network(address)];
        places.into_iter().find_map(|place| {
            let at = self.conduct.binary_search_by_key(&place, |one| one.place);
            self.conduct.get(at.ok()?)
        })
    }

    /// Returns all fleets, sorted by descending number of requests.
    #[must_use]
    pub fn fleets(&self) -> Vec<&Fleet> {
        let mut fleets: Vec<_> = self.fleets.iter().collect();
        fleets.sort_by_key(|fleet| std::cmp::Reverse(fleet.figures.requests));
        fleets
    }

    /// Returns all flagged addresses and networks, sorted by descending number of requests.
    #[must_use]
    pub fn conducts(&self) -> Vec<&Conduct> {
        let mut conduct: Vec<_> = self.conduct.iter().collect();
        conduct.sort_by_key(|one| std::cmp::Reverse(one.requests));
        conduct
    }
}

/// Adds sorted values to sorted values.
fn merge<T: Clone, K: Ord>(
    all: &mut Vec<T>,
    later: &[T],
    key: impl Fn(&T) -> K,
    since_s: impl Fn(&mut T) -> &mut i64,
) {
    for one in later {
        match all.binary_search_by_key(&key(one), &key) {
            Ok(at) => {
                if let Some(known) = all.get_mut(at) {
                    let began_s = *since_s(known);
                    known.clone_from(one);
                    *since_s(known) = began_s;
                }
            }
            Err(at) if all.len() < MAX_MERGED => all.insert(at, one.clone()),
            Err(_) => {}
        }
    }
}

impl Fleet {
    /// Returns `true` if both fleets have the same User-Agent and fingerprint.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Conduct {
    /// Returns the address or network, displayed as `203.0.113.7` or `203.0.113.0/24`.
    #[must_use]
    pub fn network(&self) -> impl fmt::Display + use<> {
        self.place
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.address)?;
        if self.address.is_ipv4() && self.bits == 32 {
            return Ok(());
        }
        write!(f, "/{}", self.bits)
    }
}

/// Returns the hash key of a sender, given the key of its User-Agent and fingerprint.
pub(crate) fn sender_key(hasher: &FixedState, agent: u64, address: IpAddr) -> u64 {
    hasher.hash_one((agent, Place::sender(address)))
}

/// Returns the hash key of a User-Agent and a fingerprint, taken together.
pub(crate) fn agent_key(hasher: &FixedState, user_agent: &[u8], fingerprint: u64) -> u64 {
    let user_agent = user_agent.get(..MAX_USER_AGENT_BYTES).unwrap_or(user_agent);
    // Zero marks a free slot in tables.
    hasher.hash_one((user_agent, fingerprint)).max(1)
}
