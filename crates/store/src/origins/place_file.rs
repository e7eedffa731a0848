//! Place database that is reloaded whenever its file changes.

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use tokio::task::spawn_blocking;
use tracing::{info, warn};

use crate::fetch::{Conditions, FetchLimits, FetchResponse, Fetcher, Origin};

use super::{PlaceState, place_reader::PlaceReader};

/// The maximum size of a place database in bytes.
const MAX_BYTES: u64 = 1024 * 1024 * 1024;

/// The kind of a place database.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum PlaceKind {
    /// A database that maps addresses to autonomous systems.
    Asn,
    /// A database that maps addresses to countries.
    Country,
}

/// A place database and the state of its file.
#[derive(Debug)]
pub(super) struct PlaceFile {
    kind: PlaceKind,
    in_use: ArcSwapOption<PlaceReader>,
    known: Mutex<FileState>,
}

/// The state of a place database's file.
#[derive(Clone, Debug, Default)]
struct FileState {
    path: Option<PathBuf>,
    /// The validators of the content that was last read, even if that content was unusable.
    conditions: Conditions,
    error: Option<String>,
}

/// Returns the limits that apply when a place database is read.
pub(super) fn limits() -> FetchLimits {
    FetchLimits {
        max_body_bytes: MAX_BYTES,
        timeout: Duration::from_mins(2),
        ..FetchLimits::default()
    }
}

impl PlaceKind {
    /// Returns the name of the setting that contains the path of the file.
    pub(super) fn setting(self) -> &'static str {
        match self {
            Self::Asn => "geoip.asn_file",
            Self::Country => "geoip.country_file",
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

    /// Returns the autonomous system number of an address.
    pub(super) fn asn(&self, address: IpAddr) -> Option<u32> {
        self.in_use.load().as_ref()?.asn(address)
    }

    /// Returns the country of an address.
    pub(super) fn country(&self, address: IpAddr) -> Option<[u8; 2]> {
        self.in_use.load().as_ref()?.country(address)
    }

    /// Returns the state of the database, or `None` if no database is configured.
    pub(super) fn state(&self) -> Option<PlaceState> {
        let FileState { path, error, .. } = self.known();
        let in_use = self.in_use.load();
        Some(PlaceState {
            setting: self.kind.setting(),
            path: path?,
            in_use: in_use.as_ref().map(|reader| reader.shown()),
            error,
        })
    }

    /// Reads the place database if its file is new or has changed. If the file is damaged, the
    /// previous database remains in use.
    pub(super) async fn follow(&self, path: Option<&Path>, fetcher: &Fetcher) {
        let mut known = self.known();
        if known.path.as_deref() != path {
            known = FileState {
                path: path.map(Path::to_path_buf),
                ..FileState::default()
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
        // A damaged file may crash the reader: this only ends the blocking task.
        let opening = spawn_blocking(move || PlaceReader::open(kind, bytes)).await;
        let opened = opening.unwrap_or_else(|_| Err("the file is damaged".to_owned()));
        let reader = opened.map_err(|reason| format!("{}: {reason}", path.display()))?;
        let (setting, what) = (self.kind.setting(), reader.shown());
        info!("loaded {setting}: {what}");
        self.in_use.store(Some(reader.into()));
        Ok(())
    }

    /// Logs an error if it differs from the previous error, and returns the error.
    fn tell(&self, before: Option<&String>, error: Option<String>) -> Option<String> {
        if let Some(error) = error.as_ref().filter(|error| before != Some(*error)) {
            let setting = self.kind.setting();
            let stays = match &*self.in_use.load() {
                Some(_) => "keeping the previous database",
                None => "rules match nothing",
            };
            warn!("cannot read {setting}; {stays}: {error}");
        }
        error
    }

    fn known(&self) -> FileState {
        self.known.lock().clone()
    }

    fn set_known(&self, known: FileState) {
        *self.known.lock() = known;
    }
}
