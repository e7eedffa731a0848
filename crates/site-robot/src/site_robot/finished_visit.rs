//! Visits that have ended.

use robot_detection_store::store::{ClaimedUrl, PageRecord, RunCounts};

use super::{Rejection, judge::PageResult};

/// Result of a visit that has ended.
#[derive(Debug)]
pub(super) struct FinishedVisit {
    pub(super) record: PageRecord,
    pub(super) counts: RunCounts,
    /// Whether it holds a connection of its host to its end.
    pub(super) holds_host: bool,
    /// Whether the server was asked.
    pub(super) was_asked: bool,
    /// Until when the host asks to be left alone.
    pub(super) hold_ms: Option<i64>,
    /// Whether it is a sitemap or a feed.
    pub(super) is_list: bool,
    /// Fingerprint of its appearance, if others may look the same.
    pub(super) look: Option<u64>,
}

impl FinishedVisit {
    pub(super) fn new(record: PageRecord, counts: RunCounts) -> Self {
        Self {
            record,
            counts,
            holds_host: true,
            was_asked: false,
            hold_ms: None,
            is_list: false,
            look: None,
        }
    }

    /// A URL that is not described, and whose links are not followed.
    pub(super) fn rejected(claimed: ClaimedUrl, rejection: &Rejection) -> Self {
        let PageResult { mut record, .. } = PageResult::rejected(claimed, rejection);
        record.links = Some(Vec::new());
        let counts = RunCounts {
            rejected: 1,
            ..RunCounts::default()
        };
        Self::new(record, counts)
    }
}
