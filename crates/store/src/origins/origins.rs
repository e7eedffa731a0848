//! Shared lookup of addresses in address lists and place databases.

use std::{net::IpAddr, path::PathBuf, sync::Arc, time::Duration};

use tokio::sync::watch;

use crate::fetch::shown_url;
use crate::verify::{PublishedRanges, RangeSet, Ranges, RangesState};
use robot_detection_layer::clock::Clock;
use robot_detection_layer::policy::{Place, Places};

use super::place_file::{PlaceFile, PlaceKind};

/// Address lists and place databases for looking up client addresses; clones share all state.
#[derive(Clone, Debug)]
pub struct Origins {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    lists: Ranges,
    asn: PlaceFile,
    country: PlaceFile,
    wanted: watch::Sender<Arc<WantedOrigins>>,
}

/// Address lists and place databases to keep up to date.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct WantedOrigins {
    /// The address lists to keep up to date.
    pub lists: Vec<ListSpec>,
    /// The path of the database that maps addresses to autonomous systems.
    pub asn_file: Option<PathBuf>,
    /// The path of the database that maps addresses to countries.
    pub country_file: Option<PathBuf>,
}

/// An address list to keep up to date.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ListSpec {
    /// The name of the list, for use in rules and messages.
    pub name: String,
    /// The URL or path of the address list.
    pub url: String,
    /// The interval between downloads of the list.
    pub interval: Duration,
    /// The networks to use until the list has been fetched.
    pub built_in: &'static str,
}

/// The current state of an address list, for display.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ListState {
    /// The name of the list, for use in rules.
    pub name: String,
    /// The URL or path of the list, without a password.
    pub url: String,
    /// The state of the loaded list; `None` if no download has ever been attempted.
    pub ranges: Option<RangesState>,
}

/// The current state of a place database, for display.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PlaceState {
    /// The name of the setting that contains the path.
    pub setting: &'static str,
    /// The path of the database file.
    pub path: PathBuf,
    /// The type of the loaded database according to its metadata; `None` if no database is loaded.
    pub in_use: Option<String>,
    /// The error from the last attempt to read the file, if that attempt failed.
    pub error: Option<String>,
}

impl Origins {
    /// Replaces the set of address lists and place databases to keep up to date.
    pub fn set_wanted(&self, wanted: WantedOrigins) {
        for list in wanted.lists.iter().filter(|list| !list.built_in.is_empty()) {
            let set = RangeSet::parse(list.built_in.split(' ')).unwrap_or_default();
            let published = PublishedRanges::new(set.iter());
            self.inner.lists.put_built_in(&list.url, published);
        }
        let wanted = Arc::new(wanted);
        self.inner.wanted.send_if_modified(|known| {
            let is_new = *known != wanted;
            *known = wanted;
            is_new
        });
    }

    /// Returns the set of address lists and place databases to keep up to date.
    pub fn wanted(&self) -> Arc<WantedOrigins> {
        Arc::clone(&self.inner.wanted.borrow())
    }

    /// Returns the address lists, which are identified by URL.
    pub fn lists(&self) -> &Ranges {
        &self.inner.lists
    }

    /// Returns a function that checks whether a list contains an address.
    pub fn look_up(&self, url: &str) -> Arc<dyn Fn(IpAddr) -> bool + Send + Sync> {
        let list = self.inner.lists.list(url);
        Arc::new(move |address| list.contains(address))
    }

    /// Returns a handle for looking up autonomous systems and countries by address.
    pub fn places(&self) -> Places {
        let inner = Arc::clone(&self.inner);
        Places::new(Arc::new(move |address| Place {
            asn: inner.asn.asn(address),
            country: inner.country.country(address),
        }))
    }

    /// Returns the state of each list, in the order in which the lists are configured.
    pub fn list_states(&self) -> Vec<ListState> {
        let wanted = self.wanted();
        let state = |list: &ListSpec| ListState {
            name: list.name.clone(),
            url: shown_url(&list.url),
            ranges: self.inner.lists.state_of(&list.url),
        };
        wanted.lists.iter().map(state).collect()
    }

    /// Returns the states of the place databases.
    pub fn place_states(&self) -> Vec<PlaceState> {
        let files = self.place_files();
        files.iter().filter_map(|file| file.state()).collect()
    }

    /// Returns a sentence about each address list or place database that has a problem.
    pub fn problems(&self) -> Vec<String> {
        let lists = self.list_states().into_iter().filter_map(|list| {
            let problem = list.problem()?;
            Some(format!("list {}: {problem}", list.name))
        });
        let places = self.place_states().into_iter().filter_map(|place| {
            let problem = place.problem()?;
            Some(format!("{}: {problem}", place.setting))
        });
        lists.chain(places).collect()
    }

    pub(super) fn place_files(&self) -> [&PlaceFile; 2] {
        [&self.inner.asn, &self.inner.country]
    }

    pub(super) fn watch(&self) -> watch::Receiver<Arc<WantedOrigins>> {
        self.inner.wanted.subscribe()
    }
}

impl Default for Origins {
    fn default() -> Self {
        Self {
            inner: Arc::new(Inner {
                lists: Ranges::new(Clock::system()),
                asn: PlaceFile::new(PlaceKind::Asn),
                country: PlaceFile::new(PlaceKind::Country),
                wanted: watch::Sender::default(),
            }),
        }
    }
}

impl WantedOrigins {
    /// Returns the URLs of the lists.
    pub(super) fn urls(&self) -> Vec<String> {
        self.lists.iter().map(|list| list.url.clone()).collect()
    }
}

impl ListState {
    /// Returns `true` if the list was loaded at least once.
    pub fn has_copy(&self) -> bool {
        self.ranges.as_ref().is_some_and(RangesState::has_copy)
    }

    /// Returns the number of networks in the list that is in use.
    pub fn prefixes(&self) -> usize {
        self.ranges.as_ref().map_or(0, |ranges| ranges.prefixes)
    }

    /// Returns the problem with the list, if any.
    pub fn problem(&self) -> Option<String> {
        let Self { url, .. } = self;
        let error = self
            .ranges
            .as_ref()
            .and_then(|state| state.error.as_deref());
        match (error, self.has_copy(), self.prefixes()) {
            (error, false, 0) => {
                let error = error.unwrap_or("not fetched yet");
                Some(format!(
                    "{url} has never been loaded, so the list is empty: {error}"
                ))
            }
            (Some(error), false, prefixes) => Some(format!(
                "{url} has never been loaded; using the {prefixes} built-in networks: {error}"
            )),
            (Some(error), true, prefixes) => Some(format!(
                "{url} cannot be refreshed; keeping the previous {prefixes} networks: {error}"
            )),
            (None, _, _) => None,
        }
    }
}

impl PlaceState {
    /// Returns the problem with the database, if any.
    pub fn problem(&self) -> Option<String> {
        let error = self.error.as_ref()?;
        Some(match &self.in_use {
            None => format!("no database loaded, so rules match nothing: {error}"),
            Some(_) => format!("keeping the previous database: {error}"),
        })
    }
}
