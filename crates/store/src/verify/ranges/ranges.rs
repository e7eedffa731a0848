//! The lists at hand, shared by all who ask.

use std::{collections::HashMap, net::IpAddr, sync::Arc, time::Duration};

use arc_swap::{ArcSwap, ArcSwapOption};

use super::{
    PublishedRanges, RangesState,
    evidence_text::{self, Miss},
    listing::Listing,
    prefix,
};
use crate::fetch::{Conditions, shown_url};
use crate::verify::{Evidence, Finding, Method};
use robot_detection_layer::clock::Clock;

/// From this age on a miss contradicts nothing.
const STALE_AFTER: Duration = Duration::from_hours(30 * 24);

/// Published address ranges at hand; clones share them.
///
/// A list is known by its URL, exactly as it is written. Readers never wait.
///
/// # Example
///
/// ```
/// use robot_detection_layer::clock::Clock;
/// use robot_detection_store::verify::{PublishedRanges, Ranges};
///
/// let ranges = Ranges::new(Clock::system());
/// let url = "https://robots.example/ips.json";
/// assert_eq!(ranges.contains(url, "192.0.2.7".parse()?), None);
/// ranges.put(url, PublishedRanges::new(["192.0.2.0/24".parse()?]));
/// assert_eq!(ranges.contains(url, "192.0.2.7".parse()?), Some(true));
/// assert_eq!(ranges.contains(url, "198.51.100.7".parse()?), Some(false));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ranges {
    slots: Arc<ArcSwap<Slots>>,
    clock: Clock,
    stale_after: Duration,
}

/// One list, for who asks it about each request and knows it beforehand; clones share it.
#[derive(Clone, Debug)]
pub struct RangeList {
    slot: Arc<Slot>,
}

/// Places of lists by URL. A place stays when its list goes, for those who have a handle on it.
type Slots = HashMap<Box<str>, Arc<Slot>>;

type Slot = ArcSwapOption<Listing>;

impl Ranges {
    /// Creates a handle without lists.
    pub fn new(clock: Clock) -> Self {
        Self {
            slots: Arc::default(),
            clock,
            stale_after: STALE_AFTER,
        }
    }

    /// Sets the age from which on a miss contradicts nothing; 30 days by default.
    ///
    /// The age is the time since the list was last known to be current.
    #[must_use]
    pub fn stale_after(mut self, age: Duration) -> Self {
        self.stale_after = age;
        self
    }

    /// Sets a list, as if it had been fetched just now.
    pub fn put(&self, url: &str, published: PublishedRanges) {
        let now_ms = self.clock.now_ms();
        let listing = Listing::fetched(published, Conditions::default(), now_ms);
        self.set(url, listing);
    }

    /// Sets a list that comes with the program, until the first one is fetched.
    pub fn put_built_in(&self, url: &str, published: PublishedRanges) {
        if self.listing(url).is_none() {
            self.set(url, Listing::built_in(published));
        }
    }

    /// Returns a handle on a list, which need not be at hand yet.
    pub fn list(&self, url: &str) -> RangeList {
        let slot = self.slot(url);
        RangeList { slot }
    }

    /// Returns whether a list has an address; `None` where nothing can be said.
    ///
    /// Nothing can be said without a copy, and of an address that is not in it
    /// where the copy is stale or has entries that could not be read, or where
    /// the address is not a public one: then a proxy in front stands in for its
    /// visitors. Nothing is allocated: this is for each request.
    pub fn contains(&self, url: &str, address: IpAddr) -> Option<bool> {
        let slots = self.slots.load();
        let listing = slots.get(url)?.load();
        let listing = listing.as_deref()?;
        let published = listing.published.as_deref()?;
        // A hit counts whatever else could not be read, and however old the copy is.
        if published.set.contains(address) {
            return Some(true);
        }
        self.doubt(listing, published, address)
            .is_none()
            .then_some(false)
    }

    /// Returns what a list says of an address, with the evidence.
    ///
    /// It says the same as [`Self::contains`].
    pub fn find(&self, url: &str, address: IpAddr) -> Finding {
        let listing = self.listing(url);
        let listing = listing.as_deref();
        let published = listing.and_then(|listing| listing.published.as_deref());
        let evidence = |text| Evidence::new(Method::Ranges, text);
        let (Some(listing), Some(published)) = (listing, published) else {
            return Finding::Nothing(evidence(evidence_text::no_copy(url, listing)));
        };
        let age = listing.age(self.clock.now_ms());
        let copy = evidence_text::copy(published, age);
        if let Some(prefix) = published.set.find(address) {
            return Finding::Confirmed(evidence(evidence_text::hit(url, address, prefix, &copy)));
        }
        let doubt = self.doubt(listing, published, address);
        let text = evidence(evidence_text::miss(url, address, published, &copy, doubt));
        match doubt {
            None => Finding::Contradicted(text),
            Some(_) => Finding::Nothing(text),
        }
    }

