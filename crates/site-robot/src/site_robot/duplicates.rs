//! Of resources with the same content the best URL alone stays described.
//!
//! `filter-by-md5` turns away what has a better URL already; a better one may come
//! later, or be met by another instance. So it is looked at once more when a run
//! ends, and what is described does not depend on which page was the faster.

use crate::filter::url_rank;
use robot_detection_store::store::{DescribedTwice, StoredRun};

use super::{Rejection, SiteRobotError, Step, settings::Settings};

/// Descriptions that are looked at once.
const PIECE: u32 = 1_000;

/// Withdraws what is described under a better URL.
pub(super) async fn withdraw(settings: &Settings, run: &StoredRun) -> Result<(), SiteRobotError> {
    if !settings.generation.drops_duplicates() {
        return Ok(());
    }
    let reason = "filter-by-md5: a better URL has the same content";
    let outcome = format!("not described: {}", Rejection::new(Step::Data, reason));
    loop {
        let described = settings.store.described_twice(run, PIECE);
        let described = described.await?;
        let worse: Vec<&DescribedTwice> = described
            .chunk_by(|one, other| one.md5 == other.md5)
            .flat_map(worse)
            .collect();
        if worse.is_empty() {
            return Ok(());
        }
        let withdrawn = settings.store.withdraw_duplicates(run, &worse, &outcome);
        withdrawn.await?;
    }
}

/// Returns all but the best of those with one content.
fn worse(same: &[DescribedTwice]) -> impl Iterator<Item = &DescribedTwice> {
    let best = same.iter().map(|it| url_rank(&it.url)).min();
    same.iter()
        .filter(move |it| Some(url_rank(&it.url)) != best)
}
