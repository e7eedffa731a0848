//! Assignment of threads to shards of the pool.

use std::{
    cell::Cell,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use tokio::runtime::{Handle, RuntimeFlavor};

/// Number of shards; more threads share some.
///
/// The first one is for all multi-threaded runtimes, the others are for a single-threaded
/// runtime each: a connection is registered with the runtime that made it, and its events
/// would have to wake another thread. One that waits for something else would not be woken at
/// all, so that there are more than a machine has cores: applications and tests start some too.
pub(super) const SHARDS: usize = 64;
/// Idle connections that all threads keep together, about.
const MAX_KEPT: usize = 1024;

/// Returns how many connections one shard may keep.
pub(super) fn max_kept() -> usize {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    (MAX_KEPT / threads).clamp(64, 512)
}

/// Returns the shard of this thread, below `count`.
pub(super) fn current(count: usize) -> usize {
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

/// Returns 0 for a thread of a multi-threaded runtime, else a number of its own.
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
    async fn a_runtime_of_one_thread_has_a_part_of_its_own() {
        let here = current(1 << 20);
        assert_ne!(here, 0);
        assert_eq!(current(1 << 20), here);
        let other = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .build()
                .unwrap();
            runtime.block_on(async { current(1 << 20) })
        });
        assert_ne!(other.join().unwrap(), here);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn threads_of_one_runtime_share_a_part() {
        let here = current(1 << 20);
        let tasks = tokio_util::task::TaskTracker::new();
        let there = tasks.spawn(async { current(1 << 20) }).await.unwrap();
        assert_eq!((here, there), (0, 0));
    }

    #[test]
    fn there_are_never_more_parts_than_asked_for() {
        thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| {
                    let runtime = tokio::runtime::Builder::new_current_thread()
                        .build()
                        .unwrap();
                    runtime.block_on(async {
                        assert!((1..3).contains(&current(3)));
                        assert!(current(1) <= 1);
                    });
                });
            }
        });
    }
}
