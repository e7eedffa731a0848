//! Cells of the counters, by who asked and what was decided.

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
    paths::Settled,
};

/// Most that is counted apart: three hundred bytes each, for five thousand robots of several
/// sites, verdicts and rules.
pub(super) const MAX_CELLS: usize = 32_768;

/// Most that is counted apart of what is beyond it, without names.
const MAX_OTHERS: usize = 4_096;

/// Most hosts of unlisted robots that sign which are counted apart: whoever has a domain may
/// sign under as many names as he likes.
const MAX_SIGNERS: usize = 200;

/// Bit of a place among the others.
const OTHERS: u32 = 1 << 30;

/// Name of further sites, and of further robots.
pub(super) const OTHER: &str = "other";

/// Word for the verdict where there is none.
pub(super) const NO_VERDICT: &str = "none";

/// Why a person's request passes: of these there is no outcome.
pub(super) const NOT_A_ROBOT: &str = "not-a-robot";

/// What is counted of all visitors but people.
#[derive(Debug)]
pub(super) struct Table {
    cells: FixedMap<CellKey, Cell>,
    /// Counts of what found no place among the cells.
    others: FixedMap<CellKey, Cell>,
    signers: FixedMap<Box<str>, ()>,
    /// Cells that were made, to tell which came first.
    made: AtomicUsize,
    /// Held while numbers are taken out, so that nobody reads them half way.
    taking: Mutex<()>,
}

/// Who asked and what was decided.
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

/// What is looked for among the cells.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    /// Key of people at the same site.
    pub(super) site: &'a CellKey,
    pub(super) kind: Kind,
    pub(super) verdict: Option<Verdict>,
    pub(super) decision: Decision,
    pub(super) robot: &'a str,
    pub(super) cause: &'a str,
}

/// Requests since the start, as `/metrics` shows them.
#[derive(Clone, Debug)]
pub struct Counted {
    /// Name of the site.
    pub site: Arc<str>,
    /// Robot or person.
    pub kind: Kind,
    /// Verdict on the robot's claim.
    pub verdict: Option<Verdict>,
    /// Word for what was done.
    pub decision: &'static str,
    /// Empty for people.
    pub robot: Box<str>,
    /// Requests by class of the status; those of no class first.
    pub by_status: [u64; CLASSES],
    /// Which of them came first.
    pub(super) made: usize,
}

impl Counted {
    /// Returns the requests of all statuses.
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
    /// Returns the name under which a robot is counted; empty for people.
    pub(super) fn named<'o>(&self, outcome: &'o Outcome) -> &'o str {
        let name = outcome.robot().unwrap_or_default();
        if outcome.signer().is_none() {
            return name;
        }
        let hash = KeyHash::default().text(name);
        let is_known = self
            .signers
            .of(hash, |known| **known == *name, || name.into());
        is_known.map_or(UNLISTED, |()| name)
    }

    /// Returns the numbers of what is asked for, and where they are; of more than there is room
    /// for, nothing.
    pub(super) fn of(&self, asked: Asked<'_>) -> Option<(u32, &Cell)> {
        if let Some((place, cell)) = self.find(&self.cells, asked) {
            return Some((u32::try_from(place).ok()?, cell));
        }
        let robot = if asked.robot.is_empty() { "" } else { OTHER };
        let nameless = Asked {
            robot,
            cause: OTHER,
            ..asked
        };
        let (place, cell) = self.find(&self.others, nameless)?;
        Some((u32::try_from(place).ok()? | OTHERS, cell))
    }

    /// Returns who has the numbers at a place.
    pub(super) fn at(&self, place: u32) -> Option<&CellKey> {
        let number = (place & !OTHERS) as usize;
        let is_other = place & OTHERS != 0;
        let table = if is_other { &self.others } else { &self.cells };
        table.at(number)
    }

    fn find<'t>(
        &self,
        table: &'t FixedMap<CellKey, Cell>,
        asked: Asked<'_>,
    ) -> Option<(usize, &'t Cell)> {
        table.numbered(
            asked.hash(),
            |key| asked.is(key),
            || asked.key(self.made.fetch_add(1, Relaxed)),
        )
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&CellKey, &Cell)> {
        self.cells.iter().chain(self.others.iter())
    }

    pub(super) fn taking(&self) -> MutexGuard<'_, ()> {
        // It guards no data of its own.
        self.taking.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Asked<'_> {
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
    /// Returns the key of people whose requests pass.
    pub(super) fn of_people(site: Arc<str>, site_number: u64) -> Self {
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

    /// Returns what is kept of a path that was left.
    pub(super) fn path(&self, settled: &Settled) -> String {
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

    pub(super) fn counted(&self, cell: &Cell) -> Counted {
        Counted {
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
