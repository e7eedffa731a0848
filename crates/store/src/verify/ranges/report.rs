//! Reports of refreshes, and states of lists.

use std::time::Duration;

/// Report of the refresh of one list.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct RangesReport {
    /// URL of the list, as it may be shown: see [`shown_url`](crate::fetch::shown_url).
    pub url: String,
    /// Outcome.
    pub outcome: RangesOutcome,
    /// Prefixes that are in force now.
    pub prefixes: usize,
    /// Time since the list in force was last known to be current.
    pub age: Option<Duration>,
}

/// Outcome of a refresh.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RangesOutcome {
    /// Another list came.
    New,
    /// The list is as before.
    Unchanged,
    /// Another instance of the fleet is asking just now.
    Busy,
    /// It failed, for this reason; the last good copy, if any, stays in force.
    Failed(String),
}

/// State of one list.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct RangesState {
    /// URL of the list, as it may be shown: see [`shown_url`](crate::fetch::shown_url).
    pub url: String,
    /// Prefixes that are in force.
    pub prefixes: usize,
    /// Entries of the list that could not be read.
    pub unreadable: usize,
    /// Day on which the operator made the list, as `2026-11-20`.
    pub created: Option<String>,
    /// When the list in force came.
    pub fetched_ms: Option<i64>,
    /// When it was last known to be current.
    pub checked_ms: Option<i64>,
    /// When the server was last asked, in vain or not.
    pub tried_ms: Option<i64>,
    /// Why the last attempt failed.
    pub error: Option<String>,
    /// Whether it is too old for a miss to contradict a claim; never where there is no copy.
    pub is_stale: bool,
}

impl RangesState {
    /// Returns `true` if the list was had at least once.
    pub fn has_copy(&self) -> bool {
        self.fetched_ms.is_some()
    }

    /// Returns the word for it: `fresh`, `stale`, or `missing` where the list was never had.
    pub fn as_str(&self) -> &'static str {
        match (self.has_copy(), self.is_stale) {
            (false, _) => "missing",
            (true, true) => "stale",
            (true, false) => "fresh",
        }
    }
}
