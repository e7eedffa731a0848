//! Counter cells, by visitor and decision.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use robot_detection_layer::detect::{Kind, UNLISTED, Verdict};
use robot_detection_layer::layer::Outcome;
use robot_detection_layer::registry::{FixedMap, KeyHash};
use robot_detection_store::store::TrafficKey;

use super::{
    cell::{CLASSES, Cell, Decision},
    paths::RecordedPath,
};

/// Maximum number of cells with names, which take about three hundred bytes each; enough for five
/// thousand robots on several sites, with verdicts and rules.
pub(super) const MAX_CELLS: usize = 32_768;

/// Maximum number of cells without names, which are used once [`MAX_CELLS`] is reached.
const MAX_OTHERS: usize = 4_096;

/// Maximum number of unlisted robots that are counted by the host name in their signatures. The
/// limit is needed because the owner of a domain can sign requests with any number of host names.
const MAX_SIGNERS: usize = 200;

/// The bit in a cell's place that marks a cell without names.
const OTHERS: u32 = 1 << 30;

/// The name under which sites and robots beyond the maximum numbers are counted.
pub(super) const OTHER: &str = "other";

/// The word for a missing verdict.
pub(super) const NO_VERDICT: &str = "none";

/// The cause for human requests that pass, which have no outcome.
pub(super) const NOT_A_ROBOT: &str = "not-a-robot";

/// The counters for all visitors except people.
#[derive(Debug)]
pub(super) struct Table {
    cells: FixedMap<CellKey, Cell>,
    /// Cells without names, for requests that arrive after [`MAX_CELLS`] is reached.
    others: FixedMap<CellKey, Cell>,
    signers: FixedMap<Box<str>, ()>,
    /// Number of cells created so far, by which cells are ordered.
    made: AtomicUsize,
    /// A lock that is held while counters are read and reset, so that no reader sees an
    /// intermediate state.
    taking: Mutex<()>,
}

/// The key of a cell, which consists of the visitor and the decision.
#[derive(Debug)]
pub(super) struct CellKey {
    pub(super) site: Arc<str>,
    pub(super) site_number: u64,
    kind: Kind,
    verdict: Option<Verdict>,
    decision: Decision,
    pub(super) robot: Arc<str>,
    cause: Box<str>,
    made: usize,
}

/// The key with which a cell is looked up.
#[derive(Clone, Copy)]
pub(super) struct CellLookup<'a> {
    /// Key of the cell for people at the same site.
    pub(super) site: &'a CellKey,
    pub(super) kind: Kind,
    pub(super) verdict: Option<Verdict>,
    pub(super) decision: Decision,
    pub(super) robot: &'a str,
    pub(super) cause: &'a str,
}

/// The number of requests of one kind since startup, as shown in `/metrics`.
#[derive(Clone, Debug)]
pub struct RequestCount {
    /// Name of the site.
    pub site: Arc<str>,
    /// Kind of visitor.
    pub kind: Kind,
    /// Verdict on the robot's claim.
    pub verdict: Option<Verdict>,
    /// Name of the decision.
    pub decision: &'static str,
    /// ID of the robot; empty for people.
    pub robot: Box<str>,
    /// Number of requests by status class; index 0 counts all other statuses.
    pub by_status: [u64; CLASSES],
    /// Position of the cell in the order in which cells were created.
    pub(super) made: usize,
}

impl RequestCount {
    /// Returns the number of requests, regardless of status.
    pub fn requests(&self) -> u64 {
        self.by_status.iter().sum()
    }
}

impl Default for Table {
    fn default() -> Self {
        Self {
            cells: FixedMap::new(MAX_CELLS),
            others: FixedMap::new(MAX_OTHERS),
            signers: FixedMap::new(MAX_SIGNERS),
            made: AtomicUsize::new(0),
            taking: Mutex::default(),
        }
    }
}