    /// Returns where a list stands, if anything is known of it.
    pub fn state_of(&self, url: &str) -> Option<RangesState> {
        let listing = self.listing(url)?;
        Some(self.state(url, &listing))
    }

    /// Returns where each list stands, by URL.
    pub fn states(&self) -> Vec<RangesState> {
        let slots = self.slots.load();
        let states = slots.iter().filter_map(|(url, slot)| {
            let listing = slot.load();
            Some(self.state(url, listing.as_deref()?))
        });
        let mut states: Vec<_> = states.collect();
        states.sort_by(|a, b| a.url.cmp(&b.url));
        states
    }

    /// Returns why a miss proves nothing.
    fn doubt(
        &self,
        listing: &Listing,
        published: &PublishedRanges,
        address: IpAddr,
    ) -> Option<Miss> {
        if !prefix::is_listable(address.to_canonical().into()) {
            Some(Miss::NotPublic)
        } else if published.unreadable > 0 {
            Some(Miss::Unreadable)
        } else {
            self.is_stale(listing).then_some(Miss::Stale)
        }
    }

    fn is_stale(&self, listing: &Listing) -> bool {
        listing
            .age(self.clock.now_ms())
            .is_none_or(|age| age >= self.stale_after)
    }

    fn state(&self, url: &str, listing: &Listing) -> RangesState {
        let published = listing.published.as_deref();
        RangesState {
            url: shown_url(url),
            prefixes: listing.prefixes(),
            unreadable: published.map_or(0, |published| published.unreadable),
            created: published.and_then(|published| published.created.clone()),
            fetched_ms: listing.fetched_ms,
            checked_ms: listing.checked_ms,
            tried_ms: listing.tried_ms,
            error: listing.error.clone(),
            is_stale: published.is_some() && self.is_stale(listing),
        }
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(super) fn listing(&self, url: &str) -> Option<Arc<Listing>> {
        self.slots.load().get(url)?.load_full()
    }

    pub(super) fn set(&self, url: &str, listing: Listing) {
        self.slot(url).store(Some(Arc::new(listing)));
    }

    /// Sets the stored lists, unless those in force are newer.
    pub(super) fn set_stored(&self, loaded: Vec<(String, Listing)>) {
        for (url, listing) in loaded {
            let listing = Arc::new(listing);
            self.slot(&url).rcu(|known| {
                Some(match known {
                    Some(newer) if newer.tried_ms >= listing.tried_ms => Arc::clone(newer),
                    known => with_copy(&listing, known.as_ref()),
                })
            });
        }
    }

    /// Forgets all lists but those that are kept.
    pub(super) fn retain(&self, keep: impl Fn(&str) -> bool) {
        for (url, slot) in self.slots.load().iter() {
            if !keep(url) {
                slot.store(None);
            }
        }
    }

    fn slot(&self, url: &str) -> Arc<Slot> {
        if let Some(slot) = self.slots.load().get(url) {
            return Arc::clone(slot);
        }
        let slot = Arc::<Slot>::default();
        self.slots.rcu(|slots| {
            let mut slots = Slots::clone(slots);
            slots.entry(url.into()).or_insert_with(|| Arc::clone(&slot));
            slots
        });
        // Somebody else may have been first.
        self.slots.load().get(url).map_or(slot, Arc::clone)
    }
}

impl RangeList {
    /// Returns `true` if the copy that is here has an address, however old it is.
    ///
    /// A list without a copy has none. Nothing is allocated.
    pub fn contains(&self, address: IpAddr) -> bool {
        let listing = self.slot.load();
        let published = listing
            .as_ref()
            .and_then(|listing| listing.published.as_deref());
        published.is_some_and(|published| published.set.contains(address))
    }
}

/// Returns a listing with the copy that was known before, where it has none itself.
fn with_copy(listing: &Arc<Listing>, known: Option<&Arc<Listing>>) -> Arc<Listing> {
    let copy = known.and_then(|known| known.published.clone());
    match (&listing.published, copy) {
        (None, Some(copy)) => Arc::new(Listing {
            published: Some(copy),
            ..Listing::clone(listing)
        }),
        _ => Arc::clone(listing),
    }
}

#[cfg(test)]
mod tests;
