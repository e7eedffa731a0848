//! The job that keeps the lists up to date.

use std::{
    collections::{BTreeSet, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tracing::{debug, info, warn};

use super::{
    PublishedRanges, Ranges, RangesOutcome, RangesReport, RangesState,
    due::{check_loss, is_due},
    kind::ListKind,
    listing::Listing,
};
use crate::fetch::{Conditions, FetchLimits, FetchResponse, Fetcher, shown_url};
use crate::store::{LeaseError, Store, StoreError};

/// Time between two requests for a list.
const INTERVAL: Duration = Duration::from_hours(24);

/// Shortest life of a lease, which ends with its process anyhow.
const SHORTEST_LEASE: Duration = Duration::from_mins(2);

/// Longest reason that is kept, in characters.
const MAX_REASON_CHARS: usize = 500;

/// Job that keeps the lists up to date, and the last good copies in the store.
///
/// Servers are asked only for what changed, four at a time, and each by one
/// instance of a fleet. A list that cannot be had, or is damaged, leaves the
/// last good copy in force. What is logged: new lists, and failures once. While
/// the database is away the lists are kept in memory.
///
/// # Example
///
/// ```no_run
/// use robot_detection_layer::clock::Clock;
/// use robot_detection_store::{fetch::Fetcher, store::Store, verify::{Ranges, RangesRefresher}};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let ranges = Ranges::new(Clock::system());
/// let store = Store::connect("sqlite://robot-detection.db").await?;
/// let fetcher = Fetcher::new(RangesRefresher::fetch_limits())?;
/// let refresher = RangesRefresher::new(store, fetcher, ranges.clone());
/// refresher.load().await?;
/// let urls = ["https://robots.example/ips.json".to_owned()];
/// for report in refresher.refresh(&urls, false).await {
///     println!("{}: {} prefixes", report.url, report.prefixes);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RangesRefresher {
    store: Store,
    fetcher: Fetcher,
    ranges: Ranges,
    interval: Duration,
    kind: ListKind,
}

impl RangesRefresher {
    /// Returns limits for the fetcher: 4 MiB, otherwise the usual ones.
    pub fn fetch_limits() -> FetchLimits {
        ListKind::Operator.fetch_limits()
    }

    /// Returns limits for the fetcher of [lists that somebody has chosen](Self::of_chosen): 16 MiB.
    pub fn fetch_limits_of_chosen() -> FetchLimits {
        ListKind::Chosen.fetch_limits()
    }

    /// Creates a refresher that puts lists in force in `ranges`.
    pub fn new(store: Store, fetcher: Fetcher, ranges: Ranges) -> Self {
        Self {
            store,
            fetcher,
            ranges,
            interval: INTERVAL,
            kind: ListKind::Operator,
        }
    }

    /// Creates one of lists that somebody has chosen, whomever they are about.
    ///
    /// A list may be a file of this machine, which is looked at each time and not kept in
    /// the store. A copy that has lost more than half of its ranges is held back for three
    /// days. See [`PublishedRanges::parse_chosen`] for what is read.
    pub fn of_chosen(store: Store, fetcher: Fetcher, ranges: Ranges) -> Self {
        Self {
            kind: ListKind::Chosen,
            ..Self::new(store, fetcher, ranges)
        }
    }

    /// Sets the time between two requests for a list; 24 hours by default.
    ///
    /// Less than a minute counts as one.
    #[must_use]
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// Loads the stored lists, where they are newer.
    ///
    /// # Errors
    ///
    /// Fails when the database does; the lists in force stay.
    pub async fn load(&self) -> Result<(), StoreError> {
        let mut loaded = Vec::new();
        for state in self.store.ranges().states().await? {
            let Some(url) = self.kind.url_of(&state.url) else {
                continue;
            };
            let known = self.ranges.listing(url);
            if known.is_some_and(|known| known.tried_ms >= state.tried_ms) {
                continue;
            }
            if let Some(stored) = self.store.ranges().load(&state.url).await? {
                loaded.push((url.to_owned(), Listing::from_stored(stored, self.kind)));
            }
        }
        self.ranges.set_stored(loaded);
        Ok(())
    }

    /// Fetches each list that is due; with `force`, all of them.
    ///
    /// A list is due when there is no copy or it is 24 hours old; after failures,
    /// not before a delay from 5 minutes to 6 hours. What other instances
    /// fetched is loaded first. Lists that are not due are left out of the
    /// answer, which is in the order of the URLs. Dropping the future gives up
    /// what is under way.
    pub async fn refresh(&self, urls: &[String], force: bool) -> Vec<RangesReport> {
        if let Err(error) = self.load().await {
            debug!("the address ranges of other instances are not seen: {error}");
        }
        let wanted: BTreeSet<&str> = urls.iter().map(String::as_str).collect();
        let due: Vec<&str> = wanted
            .into_iter()
            .filter(|url| force || self.is_due(url))
            .collect();
        let queue = Mutex::new(due.into_iter());
        let (mut one, mut two, mut three, four) = tokio::join!(
            self.work(&queue, force),
            self.work(&queue, force),
            self.work(&queue, force),
            self.work(&queue, force),
        );
        one.append(&mut two);
        one.append(&mut three);
        one.extend(four);
        one.sort_by(|a, b| a.url.cmp(&b.url));
        one
    }

    /// Returns `true` if a list that somebody has chosen is a file of this machine.
    pub fn is_file(url: &str) -> bool {
        ListKind::Chosen.is_file(url)
    }

    /// Reads those of the lists that are files, if they have changed.
    pub async fn read_files(&self, urls: &[String]) {
        for url in urls.iter().filter(|url| self.kind.is_file(url)) {
            self.ask(url, false).await;
        }
    }

    /// Forgets all lists but these, in memory and in the store; there, of those that somebody has
    /// chosen, only what nobody has asked for in 37 days.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn keep_only(&self, urls: &[String]) -> Result<(), StoreError> {
        let kept: HashSet<&str> = urls.iter().map(String::as_str).collect();
        self.ranges.retain(|url| kept.contains(url));
        for state in self.store.ranges().states().await? {
            let url = self.kind.url_of(&state.url);
            let unasked_ms = self.now_ms().saturating_sub(state.tried_ms.unwrap_or(0));
            let unasked = Duration::from_millis(u64::try_from(unasked_ms).unwrap_or(0));
            if url.is_some_and(|url| !kept.contains(url)) && self.kind.is_forgotten(unasked) {
                self.store.ranges().remove(&state.url).await?;
            }
        }
        Ok(())
    }

    /// Returns the lists that are kept up to date.
    pub fn ranges(&self) -> &Ranges {
        &self.ranges
    }

    /// Returns where each list stands, by URL.
    pub fn states(&self) -> Vec<RangesState> {
        self.ranges.states()
    }

    async fn work(
        &self,
        queue: &Mutex<impl Iterator<Item = &str>>,
        force: bool,
    ) -> Vec<RangesReport> {
        // Locked for `next` alone, never across an await.
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        let mut reports = Vec::new();
        while let Some(url) = next() {
            let outcome = self.in_turn(url, force).await;
            reports.push(self.report(url, outcome));
        }
        reports
    }

    /// Refreshes a list unless somebody else does.
    async fn in_turn(&self, url: &str, force: bool) -> RangesOutcome {
        if self.kind.is_file(url) {
            // Each instance has files of its own.
            return self.ask(url, force).await;
        }
        let download = self.fetcher.limits().timeout;
        let name = format!("ranges:{}", self.kind.stored_name(url));
        let life = SHORTEST_LEASE + download;
        let lease = match self.store.leases().acquire(&name, life).await {
            Ok(lease) => Some(lease),
            Err(LeaseError::Held(_)) => return RangesOutcome::Busy,
            // Without a database everybody asks for himself.
            Err(_) => None,
        };
        let outcome = if self.was_done_meanwhile(url, force).await {
            RangesOutcome::Unchanged
        } else {
            self.ask(url, force).await
        };
        if let Some(lease) = lease {
            lease.release().await;
        }
        outcome
    }

    async fn was_done_meanwhile(&self, url: &str, force: bool) -> bool {
        if force {
            return false;
        }
        // Another instance may have had the lease, and given it back, since the lists were loaded.
        let name = self.kind.stored_name(url);
        if let Ok(Some(stored)) = self.store.ranges().load(&name).await {
            let listing = Listing::from_stored(stored, self.kind);
            self.ranges.set_stored(vec![(url.to_owned(), listing)]);
        }
        !self.is_due(url)
    }

    /// Fetches the list, and keeps the outcome.
    async fn ask(&self, url: &str, force: bool) -> RangesOutcome {
        let before = self.ranges.listing(url).unwrap_or_default();
        let outcome = match self.answer(url, &before, force).await {
            Ok(None) => {
                let listing = Listing::clone(&before).confirmed(self.now_ms());
                self.keep(url, listing).await;
                RangesOutcome::Unchanged
            }
            Ok(Some((published, conditions))) => {
                let is_same = before.published.as_deref() == Some(&published);
                let listing = Listing::fetched(published, conditions, self.now_ms());
                self.keep(url, listing).await;
                if is_same {
                    RangesOutcome::Unchanged
                } else {
                    RangesOutcome::New
                }
            }
            Err(reason) => {
                let reason = bounded(&reason);
                let listing = Listing::clone(&before).failed(reason.clone(), self.now_ms());
                self.keep(url, listing).await;
                RangesOutcome::Failed(reason)
            }
        };
        self.tell(url, &before, &outcome);
        outcome
    }

    /// Returns the list, or nothing where it is the same as before.
    async fn answer(
        &self,
        url: &str,
        before: &Listing,
        force: bool,
    ) -> Result<Option<(PublishedRanges, Conditions)>, String> {
        let conditions = if before.has_validators() && !force {
            before.conditions.clone()
        } else {
            Conditions::default()
        };
        let origin = self.kind.origin(url)?;
        let fetched = origin.read_if_changed(&self.fetcher, &conditions).await?;
        match fetched {
            FetchResponse::NotModified => Ok(None),
            FetchResponse::Body {
                bytes,
                etag,
                last_modified,
                ..
            } => {
                let published = self.kind.parse(url, bytes).await?;
                if self.kind == ListKind::Chosen && !force {
                    check_loss(before, &published, self.now_ms())?;
                }
                let conditions = Conditions {
                    etag,
                    last_modified,
                };
                Ok(Some((published, conditions)))
            }
        }
    }

    /// Sets the listing, and saves it.
    async fn keep(&self, url: &str, mut listing: Listing) {
        if self.kind.is_file(url) {
            self.ranges.set(url, listing);
            return;
        }
        let stored = listing.to_stored(&self.kind.stored_name(url));
        // In force before it is saved: without a database it serves all the same.
        self.ranges.set(url, listing.clone());
        match self.store.ranges().save(&stored).await {
            Ok(()) if listing.is_saved => {}
            Ok(()) => {
                listing.is_saved = true;
                self.ranges.set(url, listing);
            }
            Err(error) => {
                let url = shown_url(url);
                warn!(%url, "the address ranges of {url} are kept in memory only: {error}");
            }
        }
    }

    fn tell(&self, url: &str, before: &Listing, outcome: &RangesOutcome) {
        let prefixes = self.ranges.listing(url).map_or(0, |now| now.prefixes());
        let url = shown_url(url);
        match outcome {
            RangesOutcome::New => {
                info!(%url, prefixes, "{url} lists {prefixes} address ranges");
            }
            RangesOutcome::Unchanged | RangesOutcome::Busy => {
                debug!(%url, "the address ranges of {url} have not changed");
            }
            RangesOutcome::Failed(reason) if before.error.as_ref() == Some(reason) => {
                debug!(%url, "the address ranges of {url} were not refreshed, as before: {reason}");
            }
            RangesOutcome::Failed(reason) => {
                warn!(%url, prefixes, "the address ranges of {url} were not refreshed, {prefixes} of before stay: {reason}");
            }
        }
    }

    fn report(&self, url: &str, outcome: RangesOutcome) -> RangesReport {
        let listing = self.ranges.listing(url).unwrap_or_default();
        RangesReport {
            url: shown_url(url),
            outcome,
            prefixes: listing.prefixes(),
            age: listing
                .published
                .as_ref()
                .and_then(|_| listing.age(self.now_ms())),
        }
    }

    fn is_due(&self, url: &str) -> bool {
        if self.kind.is_file(url) {
            return true;
        }
        let listing: Arc<Listing> = self.ranges.listing(url).unwrap_or_default();
        is_due(&listing, self.interval, self.now_ms())
    }

    fn now_ms(&self) -> i64 {
        self.ranges.clock().now_ms()
    }
}

fn bounded(reason: &str) -> String {
    let clean = reason.chars().map(|c| if c.is_control() { ' ' } else { c });
    clean.take(MAX_REASON_CHARS).collect()
}
