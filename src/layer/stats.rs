//! What passed, what was redirected and what was refused.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of one layer since it was made; relaxed, so nothing waits for them.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Requests without a claim.
    pub people: AtomicU64,
    /// Requests with a claim that passed.
    pub robots_passed: AtomicU64,
    /// Requests with a claim that were redirected.
    pub robots_redirected: AtomicU64,
    /// Requests with a claim that were refused, or redirected, by robots.txt.
    pub robots_refused: AtomicU64,
}

impl Stats {
    pub(super) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}
