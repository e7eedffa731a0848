//! State of an address list, in memory and in the store.

use std::{sync::Arc, time::Duration};

use super::{PublishedRanges, RangeSet, kind::ListKind, prefix};
use crate::fetch::Conditions;
use crate::store::StoredRanges;

/// The version of the parsing rules, incremented whenever the rules change.
pub(super) const RULES: u64 = 1;

/// The last good copy of a list, and the results of the most recent attempts to fetch the list.
#[derive(Clone, Debug, Default)]
pub(super) struct Listing {
    pub(super) published: Option<Arc<PublishedRanges>>,
    pub(super) conditions: Conditions,
    pub(super) rules: u64,
    /// The time at which the copy was fetched.
    pub(super) fetched_ms: Option<i64>,
    /// The time at which the copy was last confirmed to be current.
    pub(super) checked_ms: Option<i64>,
    /// The time of the last attempt to fetch the list.
    pub(super) tried_ms: Option<i64>,
    /// The number of failed attempts since the last success.
    pub(super) failures: u64,
    pub(super) error: Option<String>,
    /// Whether the store contains these prefixes. Their `ETag` must not be stored with other
    /// prefixes.
    pub(super) is_saved: bool,
}

impl Listing {
    /// Creates the state of a built-in list that has not been fetched yet.
    pub(super) fn built_in(published: PublishedRanges) -> Self {
        Self {
            published: Some(Arc::new(published)),
            rules: RULES,
            ..Self::default()
        }
    }

    /// Creates the state after a document was fetched.
    pub(super) fn fetched(published: PublishedRanges, conditions: Conditions, now_ms: i64) -> Self {
        Self {
            published: Some(Arc::new(published)),
            conditions,
            rules: RULES,
            fetched_ms: Some(now_ms),
            ..Self::default()
        }
        .confirmed(now_ms)
    }

    /// Returns the state after the server has confirmed that the copy is current.
    pub(super) fn confirmed(self, now_ms: i64) -> Self {
        Self {
            checked_ms: Some(now_ms),
            tried_ms: Some(now_ms),
            failures: 0,
            error: None,
            ..self
        }
    }

    /// Returns the state after a failed attempt to fetch the list; the copy is retained.
    pub(super) fn failed(self, reason: String, now_ms: i64) -> Self {
        Self {
            tried_ms: Some(now_ms),
            failures: self.failures.saturating_add(1),
            error: Some(reason),
            ..self
        }
    }

    /// Creates the state from a stored row. If the stored prefixes are unreadable, there is no
    /// copy.
    pub(super) fn from_stored(stored: StoredRanges, kind: ListKind) -> Self {
        let prefixes = stored.prefixes.as_deref();
        let set = prefixes.and_then(|prefixes| set_of_lines(prefixes, kind));
        let published = set.map(|set| PublishedRanges {
            set,
            created: stored.created,
            unreadable: usize::try_from(stored.unreadable).unwrap_or(usize::MAX),
        });
        Self {
            published: published.map(Arc::new),
            conditions: Conditions {
                etag: stored.etag,
                last_modified: stored.last_modified,
            },
            rules: stored.rules,
            fetched_ms: stored.fetched_ms,
            checked_ms: stored.checked_ms,
            tried_ms: stored.tried_ms,
            failures: stored.failures,
            error: stored.error,
            is_saved: true,
        }
    }

    /// Returns the row to store, which contains the prefixes only if the store does not have them
    /// yet.
    pub(super) fn to_stored(&self, url: &str) -> StoredRanges {
        // Built-in lists are not stored, since a newer release contains newer lists.
        let fetched = self.published.as_deref();
        let published = fetched.filter(|_| self.fetched_ms.is_some());
        let prefixes = published.filter(|_| !self.is_saved);
        StoredRanges {
            url: url.to_owned(),
            prefixes: prefixes.map(|published| lines_of(&published.set)),
            created: published.and_then(|published| published.created.clone()),
            unreadable: published.map_or(0, |published| published.unreadable as u64),
            etag: self.conditions.etag.clone(),
            last_modified: self.conditions.last_modified.clone(),
            rules: self.rules,
            fetched_ms: self.fetched_ms,
            checked_ms: self.checked_ms,
            tried_ms: self.tried_ms,
            failures: self.failures,
            error: self.error.clone(),
        }
    }

