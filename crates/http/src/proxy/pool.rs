//! Connections to one server that wait for requests, apart for each thread.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

use super::{
    http1::Connection,
    sender::{Http2, SharedConnection},
    shard,
};

/// Time that a connection is kept; upstreams that close earlier say so by closing.
const KEPT_FOR: Duration = Duration::from_secs(55);
/// HTTP/2 connections of one thread; further requests wait for a stream.
const MAX_SHARED: usize = 4;

/// Pool of connections to one server.
#[derive(Debug)]
pub(super) struct Pool {
    shards: Box<[Shard]>,
    max_kept: usize,
}

/// What the requests of one thread share; aligned, so that threads do not share a cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Shard {
    state: Mutex<State>,
    begun: AtomicU64,
    ended: AtomicU64,
    /// Held while an HTTP/2 connection is made, so that a crowd makes one.
    pub(super) connecting: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    kept: Vec<IdleConnection<Box<Connection>>>,
    shared: Vec<IdleConnection<SharedConnection>>,
    is_swept: bool,
    is_closed: bool,
}

#[derive(Debug)]
struct IdleConnection<C> {
    connection: C,
    since: Instant,
}

impl<C> IdleConnection<C> {
    fn is_fresh(&self, now: Instant) -> bool {
        now.duration_since(self.since) < KEPT_FOR
    }
}

impl Pool {
    pub(super) fn new() -> Self {
        Self {
            shards: (0..shard::count()).map(|_| Shard::default()).collect(),
            max_kept: shard::max_kept(),
        }
    }

    /// Returns the number of this thread's part.
    pub(super) fn here(&self) -> usize {
        shard::current(self.shards.len())
    }

    pub(super) fn shard(&self, number: usize) -> Option<&Shard> {
        self.shards.get(number)
    }

    /// Keeps a connection whose response has been read to its end.
    ///
    /// Returns whether a sweep has to be started.
    pub(super) fn keep(&self, number: usize, connection: Box<Connection>) -> bool {
        let since = connection.used;
        let Some(mut state) = self.shard(number).map(Shard::lock) else {
            return false;
        };
        if state.is_closed || state.kept.len() >= self.max_kept {
            return false;
        }
        state.kept.push(IdleConnection { connection, since });
        !std::mem::replace(&mut state.is_swept, true)
    }

    /// Lets others use an HTTP/2 connection; returns whether a sweep has to be started.
    pub(super) fn share(&self, number: usize, connection: SharedConnection) -> bool {
        let since = Instant::now();
        let Some(mut state) = self.shard(number).map(Shard::lock) else {
            return false;
        };
        if state.is_closed || state.shared.len() >= MAX_SHARED {
            return false;
        }
        state.shared.push(IdleConnection { connection, since });
        !std::mem::replace(&mut state.is_swept, true)
    }

    /// Closes what waits, and keeps nothing more.
    pub(super) fn close(&self) {
        for shard in &self.shards {
            let mut state = shard.lock();
            state.is_closed = true;
            state.kept.clear();
            state.shared.clear();
        }
    }

    /// Closes what has waited for too long, and returns whether something is left.
    pub(super) fn sweep(&self, number: usize) -> bool {
        let now = Instant::now();
        let Some(mut state) = self.shard(number).map(Shard::lock) else {
            return false;
        };
        state
            .kept
            .retain_mut(|kept| kept.is_fresh(now) && kept.connection.is_quiet());
        state.shared.retain(|kept| {
            let is_used = kept.connection.open() > 0;
            !kept.connection.is_closed() && (is_used || kept.is_fresh(now))
        });
        state.is_swept = !state.kept.is_empty() || !state.shared.is_empty();
        state.is_swept
    }

    /// Requests that have begun and not ended.
    pub(super) fn in_flight(&self) -> u64 {
        let count = |count: fn(&Shard) -> &AtomicU64| -> u64 {
            let counts = self.shards.iter().map(count);
            counts.map(|count| count.load(Ordering::Relaxed)).sum()
        };
        // Ended first: what ends in between does not make it negative.
        let ended = count(|shard| &shard.ended);
        self.begun().saturating_sub(ended)
    }

    /// Requests that have begun.
    pub(super) fn begun(&self) -> u64 {
        let counts = self.shards.iter().map(|shard| &shard.begun);
        counts.map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// Connections that wait or are shared.
    pub(super) fn kept(&self) -> usize {
        let counts = self.shards.iter().map(|shard| {
            let state = shard.lock();
            state.kept.len() + state.shared.len()
        });
        counts.sum()
    }
}

impl Shard {
    pub(super) fn begin(&self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn end(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes the connection that was used last, so that spare ones grow old.
    ///
    /// One that the upstream has closed, or has sent something over, is closed.
    pub(super) fn take(&self, now: Instant) -> Option<Box<Connection>> {
        loop {
            let mut kept = self.lock().kept.pop()?;
            if kept.is_fresh(now) && kept.connection.is_quiet() {
                return Some(kept.connection);
            }
        }
    }

    /// Takes a stream of the connection with the fewest.
    ///
    /// Nothing when all are full and there may be another connection.
    pub(super) fn stream(&self, now: Instant) -> Option<Box<Http2>> {
        let shared = &mut self.lock().shared;
        shared.retain(|kept| !kept.connection.is_closed());
        let may_add = shared.len() < MAX_SHARED;
        let least = shared
            .iter_mut()
            .min_by_key(|kept| (!kept.connection.has_room(), kept.connection.open()))?;
        if may_add && !least.connection.has_room() {
            return None;
        }
        least.since = now;
        Some(least.connection.stream())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that panics is done under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How often connections that wait are looked at.
pub(super) const SWEEP_EVERY: Duration = Duration::from_secs(15);
