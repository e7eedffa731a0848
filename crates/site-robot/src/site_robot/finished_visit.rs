//! Finished visits to URLs.

use robot_detection_store::store::{ClaimedUrl, DescriptionChange, Loss, PageRecord, RunCounts};

use super::{
    Rejection, Step,
    links::{AcceptedLink, found_urls},
    page_result::PageResult,
    source::PageResponse,
};

/// Result of a finished visit to a URL.
#[derive(Debug)]
pub(super) struct FinishedVisit {
    pub(super) record: PageRecord,
    pub(super) counts: RunCounts,
    /// Whether the visit occupies a connection to its host until the visit ends.
    pub(super) holds_host: bool,
    /// Whether a request was sent to the server.
    pub(super) was_asked: bool,
    /// Time until which the host has requested a pause.
    pub(super) hold_ms: Option<i64>,
    /// Whether the page is a sitemap or a feed.
    pub(super) is_list: bool,
    /// Fingerprint of the page's appearance, if other pages may have the same appearance.
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

    /// Creates the result for a URL that is not described and whose links are not followed.
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

/// Creates the result for a page that has moved to another URL, which is visited if allowed.
pub(super) fn moved(
    claimed: ClaimedUrl,
    target: Option<String>,
    rejection: &Rejection,
) -> FinishedVisit {
    let mut visited = FinishedVisit::rejected(claimed, rejection);
    visited.record.loss = Some(Loss::Moved);
    visited.record.alias_of.clone_from(&target);
    let taken: Vec<AcceptedLink> = target
        .into_iter()
        .map(|url| AcceptedLink { url, steps: 0 })
        .collect();
    visited.record.found = found_urls(&visited.record.claimed, &taken);
    visited.record.links = Some(taken.iter().map(AcceptedLink::line).collect());
    visited
}

/// Creates the result for a URL without a page to describe; if the page is missing or requires a
/// login, its existing description is kept.
pub(super) fn gone(
    claimed: ClaimedUrl,
    reason: String,
    loss: Loss,
    answer: Option<&PageResponse>,
) -> FinishedVisit {
    let mut visited = FinishedVisit::rejected(claimed, &Rejection::new(Step::Answer, reason));
    let record = &mut visited.record;
    record.loss = Some(loss);
    record.status = answer.map(|answer| answer.status);
    if matches!(loss, Loss::Locked | Loss::Missing) {
        (record.description, record.links) = (DescriptionChange::Keep, None);
    }
    visited.counts.fetched = u64::from(answer.is_some());
    visited
}
