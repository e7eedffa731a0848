//! What passed, and what was done with the rest.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::policy::Action;

/// Counters of one layer since it was made; relaxed, so nothing waits for them.
///
/// The requests of the program's [own pages](super::RobotDetectionLayer::own_path) and of its
/// own site robot count nowhere.
/// Of robots each request counts once, of nameless visitors as of robots unless it passes. In a
/// [dry run](crate::policy::Policy::is_dry_run) it passes, and counts in `would`
/// too unless it had passed anyway.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Requests of people.
    pub people: AtomicU64,
    /// Requests without a User-Agent that passed.
    pub nameless_passed: AtomicU64,
    /// Requests with a claim that passed.
    pub robots_passed: AtomicU64,
    /// Requests with a claim that were redirected.
    pub robots_redirected: AtomicU64,
    /// Requests with a claim that got heaven's page in place.
    pub robots_served: AtomicU64,
    /// Requests with a claim that a rule refused, or that robots.txt refused or redirected.
    pub robots_refused: AtomicU64,
    /// Requests with a claim that came faster than a rule allows.
    pub robots_slowed: AtomicU64,
    /// What would have been done in a dry run.
    pub would: WouldStats,
}

/// Counters of what would have been done with robots in a dry run.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct WouldStats {
    /// Requests that would have been redirected.
    pub redirect: AtomicU64,
    /// Requests that would have got heaven's page in place.
    pub serve: AtomicU64,
    /// Requests that would have been refused.
    pub refuse: AtomicU64,
    /// Requests that would have been slowed down.
    pub slow: AtomicU64,
}

impl Stats {
    pub(super) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the counter of what would have been done, `None` of what passes anyway.
    pub(super) fn would(&self, action: Action) -> Option<&AtomicU64> {
        match action {
            Action::Redirect => Some(&self.would.redirect),
            Action::Serve => Some(&self.would.serve),
            Action::Refuse => Some(&self.would.refuse),
            Action::Slow => Some(&self.would.slow),
            _ => None,
        }
    }
}
