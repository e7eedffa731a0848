//! Counters of all requests: atomics, so that no request waits for another.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use robot_detection_layer::detect::{Kind, UNLISTED, Verdict};
use robot_detection_layer::layer::Outcome;
use robot_detection_layer::registry::{FixedMap, KeyHash};
use robot_detection_store::store::{PathCount, TrafficCount, TrafficKey};

use super::{
    cell::Decision,
    cell::{CLASSES, Cell, class},
    notes::Notes,
    paths::{Ring, Settled, Ticket, Window},
};

/// Most that is counted apart: three hundred bytes each, for five thousand robots of several
/// sites, verdicts and rules.
const MAX_CELLS: usize = 32_768;

/// Most that is counted apart of what is beyond it, without names.
const MAX_OTHERS: usize = 4_096;

/// Most sites that are counted apart: each label value is a time series in Prometheus.
const MAX_SITES: usize = 2_000;

/// Most hosts of unlisted robots that sign which are counted apart: whoever has a domain may
/// sign under as many names as he likes.
const MAX_SIGNERS: usize = 200;

/// Bits of a visitor's number: the rest is that of a site, or a place among the others.
const PEOPLE: u32 = 1 << 31;
const OTHERS: u32 = 1 << 30;

/// Name of further sites, and of further robots.
const OTHER: &str = "other";

/// Word for the verdict where there is none.
pub(super) const NO_VERDICT: &str = "none";

/// Why a person's request passes: of these there is no outcome.
const NOT_A_ROBOT: &str = "not-a-robot";

/// Counters of all sites.
#[derive(Debug)]
pub(super) struct Counters {
    notes: Arc<Notes>,
    sites: Mutex<BTreeMap<Arc<str>, Arc<SiteCounters>>>,
    table: Arc<Table>,
    paths: Option<Arc<Ring>>,
}

/// Counters of one site.
#[derive(Debug)]
pub struct SiteCounters {
    name: Arc<str>,
    number: u64,
    /// Of people whose requests pass, which are most: they need not be looked up.
    people: Cell,
    table: Arc<Table>,
    /// `None` where paths are not kept.
    paths: Option<Arc<Ring>>,
    /// Requests whose paths found no slot.
    skipped: AtomicU64,
    notes: Arc<Notes>,
}

/// What is counted of all visitors but people.
#[derive(Debug)]
struct Table {
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
struct CellKey {
    site: Arc<str>,
    site_number: u64,
    kind: Kind,
    verdict: Option<Verdict>,
    decision: Decision,
    robot: Arc<str>,
    cause: Box<str>,
    made: usize,
}

/// What is looked for among the cells.
#[derive(Clone, Copy)]
struct Asked<'a> {
    site: &'a SiteCounters,
    kind: Kind,
    verdict: Option<Verdict>,
    decision: Decision,
    robot: &'a str,
    cause: &'a str,
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
    made: usize,
}

impl Counted {
    /// Returns the requests of all statuses.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.by_status.iter().sum()
    }
}

impl Counters {
    /// Creates counters, and slots for paths where these are kept.
    pub(super) fn new(keeps_paths: bool, notes: Arc<Notes>) -> Self {
        Self {
            notes,
            paths: keeps_paths.then(Arc::default),
            sites: Mutex::default(),
            table: Arc::new(Table {
                cells: FixedMap::new(MAX_CELLS),
                others: FixedMap::new(MAX_OTHERS),
                signers: FixedMap::new(MAX_SIGNERS),
                made: AtomicUsize::new(0),
                taking: Mutex::default(),
            }),
        }
    }

    /// Returns the counters of a site, the same ones for the same name.
    pub(super) fn site(&self, name: &str) -> Arc<SiteCounters> {
        let mut sites = self.sites();
        let name = if !sites.contains_key(name) && sites.len() >= MAX_SITES {
            OTHER
        } else {
            name
        };
        if let Some(site) = sites.get(name) {
            return Arc::clone(site);
        }
        let name: Arc<str> = name.into();
        let site = Arc::new(SiteCounters {
            name: Arc::clone(&name),
            number: sites.len() as u64,
            people: Cell::default(),
            table: Arc::clone(&self.table),
            paths: self.paths.clone(),
            skipped: AtomicU64::new(0),
            notes: Arc::clone(&self.notes),
        });
        sites.insert(name, Arc::clone(&site));
        site
    }