impl Table {
    /// Returns the name under which a visitor is counted; empty for people.
    pub(super) fn visitor_name<'o>(&self, outcome: &'o Outcome) -> &'o str {
        let name = outcome.robot().unwrap_or_default();
        if outcome.signer().is_none() {
            return name;
        }
        let hash = KeyHash::default().text(name);
        let is_known = self
            .signers
            .get_or_insert(hash, |known| **known == *name, || name.into());
        is_known.map_or(UNLISTED, |()| name)
    }

    /// Returns the cell for a request and the cell's place, or `None` if all cells are in use.
    pub(super) fn find_or_insert(&self, asked: CellLookup<'_>) -> Option<(u32, &Cell)> {
        if let Some((place, cell)) = self.find(&self.cells, asked) {
            return Some((u32::try_from(place).ok()?, cell));
        }
        let robot = if asked.robot.is_empty() { "" } else { OTHER };
        let nameless = CellLookup {
            robot,
            cause: OTHER,
            ..asked
        };
        let (place, cell) = self.find(&self.others, nameless)?;
        Some((u32::try_from(place).ok()? | OTHERS, cell))
    }

    /// Returns the key of the cell at the given place.
    pub(super) fn at(&self, place: u32) -> Option<&CellKey> {
        let number = (place & !OTHERS) as usize;
        let is_other = place & OTHERS != 0;
        let table = if is_other { &self.others } else { &self.cells };
        table.at(number)
    }

    fn find<'t>(
        &self,
        table: &'t FixedMap<CellKey, Cell>,
        asked: CellLookup<'_>,
    ) -> Option<(usize, &'t Cell)> {
        table.get_or_insert_indexed(
            asked.hash(),
            |key| asked.is(key),
            || asked.key(self.made.fetch_add(1, Relaxed)),
        )
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&CellKey, &Cell)> {
        self.cells.iter().chain(self.others.iter())
    }

    pub(super) fn lock_for_drain(&self) -> MutexGuard<'_, ()> {
        // The mutex guards no data, so a poisoned lock can be used.
        self.taking.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CellLookup<'_> {
    fn hash(&self) -> KeyHash {
        let verdict = self.verdict.map_or(0, |verdict| 1 + verdict as u64);
        let small = (self.kind as u64) << 16 | verdict << 8 | self.decision.number();
        KeyHash::default()
            .number(self.site.site_number << 24 | small)
            .text(self.robot)
            .text(self.cause)
    }

    fn is(&self, key: &CellKey) -> bool {
        self.site.site_number == key.site_number
            && self.kind == key.kind
            && self.verdict == key.verdict
            && self.decision == key.decision
            && *self.robot == *key.robot
            && *self.cause == *key.cause
    }

    fn key(&self, made: usize) -> CellKey {
        CellKey {
            site: Arc::clone(&self.site.site),
            site_number: self.site.site_number,
            kind: self.kind,
            verdict: self.verdict,
            decision: self.decision,
            robot: self.robot.into(),
            cause: self.cause.into(),
            made,
        }
    }
}

impl CellKey {
    /// Returns the key for requests from people that pass.
    pub(super) fn for_people(site: Arc<str>, site_number: u64) -> Self {
        Self {
            site,
            site_number,
            kind: Kind::Person,
            verdict: None,
            decision: Decision::default(),
            robot: Arc::default(),
            cause: NOT_A_ROBOT.into(),
            made: 0,
        }
    }

    /// Returns the path to store for a request; for people, the pattern of the path.
    pub(super) fn path(&self, settled: &RecordedPath) -> String {
        let is_person = matches!(self.kind, Kind::Person | Kind::Shared);
        settled.path.kept_text(is_person)
    }

    pub(super) fn traffic_key(&self) -> TrafficKey {
        TrafficKey {
            site: self.site.to_string(),
            kind: self.kind.as_str().to_owned(),
            robot: self.robot.to_string(),
            verdict: self.verdict.map_or(NO_VERDICT, Verdict::as_str).to_owned(),
            decision: self.decision.word().to_owned(),
            cause: self.cause.to_string(),
            status: 0,
        }
    }

    pub(super) fn counted(&self, cell: &Cell) -> RequestCount {
        RequestCount {
            site: Arc::clone(&self.site),
            kind: self.kind,
            verdict: self.verdict,
            decision: self.decision.word(),
            robot: (*self.robot).into(),
            by_status: cell.requests(),
            made: self.made,
        }
    }
}
