//! Detects fleets and automated behaviour in a single process.

use std::{
    net::IpAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use axum::http::{HeaderMap, Request, Uri, Version};
use robot_detection_fleets::{Flags, Fleets, Sketch};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use robot_detection_layer::clock::Clock;
use robot_detection_store::store::Store;

use super::{
    keeper::Keeper,
    request::{client_identity, observation, observe_any_method},
    slots::{ObservationTicket, Slots},
};

/// The shortest and the longest pause between two drains of the slots. The shortest pause is used
/// under load and suffices for fifty thousand requests per second.
const PAUSES: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(1)];

/// Milliseconds between two evaluations of the sketches.
const JUDGED_MS: i64 = 5_000;

/// Fleet detection among the human visitors of a process; clones share all state.
#[derive(Clone, Debug)]
pub struct Suspicion {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    slots: Slots,
    /// The sketches, which the task that empties the slots locks, but a request never does.
    fleets: Mutex<Fleets>,
    flags: ArcSwap<Flags>,
    /// Number of requests that were not observed, because no slot was free.
    missed: AtomicU64,
    clock: Clock,
}

/// The flags that apply to a visitor.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct VisitorFlags {
    /// Whether the visitor's User-Agent and fingerprint are those of a fleet.
    pub is_in_fleet: bool,
    /// Whether requests from the visitor's address or network show behaviour that is not human.
    pub is_odd: bool,
}

impl Suspicion {
    /// Creates a detection with empty sketches and with the seed that all instances share.
    pub fn new(clock: &Clock, seed: u64) -> Self {
        let mut fleets = Fleets::new(seed);
        let flags = fleets.judge(clock.now_ms().div_euclid(1_000));
        Self {
            inner: Arc::new(Inner {
                slots: Slots::default(),
                fleets: Mutex::new(fleets),
                flags: ArcSwap::from_pointee(flags),
                missed: AtomicU64::new(0),
                clock: clock.clone(),
            }),
        }
    }

    /// Stores the observation of a request in a free slot, if this request is observed at all.
    #[inline]
    pub fn store<B>(&self, request: &Request<B>, client: IpAddr) -> Option<ObservationTicket> {
        let slip = self.inner.slots.store(&observation(request, client)?);
        if slip.is_none() {
            self.inner.missed.fetch_add(1, Relaxed);
        }
        slip
    }

    /// Records the response to a request; the request is evaluated if it came from a human visitor.
    ///
    /// `is_trap` specifies whether the request was for a [trap](crate::traps).
    #[inline]
    pub fn record(&self, slip: ObservationTicket, is_person: bool, status: u16, is_trap: bool) {
        if is_person {
            self.inner.slots.record(slip, status, is_trap);
        } else {
            self.inner.slots.discard(slip);
        }
    }

    /// Returns the current flags, and the number of requests since startup that were not observed
    /// because no slot was free.
    pub fn flags(&self) -> (Arc<Flags>, u64) {
        (
            self.inner.flags.load_full(),
            self.inner.missed.load(Relaxed),
        )
    }

    /// Returns the flags that apply to the visitor who sent a request.
    pub fn flags_for(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        version: Version,
        client: IpAddr,
    ) -> VisitorFlags {
        let flags = self.inner.flags.load();
        if flags.is_empty() {
            return VisitorFlags::default();
        }
        let seen = observe_any_method(uri, headers, version, client);
        VisitorFlags {
            is_in_fleet: seen.is_some_and(|seen| flags.fleet_for(&seen).is_some()),
            is_odd: flags.conduct(client).is_some(),
        }
    }

    /// Returns `true` if the User-Agent and fingerprint of these headers are those of a fleet.
    pub fn has_matching_fleet(&self, headers: &HeaderMap, version: Version) -> bool {
        let flags = self.inner.flags.load();
        client_identity(headers, version)
            .is_some_and(|(agent, number)| flags.fleet(agent, number).is_some())
    }

    /// Evaluates all requests received so far.
    pub fn catch_up(&self) {
        self.drain();
        self.judge();
    }

    /// Returns the sketch of the current window, which other instances use.
    pub(super) fn sketch(&self) -> Sketch {
        self.drain();
        self.with_fleets(|fleets| fleets.sketch())
    }

    /// Adds the sketch from another instance.
    pub(super) fn receive_sketch(&self, instance: &str, sketch: Sketch) {
        // Near the start or end of a window, the sketch may belong to a different window.
        self.with_fleets(|fleets| fleets.hear(instance, sketch));
    }

    /// Collects and evaluates observations of requests until `stop` is cancelled.
    pub async fn run(self, store: Option<Store>, stop: CancellationToken) {
        let keep = async {
            if let Some(store) = store {
                Keeper::new(store, &self.inner.clock)
                    .run(&self, &stop)
                    .await;
            }
        };
        // Separate tasks ensure that the slots do not fill up while the database is slow.
        tokio::join!(self.run_drain(&stop), keep);
    }

    async fn run_drain(&self, stop: &CancellationToken) {
        let [_, mut pause] = PAUSES;
        let mut judged_ms = self.inner.clock.now_ms();
        while stop
            .run_until_cancelled(tokio::time::sleep(pause))
            .await
            .is_some()
        {
            pause = Slots::pause(self.drain(), pause, PAUSES);
            let now_ms = self.inner.clock.now_ms();
            if now_ms.abs_diff(judged_ms) >= JUDGED_MS.unsigned_abs() {
                judged_ms = now_ms;
                self.judge();
            }
        }
    }

    fn drain(&self) -> usize {
        let now_s = self.now_s();
        self.with_fleets(|fleets| self.inner.slots.drain(now_s, |seen| fleets.observe(seen)))
    }

    fn judge(&self) {
        let now_s = self.now_s();
        let flags = self.with_fleets(|fleets| fleets.judge(now_s));
        let before = self.inner.flags.load_full();
        for fleet in flags.fleets() {
            if before.fleets().iter().any(|known| known.is_same_as(fleet)) {
                continue;
            }
            let (requests, addresses) = (fleet.figures.requests, fleet.figures.addresses);
            // Visitors choose the User-Agent freely, so the console shows it, but this log does
            // not.
            warn!(
                requests,
                addresses,
                "detected a fleet that claims to be a browser: {requests} requests with the same User-Agent from about {addresses} addresses; see Suspects in the console"
            );
        }
        self.inner.flags.store(Arc::new(flags));
    }

    fn with_fleets<T>(&self, done: impl FnOnce(&mut Fleets) -> T) -> T {
        let fleets = self.inner.fleets.lock();
        // After a panic, even a partly updated sketch is accurate enough.
        done(&mut fleets.unwrap_or_else(PoisonError::into_inner))
    }

    fn now_s(&self) -> i64 {
        self.inner.clock.now_ms().div_euclid(1_000)
    }
}