    /// Returns the number of prefixes in use.
    pub(super) fn prefixes(&self) -> usize {
        let published = self.published.as_ref();
        published.map_or(0, |published| published.set.len())
    }

    /// Returns the time since the copy was last confirmed to be current.
    pub(super) fn age(&self, now_ms: i64) -> Option<Duration> {
        let ms = now_ms.saturating_sub(self.checked_ms?);
        Some(Duration::from_millis(u64::try_from(ms).unwrap_or(0)))
    }

    /// Returns `true` if a conditional request can be made.
    pub(super) fn has_validators(&self) -> bool {
        self.published.is_some() && self.rules == RULES
    }
}

fn lines_of(set: &RangeSet) -> String {
    let mut lines = String::with_capacity(set.len().saturating_mul(20));
    for prefix in set.iter() {
        if !lines.is_empty() {
            lines.push('\n');
        }
        lines.push_str(&prefix.to_string());
    }
    lines
}

/// Parses and checks prefixes from the database again, so that errors in the database do not verify
/// every client.
fn set_of_lines(lines: &str, kind: ListKind) -> Option<RangeSet> {
    let read = |line| prefix::read(line).filter(|net| !kind.is_too_wide(*net));
    let set: RangeSet = lines.lines().map(read).collect::<Option<_>>()?;
    (!set.is_empty()).then_some(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing() -> Listing {
        let document = b"192.0.2.0/24\n2001:db8::/48\n# 2026-11-20";
        let published = PublishedRanges::parse("https://robots.example/", document).unwrap();
        let conditions = Conditions {
            etag: Some("\"a\"".to_owned()),
            last_modified: None,
        };
        Listing::fetched(published, conditions, 1_000)
    }

    #[test]
    fn stored_state_can_be_loaded() {
        let before = listing().failed("no answer".to_owned(), 2_000);
        let stored = before.to_stored("https://robots.example/");
        assert_eq!(
            stored.prefixes.as_deref(),
            Some("192.0.2.0/24\n2001:db8::/48")
        );
        let after = Listing::from_stored(stored.clone(), ListKind::Operator);
        assert_eq!(after.published, before.published);
        let again = after.to_stored("https://robots.example/");
        let expected = StoredRanges {
            prefixes: None,
            ..stored
        };
        assert_eq!(again, expected);
    }

    #[test]
    fn implausible_stored_prefixes_are_ignored() {
        for prefixes in ["", "192.0.2.0/24\nx", "0.0.0.0/0", "192.0.2.0/24\n\n"] {
            let stored = StoredRanges {
                prefixes: Some(prefixes.to_owned()),
                ..listing().to_stored("")
            };
            let listing = Listing::from_stored(stored, ListKind::Operator);
            assert!(listing.published.is_none(), "{prefixes:?}");
            assert!(!listing.has_validators());
        }
    }

    #[test]
    fn failure_keeps_the_copy_and_success_clears_the_failure() {
        let failed = listing()
            .failed("a".to_owned(), 2_000)
            .failed("b".to_owned(), 3_000);
        assert_eq!((failed.prefixes(), failed.failures), (2, 2));
        assert_eq!(
            (failed.checked_ms, failed.tried_ms),
            (Some(1_000), Some(3_000))
        );
        assert_eq!(failed.age(61_000), Some(Duration::from_mins(1)));
        let confirmed = failed.confirmed(4_000);
        assert_eq!((confirmed.failures, confirmed.error), (0, None));
        assert_eq!(
            (confirmed.fetched_ms, confirmed.checked_ms),
            (Some(1_000), Some(4_000))
        );
    }
}
