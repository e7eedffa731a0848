//! What was found: an immutable set.

use std::{fmt, hash::BuildHasher as _, net::IpAddr, sync::Arc};

use foldhash::quality::FixedState;

use crate::{
    conduct::Place,
    observation::{MAX_USER_AGENT_BYTES, Observation},
    reason::Reasons,
    released::Released,
};

/// Everybody who is flagged.
#[derive(Clone, Debug)]
pub struct Flags {
    pub(crate) hasher: FixedState,
    /// By key.
    pub(crate) fleets: Vec<Fleet>,
    /// By place.
    pub(crate) conduct: Vec<Conduct>,
    pub(crate) released: Released,
}

/// Fleet of robots under one User-Agent and fingerprint.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Fleet {
    pub(crate) key: u64,
    /// User-Agent as it was sent, cut and made UTF-8; whoever shows it has to escape it.
    pub user_agent: Arc<str>,
    /// When it was flagged, in seconds since 1970.
    pub since_s: i64,
    /// Why.
    pub reasons: Reasons,
    /// What it did since a few hours before it was flagged.
    pub figures: Figures,
    /// Three paths at most that it asked for, without queries; whoever shows them has to escape them.
    pub samples: Vec<Arc<str>>,
}

/// Figures of a fleet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Figures {
    /// Requests.
    pub requests: u64,
    /// Addresses, about.
    pub addresses: u64,
    /// Requests for each address, about, within ten minutes.
    pub per_address: f64,
    /// Share of the requests that are for assets.
    pub assets: f64,
    /// Largest share of all pages that it had, in a window or in the last hours.
    pub share: f64,
    /// Usual share of all pages, where it is known: after a day.
    pub usual_share: Option<f64>,
}

/// Address or network that behaves as no person does.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Conduct {
    pub(crate) place: Place,
    /// When it was flagged, in seconds since 1970.
    pub since_s: i64,
    /// Why.
    pub reasons: Reasons,
    /// Requests since a few minutes before it was flagged.
    pub requests: u64,
    /// Pages among them.
    pub pages: u64,
    /// Pages of one window, about: more than 266 cannot be told apart.
    pub paths: u64,
    /// Pages that were not there, or are nobody's business.
    pub missing: u64,
}

impl Flags {
    /// Returns `true` if nobody is flagged.
    #[must_use]
    pub fn are_none(&self) -> bool {
        self.fleets.is_empty() && self.conduct.is_empty()
    }

    /// Returns the fleet that a User-Agent and a fingerprint are of.
    ///
    /// Costs a hash and a few comparisons; nothing where there is no fleet.
    #[must_use]
    pub fn fleet(&self, user_agent: &[u8], fingerprint: u64) -> Option<&Fleet> {
        if self.fleets.is_empty() {
            return None;
        }
        let key = agent_key(&self.hasher, user_agent, fingerprint);
        let at = self.fleets.binary_search_by_key(&key, |fleet| fleet.key);
        self.fleets.get(at.ok()?)
    }

    /// Returns the fleet that a request is of.
    ///
    /// It is of none where it does what that fleet does not, or its sender has
    /// since the fleet was flagged: that is a person with the same browser.
    #[must_use]
    pub fn fleet_of(&self, seen: &Observation<'_>) -> Option<&Fleet> {
        let fleet = self.fleet(seen.user_agent, seen.fingerprint)?;
        let is_another = fleet.reasons.contradicts(seen)
            || self
                .released
                .has(sender_key(&self.hasher, fleet.key, seen.address));
        (!is_another).then_some(fleet)
    }

    /// Returns what an address is flagged for, itself or its network.
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

    /// Returns all fleets, those of most requests first.
    #[must_use]
    pub fn fleets(&self) -> Vec<&Fleet> {
        let mut fleets: Vec<_> = self.fleets.iter().collect();
        fleets.sort_by_key(|fleet| std::cmp::Reverse(fleet.figures.requests));
        fleets
    }

    /// Returns all addresses and networks, those of most requests first.
    #[must_use]
    pub fn conducts(&self) -> Vec<&Conduct> {
        let mut conduct: Vec<_> = self.conduct.iter().collect();
        conduct.sort_by_key(|one| std::cmp::Reverse(one.requests));
        conduct
    }
}

impl Fleet {
    /// Returns `true` if both are of one User-Agent and fingerprint.
    #[must_use]
    pub fn is_of(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Conduct {
    /// Returns `true` if both are of one address or network.
    #[must_use]
    pub fn is_of(&self, other: &Self) -> bool {
        self.place == other.place
    }

    /// Returns the network, whose text is `203.0.113.0/24`, or an address.
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

/// Returns the key of a sender under the key of a User-Agent and a fingerprint.
pub(crate) fn sender_key(hasher: &FixedState, agent: u64, address: IpAddr) -> u64 {
    hasher.hash_one((agent, Place::sender(address)))
}

/// Returns the key of a User-Agent and a fingerprint.
pub(crate) fn agent_key(hasher: &FixedState, user_agent: &[u8], fingerprint: u64) -> u64 {
    let user_agent = user_agent.get(..MAX_USER_AGENT_BYTES).unwrap_or(user_agent);
    // Zero is no key in a table.
    hasher.hash_one((user_agent, fingerprint)).max(1)
}