    /// Returns the names of all sites.
    pub(super) fn site_names(&self) -> Vec<Arc<str>> {
        self.sites().keys().cloned().collect()
    }

    /// Returns how many requests of people have passed since the start.
    pub(super) fn people(&self) -> u64 {
        let people = |site: &Arc<SiteCounters>| site.people.requests().iter().sum::<u64>();
        self.sites().values().map(people).sum()
    }

    /// Takes out what was added since the last time.
    pub(super) fn take(&self) -> Vec<(TrafficKey, TrafficCount)> {
        let _taking = self.table.taking();
        let mut taken = Vec::new();
        for site in self.sites().values() {
            site.people.take(|| site.key_of_people(), &mut taken);
        }
        for (key, cell) in self.table.iter() {
            cell.take(|| key.traffic_key(), &mut taken);
        }
        taken
    }

    /// Carries over the paths that were left; returns how many there were.
    pub(super) fn drain_paths(&self, window: &mut Window) -> usize {
        let Some(ring) = &self.paths else { return 0 };
        let mut sites: Vec<_> = self.sites().values().cloned().collect();
        sites.sort_unstable_by_key(|site| site.number);
        let people: Arc<str> = "".into();
        let taken = ring.drain(|settled| {
            let count = PathCount::one(settled.class);
            let number = (settled.visitor & !PEOPLE) as usize;
            if settled.visitor & PEOPLE != 0 {
                if let Some(site) = sites.get(number) {
                    let pattern = settled.path.kept_text(true);
                    window.add(&site.name, &people, &pattern, count);
                }
            } else if let Some(key) = self.table.at(settled.visitor) {
                let path = key.path(settled);
                window.add(&key.site, &key.robot, &path, count);
            }
        });
        for site in &sites {
            window.skip(&site.name, site.skipped.swap(0, Relaxed));
        }
        taken
    }

    /// Returns `true` if paths are kept.
    pub(super) fn keeps_paths(&self) -> bool {
        self.paths.is_some()
    }

    /// Returns all requests since the start, those of what came first first.
    pub(super) fn counted(&self) -> Vec<Counted> {
        let _taking = self.table.taking();
        let mut counted: Vec<_> = self.sites().values().map(|site| site.people()).collect();
        let begun = counted.len();
        counted.extend(self.table.iter().map(|(key, cell)| key.counted(cell)));
        if let Some(cells) = counted.get_mut(begun..) {
            cells.sort_by_key(|counted| counted.made);
        }
        counted
    }

