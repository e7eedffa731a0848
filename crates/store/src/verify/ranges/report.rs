//! Reports about list refreshes, and states of lists.

use std::time::Duration;

/// A report about the refresh of an address list.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct RangesReport {
    /// The URL of the list, without its password: see [`shown_url`](crate::fetch::shown_url).
    pub url: String,
    /// The outcome of the refresh.
    pub outcome: RangesOutcome,
    /// The number of prefixes in use after the refresh.
    pub prefixes: usize,
    /// The time since the list was last confirmed to be current.
    pub age: Option<Duration>,
}

/// The result of refreshing an address list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RangesOutcome {
    /// The list is new or has changed.
    New,
    /// The list has not changed.
    Unchanged,
    /// Another instance is already refreshing the list.
    Busy,
    /// The refresh failed for this reason. The last good copy, if any, remains in use.
    Failed(String),
}

/// The state of an address list.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct RangesState {
    /// The URL of the list, without its password: see [`shown_url`](crate::fetch::shown_url).
    pub url: String,
    /// The number of prefixes in use.
    pub prefixes: usize,
    /// The number of unreadable entries.
    pub unreadable: usize,
    /// The date of the list as stated by the operator, such as `2026-11-20`.
    pub created: Option<String>,
    /// The time at which the current list was fetched.
    pub fetched_ms: Option<i64>,
    /// The time at which the list was last confirmed to be current.
    pub checked_ms: Option<i64>,
    /// The time of the last attempt to fetch the list, successful or not.
    pub tried_ms: Option<i64>,
    /// The error from the last attempt to fetch the list, if that attempt failed.
    pub error: Option<String>,
    /// Whether the copy, if any, is too old for the absence of an address to contradict a claim.
    pub is_stale: bool,
}

impl RangesState {
    /// Returns `true` if the list has been fetched at least once.
    pub fn has_copy(&self) -> bool {
        self.fetched_ms.is_some()
    }

    /// Returns `fresh`, `stale`, or, if the list was never fetched, `missing`.
    pub fn as_str(&self) -> &'static str {
        match (self.has_copy(), self.is_stale) {
            (false, _) => "missing",
            (true, true) => "stale",
            (true, false) => "fresh",
        }
    }
}
