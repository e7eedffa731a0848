//! What is known of a site, and what learns more.

use std::sync::Arc;

use arc_swap::ArcSwap;
use http::{HeaderValue, Uri};
use tokio::sync::mpsc;
use tokio_util::sync::DropGuard;

use super::table::{Table, known_as};
use robot_detection_store::store::LearntCanonical;

/// Canonical URLs of one site; clones share everything.
#[derive(Clone, Debug)]
pub struct Canonicals {
    pub(super) table: Arc<ArcSwap<Table>>,
    pub(super) learnt: mpsc::Sender<LearntCanonical>,
    /// Ends what keeps them with the last clone.
    pub(super) _following: Arc<DropGuard>,
}

impl Canonicals {
    /// Returns where a robot is sent from a URL, as path and query, if it is known that another one
    /// stands for it.
    pub fn find(&self, host: Option<&str>, asked: &Uri) -> Option<HeaderValue> {
        let asked = asked.path_and_query()?;
        let url = known_as(host?, asked.as_str());
        HeaderValue::try_from(self.table.load().find(&url)?).ok()
    }

    /// Adds what a robot was told; while more comes than is kept, it is told again.
    pub(super) fn learn(&self, url: String, canonical: Option<String>) {
        let _ = self.learnt.try_send(LearntCanonical { url, canonical });
    }
}
