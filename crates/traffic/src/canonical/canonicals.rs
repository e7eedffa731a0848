//! Finds and records a site's canonical URLs.

use std::sync::Arc;

use arc_swap::ArcSwap;
use http::{HeaderValue, Uri};
use tokio::sync::mpsc;
use tokio_util::sync::DropGuard;

use super::table::{Table, known_as};
use robot_detection_store::store::LearnedCanonical;

/// The canonical URLs of one site; clones share all state.
#[derive(Clone, Debug)]
pub struct Canonicals {
    pub(super) table: Arc<ArcSwap<Table>>,
    pub(super) learnt: mpsc::Sender<LearnedCanonical>,
    /// Guard that stops the keeper when the last clone is dropped.
    pub(super) _following: Arc<DropGuard>,
}

impl Canonicals {
    /// Returns the path and query of a requested URL's canonical URL, if a different canonical URL
    /// is known.
    pub fn find(&self, host: Option<&str>, asked: &Uri) -> Option<HeaderValue> {
        let asked = asked.path_and_query()?;
        let url = known_as(host?, asked.as_str());
        HeaderValue::try_from(self.table.load().find(&url)?).ok()
    }

    /// Queues the canonical URL that was found in a response; if the queue is full, the URL is
    /// dropped.
    pub(super) fn learn(&self, url: String, canonical: Option<String>) {
        let _ = self.learnt.try_send(LearnedCanonical { url, canonical });
    }
}
