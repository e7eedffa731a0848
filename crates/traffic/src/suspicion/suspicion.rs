//! The handle on fleets and conduct.

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
    request::{observation, seen, told},
    slots::{Slip, Slots},
};

/// Pauses between two times that the slots are emptied: the shorter ones while many are taken, which
/// is enough for fifty thousand requests a second.
const PAUSES: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(1)];

/// Milliseconds between two judgements.
const JUDGED_MS: i64 = 5_000;

/// What people of a process, or who says so, do; clones share everything.
#[derive(Clone, Debug)]
pub struct Suspicion {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    slots: Slots,
    /// Locked by who empties the slots, never by a request.
    fleets: Mutex<Fleets>,
    flags: ArcSwap<Flags>,
    /// Requests that found no slot.
    missed: AtomicU64,
    clock: Clock,
}

/// What is flagged of a visitor.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Flagged {
    /// A fleet has his User-Agent and fingerprint.
    pub is_in_fleet: bool,
    /// His address or network does what no person does.
    pub is_odd: bool,
}

impl Suspicion {
    /// Creates sketches with a seed, which instances of a fleet share.
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

    /// Leaves what is to be judged of a request, if anything is.
    #[inline]
    pub fn leave<B>(&self, request: &Request<B>, client: IpAddr) -> Option<Slip> {
        let slip = self.inner.slots.leave(&observation(request, client)?);
        if slip.is_none() {
            self.inner.missed.fetch_add(1, Relaxed);
        }
        slip
    }

    /// Records how a request was answered, if a person sent it, so that it is judged.
    ///
    /// `is_trap` says that it was for a [trap](crate::traps).
    #[inline]
    pub fn answered(&self, slip: Slip, is_person: bool, status: u16, is_trap: bool) {
        if is_person {
            self.inner.slots.answered(slip, status, is_trap);
        } else {
            self.inner.slots.forget(slip);
        }
    }

    /// Returns who is flagged, and how many requests found no slot since the start.
    pub fn flags(&self) -> (Arc<Flags>, u64) {
        (
            self.inner.flags.load_full(),
            self.inner.missed.load(Relaxed),
        )
    }

    /// Returns what is flagged of whoever has sent a request.
    pub fn of_person(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        version: Version,
        client: IpAddr,
    ) -> Flagged {
        let flags = self.inner.flags.load();
        if flags.are_none() {
            return Flagged::default();
        }
        let seen = seen(uri, headers, version, client);
        Flagged {
            is_in_fleet: seen.is_some_and(|seen| flags.fleet_of(&seen).is_some()),
            is_odd: flags.conduct(client).is_some(),
        }
    }

    /// Returns `true` if a fleet has User-Agent and fingerprint of these headers.
    pub fn has_fleet_of(&self, headers: &HeaderMap, version: Version) -> bool {
        let flags = self.inner.flags.load();
        told(headers, version).is_some_and(|(agent, number)| flags.fleet(agent, number).is_some())
    }

    /// Judges what has come until now.
    pub fn catch_up(&self) {
        self.drain();
        self.judge();
    }

    /// Returns what has come in this window, for other instances.
    pub(super) fn sketch(&self) -> Sketch {
        self.drain();
        self.with_fleets(|fleets| fleets.sketch())
    }

    /// Takes over what another instance has told.
    pub(super) fn hear(&self, instance: &str, sketch: Sketch) {
        // What is of another window comes a moment before it, or after its end.
        self.with_fleets(|fleets| fleets.hear(instance, sketch));
    }

    /// Judges what comes until `stop` is cancelled.
    pub async fn run(self, store: Option<Store>, stop: CancellationToken) {
        let keep = async {
            if let Some(store) = store {
                Keeper::new(store, &self.inner.clock)
                    .run(&self, &stop)
                    .await;
            }
        };
        // Apart from each other: a database that is slow must not have the slots fill up.
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
        self.with_fleets(|fleets| self.inner.slots.take(now_s, |seen| fleets.observe(seen)))
    }

    fn judge(&self) {
        let now_s = self.now_s();
        let flags = self.with_fleets(|fleets| fleets.judge(now_s));
        let before = self.inner.flags.load_full();
        for fleet in flags.fleets() {
            if before.fleets().iter().any(|known| known.is_of(fleet)) {
                continue;
            }
            let (requests, addresses) = (fleet.figures.requests, fleet.figures.addresses);
            // What the User-Agent says is a visitor's, and stands on the console.
            warn!(
                requests,
                addresses,
                "a fleet of robots says that it is a browser: {requests} requests from about {addresses} addresses under one User-Agent; Suspects on the console shows it"
            );
        }
        self.inner.flags.store(Arc::new(flags));
    }

    fn with_fleets<T>(&self, done: impl FnOnce(&mut Fleets) -> T) -> T {
        let fleets = self.inner.fleets.lock();
        // A sketch that is half changed counts about as well.
        done(&mut fleets.unwrap_or_else(PoisonError::into_inner))
    }

    fn now_s(&self) -> i64 {
        self.inner.clock.now_ms().div_euclid(1_000)
    }
}
