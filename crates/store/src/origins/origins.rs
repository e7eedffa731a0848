//! What is looked up, shared by all who ask.

use std::{net::IpAddr, path::PathBuf, sync::Arc, time::Duration};

use tokio::sync::watch;

use crate::fetch::shown_url;
use crate::verify::{PublishedRanges, RangeSet, Ranges, RangesState};
use robot_detection_layer::clock::Clock;
use robot_detection_layer::policy::{Place, Places};

use super::place_file::{PlaceFile, PlaceKind};

/// Lists and files in which the addresses of requests are looked up; clones share them.
#[derive(Clone, Debug)]
pub struct Origins {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    lists: Ranges,
    asn: PlaceFile,
    country: PlaceFile,
    wanted: watch::Sender<Arc<Wanted>>,
}

/// What is to be kept up to date.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Wanted {
    /// Lists of addresses.
    pub lists: Vec<ListSpec>,
    /// File that tells the autonomous systems of addresses.
    pub asn_file: Option<PathBuf>,
    /// File that tells the countries of addresses.
    pub country_file: Option<PathBuf>,
}

/// List of addresses that is kept up to date.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ListSpec {
    /// Name by which rules and people call it.
    pub name: String,
    /// URL or path.
    pub url: String,
    /// Time between two requests for it.
    pub interval: Duration,
    /// Networks that count until it is fetched.
    pub built_in: &'static [&'static str],
}

/// Where a list stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ListState {
    /// Name by which rules call it.
    pub name: String,
    /// URL or path, without a password.
    pub url: String,
    /// What is known of it, if it was asked for.
    pub ranges: Option<RangesState>,
}

/// Where a file of places stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PlaceState {
    /// Name of the setting that names the file.
    pub setting: &'static str,
    /// The file.
    pub path: PathBuf,
    /// Kind of the database in use, as it says itself; `None` where there is none.
    pub in_use: Option<String>,
    /// Why the file could not be read the last time.
    pub error: Option<String>,
}

impl Origins {
    /// Has other lists and files kept up to date from now on.
    pub fn want(&self, wanted: Wanted) {
        for list in wanted.lists.iter().filter(|list| !list.built_in.is_empty()) {
            let set = RangeSet::parse(list.built_in.iter().copied()).unwrap_or_default();
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

    /// Returns what is wanted.
    pub fn wanted(&self) -> Arc<Wanted> {
        Arc::clone(&self.inner.wanted.borrow())
    }

    /// Returns the lists, by URL.
    pub fn lists(&self) -> &Ranges {
        &self.inner.lists
    }

    /// Returns what looks addresses up in a list; one that was never read has none.
    pub fn look_up(&self, url: &str) -> Arc<dyn Fn(IpAddr) -> bool + Send + Sync> {
        let list = self.inner.lists.list(url);
        Arc::new(move |address| list.contains(address))
    }

    /// Returns what finds autonomous systems and countries.
    pub fn places(&self) -> Places {
        let inner = Arc::clone(&self.inner);
        Places::new(Arc::new(move |address| Place {
            asn: inner.asn.asn(address),
            country: inner.country.country(address),
        }))
    }

    /// Returns where each list stands, in the order of the settings.
    pub fn list_states(&self) -> Vec<ListState> {
        let wanted = self.wanted();
        let state = |list: &ListSpec| ListState {
            name: list.name.clone(),
            url: shown_url(&list.url),
            ranges: self.inner.lists.state_of(&list.url),
        };
        wanted.lists.iter().map(state).collect()
    }

    /// Returns where the files of places stand.
    pub fn place_states(&self) -> Vec<PlaceState> {
        let files = self.place_files();
        files.iter().filter_map(|file| file.state()).collect()
    }

    /// Returns a sentence for everything that is not as somebody wanted it.
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

    pub(super) fn watch(&self) -> watch::Receiver<Arc<Wanted>> {
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

impl Wanted {
    /// Returns the URLs of the lists.
    pub(super) fn urls(&self) -> Vec<String> {
        self.lists.iter().map(|list| list.url.clone()).collect()
    }
}

impl ListState {
    /// Returns `true` if the list was read at least once.
    pub fn has_copy(&self) -> bool {
        self.ranges.as_ref().is_some_and(RangesState::has_copy)
    }

    /// Returns the number of its networks that are in use.
    pub fn prefixes(&self) -> usize {
        self.ranges.as_ref().map_or(0, |ranges| ranges.prefixes)
    }

    /// Returns what is wrong with it, if anything is.
    pub fn problem(&self) -> Option<String> {
        let Self { url, .. } = self;
        let error = self
            .ranges
            .as_ref()
            .and_then(|state| state.error.as_deref());
        match (error, self.has_copy(), self.prefixes()) {
            (error, false, 0) => {
                let error = error.unwrap_or("it was not fetched yet");
                Some(format!(
                    "{url} was never read, so that nobody is in it: {error}"
                ))
            }
            (Some(error), false, prefixes) => Some(format!(
                "{url} was never read, its {prefixes} networks are those that come with the program: {error}"
            )),
            (Some(error), true, prefixes) => Some(format!(
                "{url} cannot be refreshed, its {prefixes} networks of before stay: {error}"
            )),
            (None, _, _) => None,
        }
    }
}

impl PlaceState {
    /// Returns what is wrong with it, if anything is.
    pub fn problem(&self) -> Option<String> {
        let error = self.error.as_ref()?;
        Some(match &self.in_use {
            None => format!("no rule finds anybody by it: {error}"),
            Some(_) => format!("the one of before stays: {error}"),
        })
    }
}
