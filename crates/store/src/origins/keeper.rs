//! Background task that keeps address lists and place databases up to date.

use std::{sync::Arc, time::Duration};

use tokio::{sync::watch, time};
use tracing::{debug, warn};

use crate::fetch::{FetchError, Fetcher};
use crate::store::Store;
use crate::verify::RangesRefresher;

use super::{ListSpec, Origins, WantedOrigins, place_file};

/// The interval at which the task checks which lists are due.
const LISTS_TICK: Duration = Duration::from_mins(5);
/// The interval at which the task checks whether files have changed.
const FILES_TICK: Duration = Duration::from_secs(10);

/// A background task that keeps the lists and files of [`Origins`] up to date.
#[derive(Clone, Debug)]
pub struct Keeper {
    origins: Origins,
    refresher: RangesRefresher,
    /// The fetcher for place databases, which are larger than lists.
    files: Fetcher,
}

impl Keeper {
    /// Creates a keeper that stores copies of fetched lists in the database.
    ///
    /// # Errors
    ///
    /// Returns an error if a download limit is invalid.
    pub fn new(origins: &Origins, store: &Store) -> Result<Self, FetchError> {
        let fetcher = Fetcher::new(RangesRefresher::chosen_fetch_limits())?;
        let lists = origins.lists().clone();
        Ok(Self {
            origins: origins.clone(),
            refresher: RangesRefresher::for_chosen_lists(store.clone(), fetcher, lists),
            files: Fetcher::new(place_file::limits())?,
        })
    }

    /// Loads the address lists from the database and reads the place databases, without fetching
    /// anything.
    pub async fn prepare(&self) {
        let wanted = self.origins.wanted();
        if wanted.lists.iter().any(|list| !list.is_file())
            && let Err(error) = self.refresher.load().await
        {
            warn!("cannot load the stored address lists: {error}");
        }
        self.read_files(&wanted).await;
    }

    /// Fetches each address list that has no entries yet.
    pub async fn fetch_missing(&self) {
        let states = self.origins.list_states();
        let wanted = self.origins.wanted();
        let lists = wanted.lists.iter().zip(&states);
        let missing = lists.filter(|(list, state)| !list.is_file() && state.prefixes() == 0);
        let urls: Vec<String> = missing.map(|(list, _)| list.url.clone()).collect();
        if !urls.is_empty() {
            self.refresher.refresh(&urls, false).await;
        }
    }

    /// Keeps the address lists and place databases up to date. This function never returns.
    pub async fn run(self) {
        tokio::join!(Box::pin(self.keep_lists()), Box::pin(self.keep_files()));
    }

    async fn keep_lists(&self) {
        let mut wanted = self.origins.watch();
        loop {
            let now = Arc::clone(&wanted.borrow_and_update());
            for list in now.lists.iter().filter(|list| !list.is_file()) {
                let refresher = self.refresher.clone().interval(list.interval);
                refresher
                    .refresh(std::slice::from_ref(&list.url), false)
                    .await;
            }
            if let Err(error) = self.refresher.keep_only(&now.urls()).await {
                debug!("could not delete unused address lists from the database: {error}");
            }
            wait(&mut wanted, LISTS_TICK).await;
        }
    }

    async fn keep_files(&self) {
        let mut wanted = self.origins.watch();
        loop {
            let now = Arc::clone(&wanted.borrow_and_update());
            self.read_files(&now).await;
            wait(&mut wanted, FILES_TICK).await;
        }
    }

    async fn read_files(&self, wanted: &WantedOrigins) {
        self.refresher.read_files(&wanted.urls()).await;
        let paths = [&wanted.asn_file, &wanted.country_file];
        for (file, path) in self.origins.place_files().into_iter().zip(paths) {
            file.follow(path.as_deref(), &self.files).await;
        }
    }
}

impl ListSpec {
    fn is_file(&self) -> bool {
        RangesRefresher::is_file(&self.url)
    }
}

/// Waits for the given time, or until the configuration of lists and files changes.
async fn wait(wanted: &mut watch::Receiver<Arc<WantedOrigins>>, tick: Duration) {
    tokio::select! {
        () = time::sleep(tick) => {}
        // The sender lives as long as the origins, so it is not dropped before this task ends.
        _ = wanted.changed() => {}
    }
}
