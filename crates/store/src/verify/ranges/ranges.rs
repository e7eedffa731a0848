//! Current address lists, shared by everything that uses them.

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

/// The age of a list from which the absence of an address no longer contradicts a claim.
const STALE_AFTER: Duration = Duration::from_hours(30 * 24);

/// The current published address ranges; clones share all state.
///
/// Each list is identified by its exact URL. Readers never wait.
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

/// A handle to one address list, for lookups on every request; clones share all state.
#[derive(Clone, Debug)]
pub struct RangeList {
    slot: Arc<Slot>,
}

/// Slots of lists, by URL. The slot of a removed list remains for existing handles.
type Slots = HashMap<Box<str>, Arc<Slot>>;

type Slot = ArcSwapOption<Listing>;

impl Ranges {
    /// Creates an empty collection of address lists.
    pub fn new(clock: Clock) -> Self {
        Self {
            slots: Arc::default(),
            clock,
            stale_after: STALE_AFTER,
        }
    }

    /// Sets the age of a list from which the absence of an address no longer contradicts a claim;
    /// 30 days by default.
    ///
    /// The age is the time since the list was last confirmed to be current.
    #[must_use]
    pub fn stale_after(mut self, age: Duration) -> Self {
        self.stale_after = age;
        self
    }

    /// Sets the content of a list, as if the list had just been fetched.
    pub fn put(&self, url: &str, published: PublishedRanges) {
        let now_ms = self.clock.now_ms();
        let listing = Listing::fetched(published, Conditions::default(), now_ms);
        self.set(url, listing);
    }

    /// Sets a built-in list to be used until the list has been fetched.
    pub fn put_built_in(&self, url: &str, published: PublishedRanges) {
        if self.listing(url).is_none() {
            self.set(url, Listing::built_in(published));
        }
    }

    /// Returns a handle to a list, which need not have been loaded yet.
    pub fn list(&self, url: &str) -> RangeList {
        let slot = self.slot(url);
        RangeList { slot }
    }

    /// Checks whether a list contains an address. Returns `None` if this cannot be determined.
    ///
    /// The result is unknown if there is no copy. For an address that is not in the list, the
    /// result is also unknown if the copy is stale or has unreadable entries, or if the address is
    /// not public, as it may be the address of a front proxy. This function does not allocate, so
    /// it can be called for every request.
    pub fn contains(&self, url: &str, address: IpAddr) -> Option<bool> {
        let slots = self.slots.load();
        let listing = slots.get(url)?.load();
        let listing = listing.as_deref()?;
        let published = listing.published.as_deref()?;
        // A listed address is accepted despite unreadable entries or an old copy.
        if published.set.contains(address) {
            return Some(true);
        }
        self.doubt(listing, published, address)
            .is_none()
            .then_some(false)
    }

    /// Returns the finding about an address, with evidence.
    ///
    /// The finding corresponds to the result of [`Self::contains`].
    pub fn find(&self, url: &str, address: IpAddr) -> Finding {
        let listing = self.listing(url);
        let listing = listing.as_deref();
        let published = listing.and_then(|listing| listing.published.as_deref());
        let evidence = |text| Evidence::new(Method::Ranges, text);
        let (Some(listing), Some(published)) = (listing, published) else {
            return Finding::Nothing(evidence(evidence_text::no_copy_text(url, listing)));
        };
        let age = listing.age(self.clock.now_ms());
        let copy = evidence_text::describe_copy(published, age);
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

    /// Returns the state of a list, if it is known.
    pub fn state_of(&self, url: &str) -> Option<RangesState> {
        let listing = self.listing(url)?;
        Some(self.state(url, &listing))
    }

    /// Returns the state of each list, sorted by URL.
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

    /// Returns the reason why the absence of an address proves nothing.
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

    /// Sets the lists loaded from the store, except lists that are older than the current lists.
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

    /// Removes all lists for which `keep` returns `false`.
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
        // Another thread may have inserted the slot first.
        self.slots.load().get(url).map_or(slot, Arc::clone)
    }
}

impl RangeList {
    /// Returns `true` if the current copy contains an address, regardless of the age of the copy.
    ///
    /// Returns `false` if there is no copy. This function does not allocate.
    pub fn contains(&self, address: IpAddr) -> bool {
        let listing = self.slot.load();
        let published = listing
            .as_ref()
            .and_then(|listing| listing.published.as_deref());
        published.is_some_and(|published| published.set.contains(address))
    }
}

/// Returns a listing. If the listing has no copy, the previously known copy is added.
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
