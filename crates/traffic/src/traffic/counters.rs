//! The counters for all requests, which are updated atomically without waiting.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use robot_detection_layer::layer::Outcome;
use robot_detection_store::store::{PathCount, TrafficCount, TrafficKey};

use super::{
    cell::{Cell, Decision, status_class},
    cells::{CellKey, CellLookup, NOT_A_ROBOT, OTHER, RequestCount, Table},
    kept::Recorded,
    notes::EvidenceQueue,
    parameters::client_network,
    paths::{PathSlots, QuerySlots, Ticket},
};

/// Maximum number of sites counted by name. The limit exists because Prometheus stores a time
/// series for each label value.
const MAX_SITES: usize = 2_000;

/// The bit in a visitor number that marks the remaining bits as a site number.
const PEOPLE: u32 = 1 << 31;

/// The counters of all sites.
#[derive(Debug)]
pub(super) struct Counters {
    notes: Arc<EvidenceQueue>,
    sites: Mutex<BTreeMap<Arc<str>, Arc<SiteCounters>>>,
    table: Arc<Table>,
    paths: Option<Arc<Slots>>,
}

/// The slots for the paths of all requests, and for the queries of robots.
#[derive(Debug, Default)]
struct Slots {
    paths: PathSlots,
    queries: QuerySlots,
}

/// The counters of one site.
#[derive(Debug)]
pub struct SiteCounters {
    /// Key for human requests that pass. The key is stored here so that this most frequent case
    /// needs no lookup.
    key: CellKey,
    people: Cell,
    table: Arc<Table>,
    /// Slots for request paths; `None` if paths are not stored.
    paths: Option<Arc<Slots>>,
    /// Number of requests whose path was dropped because no slot was free.
    skipped: AtomicU64,
    notes: Arc<EvidenceQueue>,
}

impl Counters {
    /// Creates counters; slots for paths are included if `keeps_paths` is `true`.
    pub(super) fn new(keeps_paths: bool, notes: Arc<EvidenceQueue>) -> Self {
        Self {
            notes,
            paths: keeps_paths.then(Arc::default),
            sites: Mutex::default(),
            table: Arc::default(),
        }
    }

    /// Returns the counters of a site; calls with the same name return the same counters.
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
            key: CellKey::for_people(Arc::clone(&name), sites.len() as u64),
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

    /// Returns the counts since the previous call, and resets the counts.
    pub(super) fn take(&self) -> Vec<(TrafficKey, TrafficCount)> {
        let _taking = self.table.lock_for_drain();
        let mut taken = Vec::new();
        for site in self.sites().values() {
            site.people.take(|| site.key.traffic_key(), &mut taken);
        }
        for (key, cell) in self.table.iter() {
            cell.take(|| key.traffic_key(), &mut taken);
        }
        taken
    }

    /// Moves recorded paths and queries to `recorded`, and returns the number of paths that were
    /// moved.
    pub(super) fn drain_paths(&self, recorded: &mut Recorded) -> usize {
        let Some(slots) = &self.paths else { return 0 };
        let window = &mut recorded.window;
        let mut sites: Vec<_> = self.sites().values().cloned().collect();
        sites.sort_unstable_by_key(|site| site.key.site_number);
        let taken = slots.paths.drain_paths(|settled| {
            let count = PathCount::for_class(settled.class);
            let number = (settled.visitor & !PEOPLE) as usize;
            if settled.visitor & PEOPLE != 0 {
                if let Some(site) = sites.get(number) {
                    let pattern = settled.path.kept_text(true);
                    window.add(&site.key.site, &site.key.robot, &pattern, count);
                }
            } else if let Some(key) = self.table.at(settled.visitor) {
                let path = key.path(settled);
                window.add(&key.site, &key.robot, &path, count);
            }
        });
        for site in &sites {
            window.skip(&site.key.site, site.skipped.swap(0, Relaxed));
        }
        let queries = slots
            .queries
            .drain_queries(|visitor, network, page, query| {
                if let Some(key) = self.table.at(visitor) {
                    let of_site = recorded
                        .parameters
                        .entry(Arc::clone(&key.site))
                        .or_default();
                    of_site.add(&key.robot, page, query, network);
                }
            });
        taken.max(queries)
    }

    /// Returns `true` if paths are stored.
    pub(super) fn keeps_paths(&self) -> bool {
        self.paths.is_some()
    }

    /// Returns the counts of all requests since startup, in the order in which their cells were
    /// created.
    pub(super) fn counted(&self) -> Vec<RequestCount> {
        let _taking = self.table.lock_for_drain();
        let mut counted: Vec<_> = self
            .sites()
            .values()
            .map(|site| site.key.counted(&site.people))
            .collect();
        let begun = counted.len();
        counted.extend(self.table.iter().map(|(key, cell)| key.counted(cell)));
        if let Some(cells) = counted.get_mut(begun..) {
            cells.sort_by_key(|counted| counted.made);
        }
        counted
    }

