//! The traffic counters of a process, and the tasks that store the counts.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::suspicion::Suspicion;
use robot_detection_layer::clock::Clock;
use robot_detection_layer::layer::VisitSwitch;
use robot_detection_store::store::Store;

use super::{
    TrafficLayer,
    cells::RequestCount,
    counters::{Counters, SiteCounters},
    evidence_writer::EvidenceWriter,
    notes::{EvidenceQueue, EvidenceSettings},
    parameters::Parameters,
    paths::{PathSlots, Window},
    writer::Writer,
};

/// The shortest and the longest pause between two drains of the path slots. The shortest pause is
/// used under load and suffices for eighty thousand requests per second.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];

/// The traffic counters and evidence of a process; clones share all state.
#[derive(Clone, Debug)]
pub struct Traffic {
    inner: Arc<Inner>,
    /// Fleet detection; `None` if disabled.
    suspicion: Option<Suspicion>,
}

#[derive(Debug)]
struct Inner {
    counters: Counters,
    /// Recorded requests; locked by tasks of this module, never by a request.
    recorded: Mutex<Recorded>,
    notes: Arc<EvidenceQueue>,
    /// Writers to the database; `None` if the counts are only shown in `/metrics`.
    writers: Option<tokio::sync::Mutex<Writers>>,
    /// Number of days for which evidence is stored; 0 disables evidence.
    evidence_days: u32,
    /// Database that stores the traffic; `None` if traffic is not stored.
    store: Option<Store>,
    clock: Clock,
}

/// The paths and parameters of requests that are not written to the database yet.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    /// Paths requested in the current minute.
    pub(super) window: Window,
    /// Query parameters of robots on the current day, by site.
    pub(super) parameters: BTreeMap<Arc<str>, Parameters>,
}

#[derive(Debug)]
struct Writers {
    traffic: Writer,
    evidence: Option<EvidenceWriter>,
}

impl Traffic {
    /// Creates traffic counters. Counts are stored in the database, if there is one; paths are
    /// stored if `keeps_paths` is `true`.
    pub fn new(
        store: Option<Store>,
        keeps_paths: bool,
        evidence: EvidenceSettings,
        clock: &Clock,
    ) -> Self {
        let days = store.as_ref().map_or(0, |_| evidence.days);
        let notes = Arc::new(EvidenceQueue::new(days > 0, evidence.addresses));
        let keeps_paths = keeps_paths && store.is_some();
        let kept_in = store.clone();
        let writers = store.map(|store| {
            let traffic = Writer::new(store.clone(), clock.now_ms());
            let evidence = EvidenceWriter::new(store, days, traffic.name());
            Writers {
                traffic,
                evidence: (days > 0).then_some(evidence),
            }
        });
        Self {
            inner: Arc::new(Inner {
                counters: Counters::new(keeps_paths, Arc::clone(&notes)),
                recorded: Mutex::default(),
                notes,
                writers: writers.map(tokio::sync::Mutex::new),
                evidence_days: days,
                store: kept_in,
                clock: clock.clone(),
            }),
            suspicion: None,
        }
    }

    /// Sets the fleet detection among human visitors; `None` disables it.
    #[must_use]
    pub fn with_suspicion(mut self, suspicion: Option<Suspicion>) -> Self {
        self.suspicion = suspicion;
        self
    }

    /// Returns the fleet detection if it is enabled.
    pub fn suspicion(&self) -> Option<&Suspicion> {
        self.suspicion.as_ref()
    }

    /// Returns the counters of a site; calls with the same name return the same counters.
    pub fn site(&self, name: &str) -> Arc<SiteCounters> {
        self.inner.counters.site(name)
    }

    /// Returns the counts of all requests since startup, in the order in which their cells were
    /// created.
    pub fn counted(&self) -> Vec<RequestCount> {
        self.inner.counters.counted()
    }

    /// Returns a layer that counts the requests to a site; wrap it around the layer that makes
    /// decisions.
    pub fn layer(&self, site: &str) -> TrafficLayer {
        TrafficLayer::new(self.site(site))
    }

    /// Returns the switch that makes layers describe visits for evidence.
    pub fn visits(&self) -> &VisitSwitch {
        self.inner.notes.switch()
    }

    /// Returns `true` if counts are stored in the database.
    pub fn is_kept(&self) -> bool {
        self.inner.writers.is_some()
    }

    /// Returns the number of days for which evidence is stored; 0 if evidence is disabled.
    pub fn evidence_days(&self) -> u32 {
        self.inner.evidence_days
    }

    /// Returns the number of requests that are missing from the evidence because too many requests
    /// arrived at the same time.
    pub fn lost_evidence(&self) -> u64 {
        self.inner.notes.lost()
    }

    /// Stores the counts regularly until `stop` is cancelled.
    pub async fn run(self, stop: CancellationToken) {
        // Separate tasks ensure that the slots do not fill up while the database is slow.
        let suspicion = async {
            if let Some(suspicion) = self.suspicion.clone() {
                suspicion.run(self.inner.store.clone(), stop.clone()).await;
            }
        };
        tokio::join!(self.run_writers(&stop), self.run_drain(&stop), suspicion);
    }

    async fn run_writers(&self, stop: &CancellationToken) {
        loop {
            let now_ms = self.inner.clock.now_ms();
            let next = tokio::time::sleep(Writer::until_next(now_ms));
            if stop.run_until_cancelled(next).await.is_none() {
                return;
            }
            self.catch_up().await;
        }
    }

    async fn run_drain(&self, stop: &CancellationToken) {
        let [_, mut pause] = PAUSES;
        while self.inner.counters.keeps_paths() {
            let next = tokio::time::sleep(pause);
            if stop.run_until_cancelled(next).await.is_none() {
                return;
            }
            pause = PathSlots::pause(self.with_recorded(|_| ()).0, pause, PAUSES);
        }
    }

    /// Stores all current counts immediately, so that subsequent reads include them.
    pub async fn catch_up(&self) {
        if let Some(writers) = &self.inner.writers {
            self.write(&mut *writers.lock().await, false).await;
        }
    }

    /// Stores all counts when the server stops.
    pub async fn flush(&self) {
        if let Some(writers) = &self.inner.writers {
            let mut writers = writers.lock().await;
            self.write(&mut writers, true).await;
            writers.traffic.report_lost();
            let lost = writers
                .evidence
                .as_ref()
                .map_or(0, EvidenceWriter::unwritten);
            if lost > 0 {
                warn!(
                    lost,
                    "lost the evidence of {lost} requests: the database is unavailable"
                );
            }
        }
    }

    async fn write(&self, writers: &mut Writers, is_last: bool) {
        let now_ms = self.inner.clock.now_ms();
        let traffic = &mut writers.traffic;
        self.with_recorded(|recorded| traffic.collect_paths(recorded, now_ms, is_last));
        traffic.collect(&self.inner.counters, now_ms);
        traffic.write().await;
        if let Some(evidence) = &mut writers.evidence {
            evidence.collect(&self.inner.notes, now_ms);
            evidence.write(now_ms).await;
        }
    }

    /// Empties the slots. Returns the number of slots that were emptied and the result of `done`.
    fn with_recorded<T>(&self, done: impl FnOnce(&mut Recorded) -> T) -> (usize, T) {
        let recorded = self.inner.recorded.lock();
        // After a panic, even partly updated counts are accurate enough.
        let mut recorded = recorded.unwrap_or_else(PoisonError::into_inner);
        let taken = self.inner.counters.drain_paths(&mut recorded);
        (taken, done(&mut recorded))
    }
}
