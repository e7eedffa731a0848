//! Background task that keeps the address lists up to date.

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

/// The default interval between two downloads of a list.
const INTERVAL: Duration = Duration::from_hours(24);

/// The minimum duration of a lease. A lease also ends when its process ends.
const SHORTEST_LEASE: Duration = Duration::from_mins(2);

/// The maximum length of a stored failure reason, in characters.
const MAX_REASON_CHARS: usize = 500;

/// A background task that keeps address lists up to date and stores the last good copies.
///
/// Lists are fetched with conditional requests, up to four at a time, and each by one instance
/// only. If a list is unavailable or damaged, the last good copy remains in use. Each new list is
/// logged, and each ongoing failure is logged once. During a database outage, lists are kept only
/// in memory.
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
    /// Returns the fetch limits for operators' lists: 4 MiB, and the defaults for everything else.
    pub fn fetch_limits() -> FetchLimits {
        ListKind::Operator.fetch_limits()
    }

    /// Returns the fetch limits for [chosen lists](Self::for_chosen_lists): 16 MiB.
    pub fn chosen_fetch_limits() -> FetchLimits {
        ListKind::Chosen.fetch_limits()
    }

    /// Creates a refresher that updates the lists in `ranges`.
    pub fn new(store: Store, fetcher: Fetcher, ranges: Ranges) -> Self {
        Self {
            store,
            fetcher,
            ranges,
            interval: INTERVAL,
            kind: ListKind::Operator,
        }
    }

    /// Creates a refresher for lists chosen by an administrator.
    ///
    /// A list may be a local file, which is checked each time and not stored. A copy with fewer
    /// than half of the previous number of ranges is held for three days. See
    /// [`PublishedRanges::parse_chosen`] for the format.
    pub fn for_chosen_lists(store: Store, fetcher: Fetcher, ranges: Ranges) -> Self {
        Self {
            kind: ListKind::Chosen,
            ..Self::new(store, fetcher, ranges)
        }
    }

    /// Sets the interval between two downloads of a list; 24 hours by default.
    ///
    /// The minimum interval is one minute.
    #[must_use]
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// Loads the stored lists, except lists that are older than the current lists.
    ///
    /// # Errors
    ///
    /// Returns an error if the database query fails; the current lists remain in use.
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

    /// Fetches each list that is due or, with `force`, all lists.
    ///
    /// A list is due if there is no copy or if the copy is 24 hours old; after failures, a delay of
    /// 5 minutes to 6 hours applies. Lists fetched by other instances are loaded first. The result
    /// is sorted by URL and does not contain lists that are not due. Dropping the future cancels
    /// running downloads.
    pub async fn refresh(&self, urls: &[String], force: bool) -> Vec<RangesReport> {
        if let Err(error) = self.load().await {
            debug!("cannot load the address ranges fetched by other instances: {error}");
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

    /// Returns `true` if the URL of a chosen list refers to a local file.
    pub fn is_file(url: &str) -> bool {
        ListKind::Chosen.is_file(url)
    }

    /// Reads the lists that are local files and have changed.
    pub async fn read_files(&self, urls: &[String]) {
        for url in urls.iter().filter(|url| self.kind.is_file(url)) {
            self.ask(url, false).await;
        }
    }

    /// Removes all lists except those in `urls` from memory and the store. Chosen lists are removed
    /// from the store only if they have not been requested for 37 days.
    ///
    /// # Errors
    ///
    /// Returns an error if the database query fails.
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

    /// Returns the lists that this refresher keeps up to date.
    pub fn ranges(&self) -> &Ranges {
        &self.ranges
    }

    /// Returns the state of each list, sorted by URL.
    pub fn states(&self) -> Vec<RangesState> {
        self.ranges.states()
    }

    async fn work(
        &self,
        queue: &Mutex<impl Iterator<Item = &str>>,
        force: bool,
    ) -> Vec<RangesReport> {
        // Locked only for `next`, never across an await.
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        let mut reports = Vec::new();
        while let Some(url) = next() {
            let outcome = self.refresh_exclusively(url, force).await;
            reports.push(self.report(url, outcome));
        }
        reports
    }

    /// Refreshes a list unless another instance is already doing so.
    async fn refresh_exclusively(&self, url: &str, force: bool) -> RangesOutcome {
        if self.kind.is_file(url) {
            // Each instance has its own files.
            return self.ask(url, force).await;
        }
        let download = self.fetcher.limits().timeout;
        let name = format!("ranges:{}", self.kind.stored_name(url));
        let life = SHORTEST_LEASE + download;
        let lease = match self.store.leases().acquire(&name, life).await {
            Ok(lease) => Some(lease),
            Err(LeaseError::Held(_)) => return RangesOutcome::Busy,
            // Without a database, each instance fetches the list itself.
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
        // Another instance may have fetched the list since the lists were loaded.
        let name = self.kind.stored_name(url);
        if let Ok(Some(stored)) = self.store.ranges().load(&name).await {
            let listing = Listing::from_stored(stored, self.kind);
            self.ranges.set_stored(vec![(url.to_owned(), listing)]);
        }
        !self.is_due(url)
    }

    /// Fetches the list and stores the result.
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

    /// Returns the list, or `None` if it has not changed.
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

    /// Sets the listing in memory and saves it to the store.
    async fn keep(&self, url: &str, mut listing: Listing) {
        if self.kind.is_file(url) {
            self.ranges.set(url, listing);
            return;
        }
        let stored = listing.to_stored(&self.kind.stored_name(url));
        // Used before it is saved, so that it also works without a database.
        self.ranges.set(url, listing.clone());
        match self.store.ranges().save(&stored).await {
            Ok(()) if listing.is_saved => {}
            Ok(()) => {
                listing.is_saved = true;
                self.ranges.set(url, listing);
            }
            Err(error) => {
                let url = shown_url(url);
                warn!(%url, "could not store the address ranges from {url}; keeping them in \
                             memory: {error}");
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
                debug!(%url, "the address ranges from {url} are unchanged");
            }
            RangesOutcome::Failed(reason) if before.error.as_ref() == Some(reason) => {
                debug!(%url, "failed to refresh the address ranges from {url} again: {reason}");
            }
            RangesOutcome::Failed(reason) => {
                warn!(%url, prefixes, "failed to refresh the address ranges from {url}; keeping \
                                       the previous {prefixes}: {reason}");
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
