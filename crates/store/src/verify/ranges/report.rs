//! Reports of list refreshes, and states of lists.

use std::time::Duration;

/// Report of the refresh of one list.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct RangesReport {
    /// URL of the list without its password: see [`shown_url`](crate::fetch::shown_url).
    pub url: String,
    /// Outcome of the refresh.
    pub outcome: RangesOutcome,
    /// Number of prefixes now in use.
    pub prefixes: usize,
    /// Time since the current list was last known to be current.
    pub age: Option<Duration>,
}

/// Outcome of a list refresh.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RangesOutcome {
    /// The list has changed.
    New,
    /// The list is unchanged.
    Unchanged,
    /// Another instance is refreshing the list.
    Busy,
    /// The refresh failed for this reason; the last good copy, if any, stays in use.
    Failed(String),
}

/// State of one list.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct RangesState {
    /// URL of the list without its password: see [`shown_url`](crate::fetch::shown_url).
    pub url: String,
    /// Number of prefixes in use.
    pub prefixes: usize,
    /// Number of unreadable entries.
    pub unreadable: usize,
    /// Date of the list stated by the operator, as `2026-11-20`.
    pub created: Option<String>,
    /// Time at which the current list was fetched.
    pub fetched_ms: Option<i64>,
    /// Time at which the list was last known to be current.
    pub checked_ms: Option<i64>,
    /// Time of the last attempt, successful or not.
    pub tried_ms: Option<i64>,
    /// Reason why the last attempt failed.
    pub error: Option<String>,
    /// Whether the copy, if any, is too old for a missing address to contradict a claim.
    pub is_stale: bool,
}

impl RangesState {
    /// Returns `true` if the list was fetched at least once.
    pub fn has_copy(&self) -> bool {
        self.fetched_ms.is_some()
    }

    /// Returns `fresh`, `stale`, or `missing` if the list was never fetched.
    pub fn as_str(&self) -> &'static str {
        match (self.has_copy(), self.is_stale) {
            (false, _) => "missing",
            (true, true) => "stale",
            (true, false) => "fresh",
        }
    }
}
