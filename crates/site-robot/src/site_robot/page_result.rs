//! What comes of a page.

use crate::document::Page;
use crate::filter::Resource;
use robot_detection_store::store::{ClaimedUrl, DescriptionChange, PageRecord};

use super::{Rejection, Step, links::AcceptedLink};

/// How the reason begins of a page that has no words to describe it by.
pub(super) const WITHOUT_WORDS: &str = "it has no words: ";

/// Why a page has none, where no program failed.
pub(super) const MADE_LATER: &str =
    "scripts may make them, which are not run (site_robot.render = \"empty\" runs them)";

/// Why a page has none whose scripts were run.
pub(super) const NOT_MADE: &str = "its scripts made none";

/// Result of a page.
#[derive(Debug)]
pub(super) struct PageResult {
    pub(super) record: PageRecord,
    pub(super) taken: Vec<AcceptedLink>,
    /// Whether those are sitemaps, which an index names as robots.txt would.
    pub(super) are_sitemaps: bool,
    /// Whether it is a sitemap or a feed, which nobody wants described.
    pub(super) is_list: bool,
    /// Fingerprint of its appearance, if others may look the same.
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

    /// A page without a description; the one that it has is withdrawn when the run is published.
    pub(super) fn rejected(claimed: ClaimedUrl, rejection: &Rejection) -> Self {
        let mut record = PageRecord::new(claimed, format!("not described: {rejection}"));
        record.description = DescriptionChange::Withdraw;
        record.loss = Some(rejection.step.loss());
        Self::new(record)
    }

    /// A page that has no words to describe it by, for this reason.
    pub(super) fn without_words(claimed: ClaimedUrl, why: &str) -> Self {
        let rejection = Rejection::new(Step::Generate, format!("{WITHOUT_WORDS}{why}"));
        Self::rejected(claimed, &rejection)
    }
}

/// Returns `true` if a page has no words where there should be some: it was made of a document, or
/// scripts are to write it.
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
