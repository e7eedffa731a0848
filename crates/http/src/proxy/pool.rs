//! A pool of connections to one server, divided among threads.

use std::{
    cell::Cell,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    time::Instant,
};

use super::{
    http1::Connection,
    sender::{Http2Stream, SharedConnection},
};

/// The time for which an idle connection is kept. If the server closes the connection earlier, the
/// closure is detected when the connection is taken from the pool.
const KEPT_FOR: Duration = Duration::from_secs(55);
/// The maximum number of HTTP/2 connections per thread. If all connections are full, requests wait
/// for a stream.
const MAX_SHARED: usize = 4;

/// The number of shards of a pool; if there are more threads than shards, some threads share a
/// shard.
///
/// The first shard serves all multi-threaded runtimes, and each other shard serves a
/// single-threaded runtime. A connection is registered with the runtime that opened it. If runtimes
/// shared a shard, a connection's events would have to wake another thread, or could not wake a
/// thread that waits for something else. There are more shards than CPU cores because applications
/// and tests start runtimes too.
const SHARDS: usize = 64;
/// The approximate maximum number of idle connections on all threads.
const MAX_KEPT: usize = 1024;

/// A pool of connections to one server.
#[derive(Debug)]
pub(super) struct Pool {
    shards: Box<[Shard]>,
    max_kept: usize,
}