    fn sites(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Arc<SiteCounters>>> {
        // Nothing panics between the changes of a map.
        self.sites.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SiteCounters {
    /// Leaves the path of a request, where paths are kept.
    ///
    /// As it is: only once it is read, by another thread, it becomes a pattern if a person asked.
    #[inline]
    pub fn leave_path(&self, path: &str) -> Option<Ticket> {
        let ticket = self.paths.as_ref()?.claim(path);
        if ticket.is_none() {
            self.skipped.fetch_add(1, Relaxed);
        }
        ticket
    }

    /// Records how a person's request was answered that passed.
    ///
    /// Before its body ends: a slot is not held by a download, or by a WebSocket.
    #[inline]
    pub fn answered(&self, ticket: Ticket, status: u16) {
        if let (Some(paths), Ok(number)) = (&self.paths, u32::try_from(self.number)) {
            paths.settle(ticket, number | PEOPLE, class(status));
        }
    }

    /// Counts a request, if it is a visit; `None` stands for a person's that passed.
    pub fn count(
        &self,
        outcome: Option<&Outcome>,
        status: u16,
        bytes: u64,
        duration: Duration,
        ticket: Option<Ticket>,
    ) {
        // Suspects that pass, and who presses the button of a copy, are counted for what they are.
        let is_plain =
            |outcome: &Outcome| outcome.is_person_passing() && outcome.cause() == NOT_A_ROBOT;
        let Some(outcome) = outcome.filter(|outcome| !is_plain(outcome)) else {
            if let Some(ticket) = ticket {
                self.answered(ticket, status);
            }
            return self.people.add(status, bytes, duration);
        };
        let cell = self.add(outcome, status, bytes, duration);
        if let (Some(paths), Some(ticket)) = (&self.paths, ticket) {
            if let Some(cell) = cell {
                paths.settle(ticket, cell, class(status));
            } else {
                // Requests of the program's own have no kind, and are not counted.
                let is_visit = outcome.kind().is_some();
                self.skipped.fetch_add(u64::from(is_visit), Relaxed);
                paths.release(ticket);
            }
        }
    }

    /// Keeps what is noteworthy of a request that somebody else counts.
    pub fn note_alone(&self, outcome: Option<&Outcome>, ticket: Option<Ticket>) {
        if let (Some(paths), Some(ticket)) = (&self.paths, ticket) {
            paths.release(ticket);
        }
        self.note(outcome, 0);
    }

    fn note(&self, outcome: Option<&Outcome>, status: u16) {
        if let Some((outcome, visit)) = outcome.and_then(|it| Some((it, it.visit()?))) {
            self.notes.note(&self.name, outcome, visit, status);
        }
    }

    /// Adds to the numbers of who asked; returns where they are.
    fn add(&self, outcome: &Outcome, status: u16, bytes: u64, duration: Duration) -> Option<u32> {
        // Requests of the program's own have no kind.
        let kind = outcome.kind()?;
        let asked = Asked {
            site: self,
            kind,
            verdict: outcome.verdict(),
            decision: Decision::of(outcome),
            robot: self.table.named(outcome),
            cause: outcome.cause(),
        };
        self.note(Some(outcome), status);
        let (place, cell) = self.table.of(asked)?;
        cell.add(status, bytes, duration);
        Some(place)
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn key_of_people(&self) -> TrafficKey {
        TrafficKey {
            site: self.name.to_string(),
            kind: Kind::Person.as_str().to_owned(),
            robot: String::new(),
            verdict: NO_VERDICT.to_owned(),
            decision: Decision::default().word().to_owned(),
            cause: NOT_A_ROBOT.to_owned(),
            status: 0,
        }
    }

    fn people(&self) -> Counted {
        Counted {
            site: Arc::clone(&self.name),
            kind: Kind::Person,
            verdict: None,
            decision: Decision::default().word(),
            robot: Box::default(),
            by_status: self.people.requests(),
            made: 0,
        }
    }
}

impl Table {
    /// Returns the name under which a robot is counted; empty for people.
    fn named<'o>(&self, outcome: &'o Outcome) -> &'o str {
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
    fn of(&self, asked: Asked<'_>) -> Option<(u32, &Cell)> {
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
    fn at(&self, place: u32) -> Option<&CellKey> {
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

    fn iter(&self) -> impl Iterator<Item = (&CellKey, &Cell)> {
        self.cells.iter().chain(self.others.iter())
    }

    fn taking(&self) -> MutexGuard<'_, ()> {
        // It guards no data of its own.
        self.taking.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Asked<'_> {
    fn hash(&self) -> KeyHash {
        let verdict = self.verdict.map_or(0, |verdict| 1 + verdict as u64);
        let small = (self.kind as u64) << 16 | verdict << 8 | self.decision.number();
        KeyHash::default()
            .number(self.site.number << 24 | small)
            .text(self.robot)
            .text(self.cause)
    }

    fn is(&self, key: &CellKey) -> bool {
        self.site.number == key.site_number
            && self.kind == key.kind
            && self.verdict == key.verdict
            && self.decision == key.decision
            && *self.robot == *key.robot
            && *self.cause == *key.cause
    }

    fn key(&self, made: usize) -> CellKey {
        CellKey {
            site: Arc::clone(&self.site.name),
            site_number: self.site.number,
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
    /// Returns what is kept of a path that was left.
    fn path(&self, settled: &Settled) -> String {
        let is_person = matches!(self.kind, Kind::Person | Kind::Shared);
        settled.path.kept_text(is_person)
    }

    fn traffic_key(&self) -> TrafficKey {
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

    fn counted(&self, cell: &Cell) -> Counted {
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

#[cfg(test)]
mod tests {
    use super::*;
    use robot_detection_store::store::KeptAddresses;

    fn robot<'a>(site: &'a SiteCounters, robot: &'a str) -> Asked<'a> {
        Asked {
            site,
            kind: Kind::Listed,
            verdict: Some(Verdict::Verified),
            decision: Decision::default(),
            robot,
            cause: "not-filtered",
        }
    }

    fn counters() -> Counters {
        Counters::new(true, Arc::new(Notes::new(false, KeptAddresses::default())))
    }

    fn requests(counted: &[Counted]) -> u64 {
        counted.iter().map(Counted::requests).sum()
    }

    #[test]
    fn a_person_is_counted_without_an_outcome_and_the_program_not_at_all() {
        let counters = counters();
        let site = counters.site("a");
        for status in [204, 499, 700] {
            site.count(None, status, 10, Duration::from_micros(7), None);
        }
        site.count(
            Some(&Outcome::own("own-page")),
            200,
            10,
            Duration::ZERO,
            None,
        );
        let counted = counters.counted();
        assert_eq!(counted.len(), 1);
        assert_eq!(counted[0].by_status, [1, 0, 1, 0, 1, 0]);
        assert_eq!(counted[0].decision, "pass");
        let mut taken = counters.take();
        taken.sort_by_key(|(key, _)| key.status);
        let statuses: Vec<_> = taken.iter().map(|(key, _)| key.status).collect();
        assert_eq!(statuses, [0, 2, 4]);
        let count = TrafficCount {
            requests: 1,
            bytes: 10,
            micros: 7,
        };
        assert!(taken.iter().all(|(_, one)| *one == count));
    }

    #[test]
    fn what_is_taken_out_stays_in_the_numbers_since_the_start() {
        let counters = counters();
        let site = counters.site("a");
        for _ in 0..3 {
            site.count(None, 200, 5, Duration::ZERO, None);
        }
        assert_eq!(counters.take().len(), 1);
        assert_eq!(counters.take(), []);
        site.count(None, 200, 5, Duration::ZERO, None);
        assert_eq!(requests(&counters.counted()), 4);
        assert_eq!(counters.take()[0].1.requests, 1);
    }

    #[test]
    fn what_comes_at_once_is_taken_out_once() {
        let counters = counters();
        let site = counters.site("a");
        let mut taken = 0;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10_000 {
                        site.count(None, 200, 1, Duration::ZERO, None);
                    }
                });
            }
            for _ in 0..100 {
                taken += counters
                    .take()
                    .iter()
                    .map(|(_, one)| one.requests)
                    .sum::<u64>();
            }
        });
        taken += counters
            .take()
            .iter()
            .map(|(_, one)| one.requests)
            .sum::<u64>();
        assert_eq!(taken, 40_000);
        assert_eq!(requests(&counters.counted()), 40_000);
    }

    #[test]
    fn robots_beyond_the_room_are_counted_together() {
        let counters = counters();
        let site = counters.site("a");
        for number in 0..MAX_CELLS + 3 {
            let name = number.to_string();
            let (_, cell) = counters.table.of(robot(&site, &name)).unwrap();
            cell.add(200, 1, Duration::ZERO);
        }
        let counted = counters.counted();
        assert_eq!(requests(&counted), MAX_CELLS as u64 + 3);
        let others = counted.iter().find(|one| &*one.robot == OTHER).unwrap();
        assert_eq!(others.requests(), 3);
        // Those that came first keep their places, and stand first.
        assert_eq!(&*counted[1].robot, "0");
    }

    #[test]
    fn sites_beyond_the_limit_are_counted_together() {
        let counters = counters();
        for number in 0..MAX_SITES + 5 {
            counters.site(&number.to_string());
        }
        assert_eq!(counters.site_names().len(), MAX_SITES + 1);
        assert_eq!(counters.site("9999").name(), "other");
        assert_eq!(counters.site("7").name(), "7");
    }
}
