//! One file of places: read when it changes, asked for each request that a rule wants it for.

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use arc_swap::ArcSwapOption;
use tokio::task::spawn_blocking;
use tracing::{info, warn};

use crate::fetch::{Conditions, FetchLimits, FetchResponse, Fetcher, Origin};

use super::{PlaceState, place_reader::PlaceReader};

/// Largest file.
const MAX_BYTES: u64 = 1024 * 1024 * 1024;

/// What a file tells of addresses.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum PlaceKind {
    /// Autonomous systems.
    Asn,
    /// Countries.
    Country,
}

/// File of places, as far as it could be read.
#[derive(Debug)]
pub(super) struct PlaceFile {
    kind: PlaceKind,
    in_use: ArcSwapOption<PlaceReader>,
    known: Mutex<Known>,
}

/// What is known of the file.
#[derive(Clone, Debug, Default)]
struct Known {
    path: Option<PathBuf>,
    /// Of the content that was read last, good or not.
    conditions: Conditions,
    error: Option<String>,
}

/// Returns the limits of reading a file.
pub(super) fn limits() -> FetchLimits {
    FetchLimits {
        max_body_bytes: MAX_BYTES,
        timeout: Duration::from_mins(2),
        ..FetchLimits::default()
    }
}

impl PlaceKind {
    /// Returns the setting that names the file.
    pub(super) fn setting(self) -> &'static str {
        match self {
            Self::Asn => "places.asn_file",
            Self::Country => "places.country_file",
        }
    }
}

impl PlaceFile {
    pub(super) fn new(kind: PlaceKind) -> Self {
        Self {
            kind,
            in_use: ArcSwapOption::empty(),
            known: Mutex::default(),
        }
    }

    /// Returns the number of the autonomous system of an address.
    pub(super) fn asn(&self, address: IpAddr) -> Option<u32> {
        self.in_use.load().as_ref()?.asn(address)
    }

    /// Returns the country of an address.
    pub(super) fn country(&self, address: IpAddr) -> Option<[u8; 2]> {
        self.in_use.load().as_ref()?.country(address)
    }

    /// Returns where it stands, if there is to be one.
    pub(super) fn state(&self) -> Option<PlaceState> {
        let Known { path, error, .. } = self.known();
        let in_use = self.in_use.load();
        Some(PlaceState {
            setting: self.kind.setting(),
            path: path?,
            in_use: in_use.as_ref().map(|reader| reader.shown()),
            error,
        })
    }

    /// Reads the file if it is another one or has changed; what is damaged leaves that of before in use.
    pub(super) async fn follow(&self, path: Option<&Path>, fetcher: &Fetcher) {
        let mut known = self.known();
        if known.path.as_deref() != path {
            known = Known {
                path: path.map(Path::to_path_buf),
                ..Known::default()
            };
        }
        let Some(path) = path else {
            self.in_use.store(None);
            self.set_known(known);
            return;
        };
        let origin = Origin::File(path.to_path_buf());
        match origin.read_if_changed(fetcher, &known.conditions).await {
            Ok(FetchResponse::NotModified) => {}
            Ok(FetchResponse::Body {
                bytes,
                last_modified,
                ..
            }) => {
                known.conditions.last_modified = last_modified;
                let error = self.open(path, bytes).await.err();
                known.error = self.tell(known.error.as_ref(), error);
            }
            Err(error) => {
                known.conditions = Conditions::default();
                known.error = self.tell(known.error.as_ref(), Some(error));
            }
        }
        self.set_known(known);
    }

    async fn open(&self, path: &Path, bytes: Vec<u8>) -> Result<(), String> {
        let kind = self.kind;
        // A file that is damaged may lead its reader astray: then the task ends, and nothing else.
        let opening = spawn_blocking(move || PlaceReader::open(kind, bytes)).await;
        let opened = opening.unwrap_or_else(|_| Err("it is damaged".to_owned()));
        let reader = opened.map_err(|reason| format!("the file {}: {reason}", path.display()))?;
        let (setting, what) = (self.kind.setting(), reader.shown());
        info!("{setting} is {what}");
        self.in_use.store(Some(reader.into()));
        Ok(())
    }

    /// Logs an error that is new; returns it.
    fn tell(&self, before: Option<&String>, error: Option<String>) -> Option<String> {
        if let Some(error) = error.as_ref().filter(|error| before != Some(*error)) {
            let setting = self.kind.setting();
            let stays = match &*self.in_use.load() {
                Some(_) => "the one of before stays",
                None => "no rule finds anybody by it",
            };
            warn!("{setting} cannot be read, {stays}: {error}");
        }
        error
    }

    fn known(&self) -> Known {
        let known = self.known.lock();
        known.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_known(&self, known: Known) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }
}