/// The part of a connection pool that is used by one thread.
///
/// The shard is aligned to two cache lines, which processors fetch together, so that threads share
/// no cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Shard {
    state: Mutex<State>,
    begun: AtomicU64,
    ended: AtomicU64,
    /// The lock held while an HTTP/2 connection is opened, so that concurrent requests open only
    /// one.
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
            shards: (0..SHARDS).map(|_| Shard::default()).collect(),
            max_kept: max_kept(),
        }
    }

    /// Returns the number of the current thread's shard.
    pub(super) fn current_shard(&self) -> usize {
        current_shard(self.shards.len())
    }

    pub(super) fn shard(&self, number: usize) -> Option<&Shard> {
        self.shards.get(number)
    }

    /// Puts a connection whose response has been read completely into the pool.
    ///
    /// Returns `true` if the caller has to start a sweep.
    pub(super) fn store(&self, number: usize, connection: Box<Connection>) -> bool {
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

    /// Shares an HTTP/2 connection among requests; returns `true` if the caller has to start a
    /// sweep.
    pub(super) fn share(&self, number: usize, connection: SharedConnection) -> bool {
        let since = Instant::now();
        let Some(mut state) = self.shard(number).map(Shard::lock) else {
            return false;
        };
        // A connection that is not shared ends with the stream of the request for which it was
        // opened.
        if state.is_closed || state.shared.len() >= MAX_SHARED {
            return false;
        }
        state.shared.push(IdleConnection { connection, since });
        !std::mem::replace(&mut state.is_swept, true)
    }

    /// Closes all idle connections. From then on, connections are closed instead of being kept.
    pub(super) fn close(&self) {
        for shard in &self.shards {
            let mut state = shard.lock();
            state.is_closed = true;
            state.kept.clear();
            state.shared.clear();
        }
    }

    /// Closes connections that have been idle for too long; returns `true` if any are left.
    pub(super) fn sweep(&self, number: usize) -> bool {
        let now = Instant::now();
        let Some(mut state) = self.shard(number).map(Shard::lock) else {
            return false;
        };
        state
            .kept
            // A connection that the server has closed is not quiet, so its descriptor is freed here
            // too.
            .retain_mut(|kept| kept.is_fresh(now) && kept.connection.is_ready());
        state.shared.retain(|kept| {
            let is_used = kept.connection.open_streams() > 0;
            !kept.connection.is_closed() && (is_used || kept.is_fresh(now))
        });
        state.is_swept = !state.kept.is_empty() || !state.shared.is_empty();
        state.is_swept
    }

    /// Returns the number of requests in flight to the server.
    pub(super) fn in_flight(&self) -> u64 {
        let count = |count: fn(&Shard) -> &AtomicU64| -> u64 {
            let counts = self.shards.iter().map(count);
            counts.map(|count| count.load(Ordering::Relaxed)).sum()
        };
        // Read `ended` first: a request that ends in between must not make the difference negative.
        let ended = count(|shard| &shard.ended);
        self.started_requests().saturating_sub(ended)
    }

    /// Returns the number of requests to the server since the start.
    pub(super) fn started_requests(&self) -> u64 {
        let counts = self.shards.iter().map(|shard| &shard.begun);
        counts.map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// Returns the number of connections in the pool that are idle or shared.
    pub(super) fn idle_count(&self) -> usize {
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

    /// Takes the most recently used connection out of the pool, so that surplus connections expire.
    ///
    /// Connections that the upstream has closed, or on which it has sent unexpected bytes, are
    /// dropped.
    pub(super) fn take(&self, now: Instant) -> Option<Box<Connection>> {
        loop {
            let mut kept = self.lock().kept.pop()?;
            if kept.is_fresh(now) && kept.connection.is_ready() {
                return Some(kept.connection);
            }
        }
    }

    /// Takes a stream on the HTTP/2 connection with the fewest streams.
    ///
    /// Returns `None` if all connections are full and another one is allowed.
    pub(super) fn stream(&self, now: Instant) -> Option<Box<Http2Stream>> {
        let shared = &mut self.lock().shared;
        shared.retain(|kept| !kept.connection.is_closed());
        let may_add = shared.len() < MAX_SHARED;
        let least = shared
            .iter_mut()
            .min_by_key(|kept| (!kept.connection.has_room(), kept.connection.open_streams()))?;
        if may_add && !least.connection.has_room() {
            return None;
        }
        least.since = now;
        Some(least.connection.stream())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// The time between two sweeps of idle connections.
pub(super) const SWEEP_EVERY: Duration = Duration::from_secs(15);

/// Returns the maximum number of connections that one shard keeps.
fn max_kept() -> usize {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    (MAX_KEPT / threads).clamp(64, 512)
}

/// Returns the index of this thread's shard, which is less than `count`.
fn current_shard(count: usize) -> usize {
    thread_local! {
        static NUMBER: Cell<Option<usize>> = const { Cell::new(None) };
    }
    let number = NUMBER.get().unwrap_or_else(|| {
        let number = number();
        NUMBER.set(Some(number));
        number
    });
    match number {
        0 => 0,
        number => 1 + (number - 1) % count.saturating_sub(1).max(1),
    }
}

/// Returns 0 for a thread of a multi-threaded runtime, otherwise a unique number.
fn number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    let has_one_thread = Handle::try_current()
        .is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::CurrentThread);
    if has_one_thread {
        NEXT.fetch_add(1, Ordering::Relaxed)
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn single_threaded_runtime_has_its_own_shard() {
        let here = current_shard(1 << 20);
        assert_ne!(here, 0);
        assert_eq!(current_shard(1 << 20), here);
        let other = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .build()
                .unwrap();
            runtime.block_on(async { current_shard(1 << 20) })
        });
        assert_ne!(other.join().unwrap(), here);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn threads_of_one_runtime_share_a_shard() {
        let here = current_shard(1 << 20);
        let tasks = tokio_util::task::TaskTracker::new();
        let there = tasks.spawn(async { current_shard(1 << 20) }).await.unwrap();
        assert_eq!((here, there), (0, 0));
    }

    #[test]
    fn shard_number_is_below_the_count() {
        thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| {
                    let runtime = tokio::runtime::Builder::new_current_thread()
                        .build()
                        .unwrap();
                    runtime.block_on(async {
                        assert!((1..3).contains(&current_shard(3)));
                        assert!(current_shard(1) <= 1);
                    });
                });
            }
        });
    }
}
