//! The handle on what is counted.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::store::Store;

use super::{
    counters::{Counted, Counters, SiteCounters},
    paths::{SLOTS, Window},
    writer::Writer,
};

/// Pauses between two times that the slots of paths are emptied: the shorter ones while many are
/// taken, which is enough for eighty thousand requests a second.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];

/// Counters of all requests, and what keeps them; clones share everything.
#[derive(Clone, Debug)]
pub(crate) struct Traffic {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    counters: Counters,
    /// Paths of the minute; locked by the tasks here, never by a request.
    window: Mutex<Window>,
    /// `None` where nothing is kept: then the numbers of `/metrics` are all there is.
    writer: Option<tokio::sync::Mutex<Writer>>,
    clock: Clock,
}

impl Traffic {
    /// Creates counters, which are kept where there is a database for them, with paths or without.
    pub(crate) fn new(store: Option<Store>, keeps_paths: bool, clock: &Clock) -> Self {
        let counters = Counters::new(keeps_paths && store.is_some());
        let writer = store.map(|store| Writer::new(store, clock.now_ms()));
        Self {
            inner: Arc::new(Inner {
                counters,
                window: Mutex::default(),
                writer: writer.map(tokio::sync::Mutex::new),
                clock: clock.clone(),
            }),
        }
    }

    /// Returns the counters of a site, the same ones for the same name.
    pub(crate) fn site(&self, name: &str) -> Arc<SiteCounters> {
        self.inner.counters.site(name)
    }

    /// Returns all requests since the start, those of what came first first.
    pub(crate) fn counted(&self) -> Vec<Counted> {
        self.inner.counters.counted()
    }

    /// Keeps what is counted until `stop` is cancelled.
    pub(crate) async fn run(self, stop: CancellationToken) {
        // Apart from each other: a database that is slow must not have the slots fill up.
        tokio::join!(self.run_writer(&stop), self.run_drain(&stop));
    }

    /// Keeps what was counted since the last time; for the end, when nothing is served any more.
    pub(crate) async fn flush(&self) {
        if let Some(writer) = &self.inner.writer {
            let mut writer = writer.lock().await;
            self.write(&mut writer, true).await;
            writer.tell_lost();
        }
    }

    async fn run_writer(&self, stop: &CancellationToken) {
        let Some(writer) = &self.inner.writer else {
            return;
        };
        loop {
            let now_ms = self.inner.clock.now_ms();
            let next = tokio::time::sleep(Writer::until_next(now_ms));
            if stop.run_until_cancelled(next).await.is_none() {
                return;
            }
            self.write(&mut *writer.lock().await, false).await;
        }
    }

    async fn run_drain(&self, stop: &CancellationToken) {
        let [shortest, longest] = PAUSES;
        let mut pause = longest;
        while self.inner.counters.keeps_paths() {
            let next = tokio::time::sleep(pause);
            if stop.run_until_cancelled(next).await.is_none() {
                return;
            }
            let taken = self.with_window(|_| ()).0;
            pause = if taken > SLOTS / 4 {
                shortest
            } else {
                longest.min(2 * pause)
            };
        }
    }

    async fn write(&self, writer: &mut Writer, is_last: bool) {
        let now_ms = self.inner.clock.now_ms();
        self.with_window(|window| writer.collect_paths(window, now_ms, is_last));
        writer.collect(&self.inner.counters, now_ms);
        writer.write().await;
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
