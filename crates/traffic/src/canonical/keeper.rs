//! The task that stores canonical URLs in the database and loads the URLs stored by all instances.

use std::{sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use tokio::{sync::mpsc, time};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};
use url::{Position, Url};

use super::{
    canonicals::Canonicals,
    table::{Table, known_as},
};
use robot_detection_layer::clock::Clock;
use robot_detection_store::store::{LearnedCanonical, MAX_CANONICALS, Store, StoreError};

/// Time for which a stored canonical URL is used; the time is limited, because pages change.
const LASTS_MS: i64 = 30 * 24 * 3_600 * 1_000;

/// Maximum number of canonical URLs waiting to be written.
const MAX_WAITING: usize = 1_000;

/// Interval at which canonical URLs found by other instances and the site robot are loaded.
const EVERY: Duration = Duration::from_secs(30);

/// Pause between two writes; each write is followed by a reload of the canonical URLs.
const PAUSE: Duration = Duration::from_secs(1);

/// Number of rows that a single query loads.
const PIECE: u32 = 5_000;

/// The task that keeps the canonical URLs of one site up to date.
#[derive(Debug)]
pub struct CanonicalKeeper {
    site: String,
    store: Store,
    clock: Clock,
    table: Arc<ArcSwap<Table>>,
    learnt: mpsc::Receiver<LearnedCanonical>,
    stop: CancellationToken,
    is_failing: bool,
}

impl CanonicalKeeper {
    /// Creates the canonical URLs of a site and their keeper, which stops when the last clone of
    /// the canonical URLs is dropped.
    pub fn new(
        site: &str,
        store: Store,
        clock: Clock,
        stop: &CancellationToken,
    ) -> (Canonicals, Self) {
        let (sender, learnt) = mpsc::channel(MAX_WAITING);
        let table: Arc<ArcSwap<Table>> = Arc::default();
        let stop = stop.child_token();
        let keeper = Self {
            site: site.to_owned(),
            store,
            clock,
            table: Arc::clone(&table),
            learnt,
            stop: stop.clone(),
            is_failing: false,
        };
        let canonicals = Canonicals {
            table,
            learnt: sender,
            _following: Arc::new(stop.drop_guard()),
        };
        (canonicals, keeper)
    }

    /// Loads the canonical URLs of a site once, without keeping them up to date.
    ///
    /// # Errors
    ///
    /// Returns an error if the database query fails.
    pub async fn once(site: &str, store: Store, clock: Clock) -> Result<Canonicals, StoreError> {
        let (canonicals, keeper) = Self::new(site, store, clock, &CancellationToken::new());
        keeper.read().await?;
        Ok(canonicals)
    }

    /// Updates the canonical URLs until the keeper is stopped.
    pub async fn run(mut self) {
        let stop = self.stop.clone();
        stop.run_until_cancelled(async {
            loop {
                let read = self.read().await;
                self.note(&read);
                let mut learnt = Vec::new();
                let taken = self.learnt.recv_many(&mut learnt, MAX_WAITING);
                // If there are no new canonical URLs, the canonical URLs from other instances are
                // reloaded.
                if time::timeout(EVERY, taken).await.is_ok() {
                    let written = self.write(&learnt).await;
                    self.note(&written);
                }
                time::sleep(PAUSE).await;
            }
        })
        .await;
    }

    async fn write(&self, learnt: &[LearnedCanonical]) -> Result<(), StoreError> {
        let now_ms = self.clock.now_ms();
        let written = self
            .store
            .canonicals()
            .save(&self.site, learnt, now_ms, now_ms - LASTS_MS);
        written.await
    }

    async fn read(&self) -> Result<(), StoreError> {
        let since_ms = self.clock.now_ms() - LASTS_MS;
        let mut named = self.store.canonicals().list(&self.site, since_ms).await?;
        let mut after = String::new();
        while named.len() < MAX_CANONICALS as usize {
            let piece = self
                .store
                .canonicals()
                .list_from_pages(&self.site, &after, since_ms, PIECE);
            let piece = piece.await?;
            let Some((last, _)) = piece.last() else {
                break;
            };
            after.clone_from(last);
            named.extend(piece.iter().filter_map(|(url, canonical)| {
                same_site(&url.parse().ok()?, &canonical.parse().ok()?)
            }));
        }
        let table = Table::new(named, MAX_CANONICALS as usize);
        debug!(
            site = self.site,
            "loaded the canonical URLs of {} pages",
            table.len()
        );
        self.table.store(Arc::new(table));
        Ok(())
    }

    /// Logs only the first error of a database outage.
    fn note(&mut self, done: &Result<(), StoreError>) {
        if let (Err(error), false) = (done, self.is_failing) {
            warn!("could not read or write canonical URLs: {error}");
        }
        self.is_failing = done.is_err();
    }
}

/// Returns both URLs in the form used as keys if the URLs differ and have the same origin.
pub(super) fn same_site(url: &Url, canonical: &Url) -> Option<(String, String)> {
    let is_same = url.origin() == canonical.origin() && url != canonical;
    let known = |url: &Url| {
        known_as(
            &url[Position::BeforeHost..Position::AfterPort],
            &url[Position::BeforePath..Position::AfterQuery],
        )
    };
    is_same.then(|| (known(url), known(canonical)))
}
