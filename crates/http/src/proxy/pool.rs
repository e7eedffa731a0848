//! Pool of connections to one server, divided by threads.

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
    sender::{Http2Stream, SharedConnection},
    shard,
};

/// Time that an idle connection is kept; one that the server closes earlier is noticed when it
/// is taken.
const KEPT_FOR: Duration = Duration::from_secs(55);
/// HTTP/2 connections of one thread; beyond them requests wait for a stream.
const MAX_SHARED: usize = 4;

/// Pool of connections to one server.
#[derive(Debug)]
pub(super) struct Pool {
    shards: Box<[Shard]>,
    max_kept: usize,
}

/// Part of the pool that one thread uses.
///
/// Aligned to two cache lines, which processors fetch together: threads share none.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Shard {
    state: Mutex<State>,
    begun: AtomicU64,
    ended: AtomicU64,
    /// Held while an HTTP/2 connection is made, so that many requests at once make a single one.
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
            shards: (0..shard::SHARDS).map(|_| Shard::default()).collect(),
            max_kept: shard::max_kept(),
        }
    }

    /// Returns the number of this thread's shard.
    pub(super) fn here(&self) -> usize {
        shard::current(self.shards.len())
    }

    pub(super) fn shard(&self, number: usize) -> Option<&Shard> {
        self.shards.get(number)
    }

    /// Keeps a connection whose response has been read to its end.
    ///
    /// Returns `true` if a sweep has to be started.
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
        // A connection that is not shared ends with the stream of the request that it was made for.
        if state.is_closed || state.shared.len() >= MAX_SHARED {
            return false;
        }
        state.shared.push(IdleConnection { connection, since });
        !std::mem::replace(&mut state.is_swept, true)
    }

    /// Closes idle connections, and keeps none from now on.
    pub(super) fn close(&self) {
        for shard in &self.shards {
            let mut state = shard.lock();
            state.is_closed = true;
            state.kept.clear();
            state.shared.clear();
        }
    }

    /// Closes connections that were idle for too long; returns `true` if any are left.
    pub(super) fn sweep(&self, number: usize) -> bool {
        let now = Instant::now();
        let Some(mut state) = self.shard(number).map(Shard::lock) else {
            return false;
        };
        state
            .kept
            // One that the server has closed is not quiet either, so this frees its descriptor too.
            .retain_mut(|kept| kept.is_fresh(now) && kept.connection.is_quiet());
        state.shared.retain(|kept| {
            let is_used = kept.connection.open() > 0;
            !kept.connection.is_closed() && (is_used || kept.is_fresh(now))
        });
        state.is_swept = !state.kept.is_empty() || !state.shared.is_empty();
        state.is_swept
    }

    /// Returns the requests that have begun and not ended.
    pub(super) fn in_flight(&self) -> u64 {
        let count = |count: fn(&Shard) -> &AtomicU64| -> u64 {
            let counts = self.shards.iter().map(count);
            counts.map(|count| count.load(Ordering::Relaxed)).sum()
        };
        // `ended` first: a request that ends in between must not make the difference negative.
        let ended = count(|shard| &shard.ended);
        self.begun().saturating_sub(ended)
    }

    /// Returns the requests that have begun.
    pub(super) fn begun(&self) -> u64 {
        let counts = self.shards.iter().map(|shard| &shard.begun);
        counts.map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// Returns the connections that are idle or shared.
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

    /// Takes the connection that was used last, so that surplus ones expire.
    ///
    /// Connections that the upstream has closed, or has sent bytes over, are dropped.
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
    /// `None` if all are full and another connection is allowed.
    pub(super) fn stream(&self, now: Instant) -> Option<Box<Http2Stream>> {
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
        // Nothing under the lock panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Time between two sweeps of idle connections.
pub(super) const SWEEP_EVERY: Duration = Duration::from_secs(15);