    fn sites(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Arc<SiteCounters>>> {
        // The map is consistent even after a panic.
        self.sites.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SiteCounters {
    /// Stores the path of a request in a free slot if paths are stored.
    ///
    /// The path is stored unchanged; another thread later replaces a human visitor's path with its
    /// pattern.
    #[inline]
    pub fn record_path(&self, path: &str) -> Option<Ticket> {
        let ticket = self.paths.as_ref()?.paths.claim_path(path);
        if ticket.is_none() {
            self.skipped.fetch_add(1, Relaxed);
        }
        ticket
    }

    /// Records the response to a human request that passed.
    ///
    /// This method is called before the response body ends, so that a download or a WebSocket does
    /// not occupy a slot.
    #[inline]
    pub fn settle_path(&self, ticket: Ticket, status: u16) {
        if let (Some(slots), Ok(number)) = (&self.paths, u32::try_from(self.key.site_number)) {
            slots
                .paths
                .settle_path(ticket, number | PEOPLE, status_class(status));
        }
    }

    /// Counts a request if it is a visit; an outcome of `None` means a human request that passed.
    pub fn count(
        &self,
        outcome: Option<&Outcome>,
        status: u16,
        bytes: u64,
        duration: Duration,
        ticket: Option<Ticket>,
    ) {
        // Requests from suspects that pass and confirmation form submissions are counted by their
        // outcome.
        let is_plain =
            |outcome: &Outcome| outcome.is_person_passing() && outcome.cause() == NOT_A_ROBOT;
        let Some(outcome) = outcome.filter(|outcome| !is_plain(outcome)) else {
            if let Some(ticket) = ticket {
                self.settle_path(ticket, status);
            }
            return self.people.add(status, bytes, duration);
        };
        let cell = self.add(outcome, status, bytes, duration);
        if let (Some(slots), Some(ticket)) = (&self.paths, ticket) {
            if let Some(cell) = cell {
                if let Some((path, query, client)) = outcome.query() {
                    let network = client.map(client_network);
                    slots.queries.record_query(cell, network, path, query);
                }
                slots.paths.settle_path(ticket, cell, status_class(status));
            } else {
                // This program's own requests have no kind and are not counted.
                let is_visit = outcome.kind().is_some();
                self.skipped.fetch_add(u64::from(is_visit), Relaxed);
                slots.paths.release(ticket);
            }
        }
    }

    /// Stores the evidence for a request that is counted elsewhere.
    pub fn record_evidence_only(&self, outcome: Option<&Outcome>, ticket: Option<Ticket>) {
        if let (Some(slots), Some(ticket)) = (&self.paths, ticket) {
            slots.paths.release(ticket);
        }
        self.note(outcome, 0);
    }

    fn note(&self, outcome: Option<&Outcome>, status: u16) {
        if let Some((outcome, visit)) = outcome.and_then(|it| Some((it, it.visit()?))) {
            self.notes.record(&self.key.site, outcome, visit, status);
        }
    }

    /// Adds a request to the cell that counts it, and returns the cell's place.
    fn add(&self, outcome: &Outcome, status: u16, bytes: u64, duration: Duration) -> Option<u32> {
        // This program's own requests have no kind.
        let kind = outcome.kind()?;
        let asked = CellLookup {
            site: &self.key,
            kind,
            verdict: outcome.verdict(),
            decision: Decision::from_outcome(outcome),
            robot: self.table.visitor_name(outcome),
            cause: outcome.cause(),
        };
        self.note(Some(outcome), status);
        let (place, cell) = self.table.find_or_insert(asked)?;
        cell.add(status, bytes, duration);
        Some(place)
    }

    /// Returns the name of the site.
    pub fn name(&self) -> &str {
        &self.key.site
    }
}

#[cfg(test)]
mod tests {
    use super::super::cells::MAX_CELLS;
    use super::*;
    use robot_detection_layer::detect::{Kind, Verdict};
    use robot_detection_store::store::AddressRetention;

    fn robot<'a>(site: &'a SiteCounters, robot: &'a str) -> CellLookup<'a> {
        CellLookup {
            site: &site.key,
            kind: Kind::Listed,
            verdict: Some(Verdict::Verified),
            decision: Decision::default(),
            robot,
            cause: "not-filtered",
        }
    }

    fn counters() -> Counters {
        Counters::new(
            true,
            Arc::new(EvidenceQueue::new(false, AddressRetention::default())),
        )
    }

    fn requests(counted: &[RequestCount]) -> u64 {
        counted.iter().map(RequestCount::requests).sum()
    }

    #[test]
    fn people_are_counted_without_an_outcome_and_own_requests_not_at_all() {
        let counters = counters();
        let site = counters.site("a");
        for status in [204, 499, 700] {
            site.count(None, status, 10, Duration::from_micros(7), None);
        }
        site.count(
            Some(&Outcome::internal("own-page")),
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
    fn taken_counts_remain_in_the_totals_since_the_start() {
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
    fn concurrent_requests_are_taken_exactly_once() {
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
    fn robots_beyond_the_limit_are_counted_together() {
        let counters = counters();
        let site = counters.site("a");
        for number in 0..MAX_CELLS + 3 {
            let name = number.to_string();
            let (_, cell) = counters.table.find_or_insert(robot(&site, &name)).unwrap();
            cell.add(200, 1, Duration::ZERO);
        }
        let counted = counters.counted();
        assert_eq!(requests(&counted), MAX_CELLS as u64 + 3);
        let others = counted.iter().find(|one| &*one.robot == OTHER).unwrap();
        assert_eq!(others.requests(), 3);
        // The first robots keep their own cells, which are returned first.
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
