//! The handle on what is counted and noted.

use std::{
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
    cells::Counted,
    counters::{Counters, SiteCounters},
    evidence_writer::EvidenceWriter,
    live::LiveRow,
    notes::{EvidenceSettings, Notes},
    paths::{Ring, Window},
    writer::Writer,
};

/// Pauses between two times that the slots of paths are emptied: the shorter ones while many are
/// taken, which is enough for eighty thousand requests a second.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];

/// Counters of all requests, and what keeps them; clones share everything.
#[derive(Clone, Debug)]
pub struct Traffic {
    inner: Arc<Inner>,
    /// `None` where fleets are not looked for.
    suspicion: Option<Suspicion>,
}

#[derive(Debug)]
struct Inner {
    counters: Counters,
    /// Paths of the minute; locked by the tasks here, never by a request.
    window: Mutex<Window>,
    notes: Arc<Notes>,
    /// `None` where nothing is kept: then the numbers of `/metrics` are all there is.
    writers: Option<tokio::sync::Mutex<Writers>>,
    /// Days for which evidence is kept; 0: it is not.
    evidence_days: u32,
    /// `None` where nothing is kept.
    store: Option<Store>,
    clock: Clock,
}

#[derive(Debug)]
struct Writers {
    traffic: Writer,
    evidence: Option<EvidenceWriter>,
}

/// Somebody who looks at decisions as they come, until this is dropped.
#[derive(Debug)]
pub struct Viewing {
    traffic: Traffic,
}

impl Traffic {
    /// Creates counters, which are kept where there is a database for them, with paths or without.
    pub fn new(
        store: Option<Store>,
        keeps_paths: bool,
        evidence: EvidenceSettings,
        clock: &Clock,
    ) -> Self {
        let days = store.as_ref().map_or(0, |_| evidence.days);
        let notes = Arc::new(Notes::new(days > 0, evidence.addresses));
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
                window: Mutex::default(),
                notes,
                writers: writers.map(tokio::sync::Mutex::new),
                evidence_days: days,
                store: kept_in,
                clock: clock.clone(),
            }),
            suspicion: None,
        }
    }

    /// Has fleets looked for among people.
    #[must_use]
    pub fn with_suspicion(mut self, suspicion: Option<Suspicion>) -> Self {
        self.suspicion = suspicion;
        self
    }

    /// Returns what finds fleets, where they are looked for.
    pub fn suspicion(&self) -> Option<&Suspicion> {
        self.suspicion.as_ref()
    }

    /// Returns the counters of a site, the same ones for the same name.
    pub fn site(&self, name: &str) -> Arc<SiteCounters> {
        self.inner.counters.site(name)
    }

    /// Returns all requests since the start, those of what came first first.
    pub fn counted(&self) -> Vec<Counted> {
        self.inner.counters.counted()
    }

    /// Returns how many requests of people have passed since the start.
    pub fn people(&self) -> u64 {
        self.inner.counters.people()
    }

    /// Returns a layer that counts the requests of a site; it stands outside of the one that decides.
    pub fn layer(&self, site: &str) -> TrafficLayer {
        TrafficLayer::new(self.site(site))
    }

    /// Returns the switch by which layers describe the visits that are kept or looked at.
    pub fn visits(&self) -> &VisitSwitch {
        self.inner.notes.switch()
    }

    /// Returns `true` if counts are kept in the database.
    pub fn is_kept(&self) -> bool {
        self.inner.writers.is_some()
    }

    /// Returns for how many days evidence is kept; 0: it is not.
    pub fn evidence_days(&self) -> u32 {
        self.inner.evidence_days
    }

    /// Returns how many requests are missing in the evidence, as there was no room for them.
    pub fn lost_evidence(&self) -> u64 {
        self.inner.notes.lost()
    }

    /// Returns the decisions behind a number, the oldest first, and since when they are collected.
    pub fn look(&self, behind: u64) -> (Vec<LiveRow>, i64) {
        let now_ms = self.inner.clock.now_ms();
        self.inner.notes.live().look(behind, now_ms)
    }

    /// Returns the number of the last decision.
    pub fn last_decision(&self) -> u64 {
        self.inner.notes.live().last()
    }

    /// Begins to look for longer; `None` if enough do.
    pub fn view(&self) -> Option<Viewing> {
        let has_room = self.inner.notes.live().begin_view();
        has_room.then(|| Viewing {
            traffic: self.clone(),
        })
    }

    /// Keeps what is counted until `stop` is cancelled.
    pub async fn run(self, stop: CancellationToken) {
        // Apart from each other: a database that is slow must not have the slots fill up.
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
            self.inner.notes.live().rest(self.inner.clock.now_ms());
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
            pause = Ring::pause(self.with_window(|_| ()).0, pause, PAUSES);
        }
    }

    /// Keeps what was counted since the last time, for whoever reads it now.
    pub async fn catch_up(&self) {
        if let Some(writers) = &self.inner.writers {
            self.write(&mut *writers.lock().await, false).await;
        }
    }

    /// Keeps what was counted since the last time; for the end, when nothing is served any more.
    pub async fn flush(&self) {
        if let Some(writers) = &self.inner.writers {
            let mut writers = writers.lock().await;
            self.write(&mut writers, true).await;
            writers.traffic.tell_lost();
            let lost = writers
                .evidence
                .as_ref()
                .map_or(0, EvidenceWriter::unwritten);
            if lost > 0 {
                warn!(
                    lost,
                    "{lost} requests are missing in the evidence: the database did not take them"
                );
            }
        }
    }

    async fn write(&self, writers: &mut Writers, is_last: bool) {
        let now_ms = self.inner.clock.now_ms();
        let traffic = &mut writers.traffic;
        self.with_window(|window| traffic.collect_paths(window, now_ms, is_last));
        traffic.collect(&self.inner.counters, now_ms);
        traffic.write().await;
        if let Some(evidence) = &mut writers.evidence {
            evidence.collect(&self.inner.notes, now_ms);
            evidence.write(now_ms).await;
        }
    }

    /// Empties the slots into the window; returns how many there were, and what is done with it.
    fn with_window<T>(&self, done: impl FnOnce(&mut Window) -> T) -> (usize, T) {
        let window = self.inner.window.lock();
        // A sketch that is half changed counts about as well.
        let mut window = window.unwrap_or_else(PoisonError::into_inner);
        let taken = self.inner.counters.drain_paths(&mut window);
        (taken, done(&mut window))
    }
}

impl Drop for Viewing {
    fn drop(&mut self) {
        self.traffic.inner.notes.live().end_view();
    }
}
