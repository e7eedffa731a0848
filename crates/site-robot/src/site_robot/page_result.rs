//! Result of processing a page.

use crate::document::Page;
use crate::filter::Resource;
use robot_detection_store::store::{ClaimedUrl, DescriptionChange, PageRecord};

use super::{Rejection, Step, links::AcceptedLink};

/// Beginning of the reason for pages that have no text.
pub(super) const WITHOUT_WORDS: &str = "the page has no text: ";

/// Reason why a page has no text if its scripts were not run.
pub(super) const SCRIPTS_NOT_RUN: &str =
    "scripts may generate the text, but are not run (set site_robot.render = \"empty\")";

/// Reason why a page has no text after its scripts were run.
pub(super) const SCRIPTS_WITHOUT_TEXT: &str = "its scripts generated no text";

/// Result of processing a page.
#[derive(Debug)]
pub(super) struct PageResult {
    pub(super) record: PageRecord,
    pub(super) taken: Vec<AcceptedLink>,
    /// Whether the links are sitemaps that a sitemap index lists.
    pub(super) are_sitemaps: bool,
    /// Whether the page is a sitemap or a feed, which needs no description.
    pub(super) is_list: bool,
    /// Fingerprint of the page's appearance, if other pages may have the same appearance.
    pub(super) look: Option<u64>,
}

impl PageResult {
    pub(super) fn is_wordless(&self) -> bool {
        self.record.outcome.contains(WITHOUT_WORDS)
    }

    pub(super) fn new(record: PageRecord) -> Self {
        Self {
            record,
            taken: Vec::new(),
            are_sitemaps: false,
            is_list: false,
            look: None,
        }
    }

    /// Creates the result for a rejected page; on publication, an existing description is
    /// withdrawn.
    pub(super) fn rejected(claimed: ClaimedUrl, rejection: &Rejection) -> Self {
        let mut record = PageRecord::new(claimed, format!("not described: {rejection}"));
        record.description = DescriptionChange::Withdraw;
        record.loss = Some(rejection.step.loss());
        Self::new(record)
    }

    /// Creates the result for a page without text, with the reason.
    pub(super) fn without_text(claimed: ClaimedUrl, why: &str) -> Self {
        let rejection = Rejection::new(Step::Generate, format!("{WITHOUT_WORDS}{why}"));
        Self::rejected(claimed, &rejection)
    }
}

/// Returns `true` if a page has no text although it should, because it was converted from a
/// document or contains scripts.
pub(super) fn lacks_words(page: &Page, resource: &Resource) -> bool {
    let says_something = page
        .blocks
        .iter()
        .any(|block| !block.text.trim().is_empty())
        || page
            .metas
            .iter()
            .any(|tag| tag.name.eq_ignore_ascii_case("description"))
        || !page.links.is_empty();
    !says_something && (is_document(resource) || has_script(resource.body()))
}

fn is_document(resource: &Resource) -> bool {
    let media_type = resource.media_type();
    !matches!(
        media_type.as_deref(),
        None | Some("text/html" | "application/xhtml+xml")
    )
}

pub(super) fn has_script(html: &[u8]) -> bool {
    const TAG: &[u8] = b"<script";
    html.windows(TAG.len())
        .any(|bytes| bytes.eq_ignore_ascii_case(TAG))
}
