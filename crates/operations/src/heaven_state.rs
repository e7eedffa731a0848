//! The state of robot heaven: whether its pages exist, are in force and are up to date.

use std::{fmt, sync::Arc};

use crate::{HeavenUse, Moment, Operations};
use robot_detection_store::store::{RunState, StoreError};

/// Maximum number of recent runs that are searched for the latest published run.
const LAST_RUNS: u32 = 20;

/// Minimum age at which pages are reported as outdated, regardless of the schedule.
const OLD_MS: i64 = 24 * 60 * 60_000;

/// The schedule of a site robot's runs.
#[derive(Clone)]
pub struct RunTimes(Arc<dyn Fn(i64) -> Option<i64> + Send + Sync>);

/// The state of a site's robot heaven.
#[derive(Clone, Debug, Default)]
struct HeavenState {
    site: String,
    /// Reason why the results of the latest run are held for review.
    held: Option<String>,
    /// Reason why a run failed, unless a later run has ended since.
    failure: Option<String>,
    /// Whether robots are redirected to the site's heaven pages.
    is_used: bool,
    has_pages: bool,
    /// Number of heaven pages that differ from their originals, and the first such page.
    differing: Option<(u64, String)>,
    run: LastRun,
    /// Start of the run that produced the pages in force.
    began_ms: Option<i64>,
    /// Time of the second scheduled start after the run that produced the pages in force.
    overdue_ms: Option<i64>,
}

/// The state of the site robot's latest run.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum LastRun {
    #[default]
    Never,
    Open,
    Ended,
}

impl RunTimes {
    /// Creates a schedule from a function that returns the next start after a given time.
    pub fn new(next_ms: impl Fn(i64) -> Option<i64> + Send + Sync + 'static) -> Self {
        Self(Arc::new(next_ms))
    }

    fn second_after(&self, began_ms: i64) -> Option<i64> {
        (self.0)((self.0)(began_ms)?)
    }
}

impl fmt::Debug for RunTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunTimes").finish_non_exhaustive()
    }
}

/// Returns each site whose robot heaven needs attention, with a sentence that explains why.
///
/// # Errors
///
/// Returns an error if the database operation fails.
pub async fn heavens_needing_attention(
    operations: &Operations,
) -> Result<Vec<(String, String)>, StoreError> {
    let mut sites = operations.robot_runs.offered();
    // Another process may run the site robot while this process serves its pages.
    for site in operations.store.frontier().run_sites().await? {
        if !sites.contains(&site) {
            sites.push(site);
        }
    }
    let now_ms = operations.now_ms();
    let mut told = Vec::new();
    for site in sites {
        let heaven = HeavenState::load(operations, site).await?;
        if let Some(sentence) = heaven.sentence(now_ms) {
            told.push((heaven.site, sentence));
        }
    }
    Ok(told)
}

/// Returns the sentence about a site whose results are held for review.
pub fn held_sentence(site: &str, why: &str) -> String {
    format!("The pages of {site} are held for review: {why}")
}

/// Returns the sentence about heaven pages that contain text that their originals lack.
pub fn differing_sentence(site: &str, pages: u64, first: &str) -> String {
    let say = if pages == 1 {
        "page of robot heaven contains"
    } else {
        "pages of robot heaven contain"
    };
    format!("{pages} {say} text that is not in the originals on {site}, for example {first}")
}

impl HeavenState {
    async fn load(operations: &Operations, site: String) -> Result<Self, StoreError> {
        let (store, robots) = (&operations.store, &operations.robot_runs);
        let runs = store.frontier().runs(&site, LAST_RUNS).await?;
        let last = runs.first();
        let in_force = runs.iter().find(|run| run.state == RunState::Finished);
        let began_ms = in_force.map(|run| run.started_ms);
        let has_ended = last.is_some_and(|run| run.finished_ms.is_some());
        Ok(Self {
            held: last
                .filter(|run| run.state == RunState::Held)
                .map(|run| run.held.clone().unwrap_or_default()),
            // Another process may have completed a run after this process's run failed.
            failure: robots.failure(&site).filter(|_| !has_ended),
            is_used: robots.heaven(&site).is_some_and(|used| is_used(&used)),
            // Counting a million descriptions takes a while, and each console page needs this
            // state.
            has_pages: store.descriptions().first_url(&site, "").await?.is_some(),
            differing: (store.publications().first_differing(&site).await?)
                .map(|(state, first)| (state.differing, first.url)),
            run: match last {
                None => LastRun::Never,
                Some(_) if has_ended => LastRun::Ended,
                Some(_) => LastRun::Open,
            },
            began_ms,
            overdue_ms: began_ms.and_then(|ms| robots.run_times(&site)?.second_after(ms)),
            site,
        })
    }

    /// Returns a sentence about the most serious problem, if there is one.
    fn sentence(&self, now_ms: i64) -> Option<String> {
        let site = &self.site;
        if let Some(why) = &self.held {
            return Some(held_sentence(site, why));
        }
        if let Some(why) = &self.failure {
            return Some(format!(
                "The last run of the site robot of {site} failed: {why}"
            ));
        }
        if self.is_used && !self.has_pages {
            let why = match self.run {
                LastRun::Never => "the site robot has never run",
                LastRun::Ended => "the last run of the site robot described no pages",
                // The site's first pages appear while the site robot is running.
                LastRun::Open => return None,
            };
            return Some(format!("Robot heaven of {site} has no pages: {why}."));
        }
        if let Some((pages, first)) = &self.differing {
            return Some(differing_sentence(site, *pages, first));
        }
        let (began_ms, overdue_ms) = (self.began_ms?, self.overdue_ms?);
        // A missed start is made up for later, and a run may take as long as the interval between
        // starts.
        let is_old = now_ms >= overdue_ms.max(began_ms.saturating_add(OLD_MS));
        is_old.then(|| {
            let ago = Moment::new(began_ms, now_ms).ago;
            format!("The pages of {site} were generated {ago}; the site robot should have run twice since then.")
        })
    }
}

fn is_used(heaven: &HeavenUse) -> bool {
    !heaven.is_idle()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_MS: i64 = 60 * 60_000;

    fn told(state: HeavenState, now_ms: i64) -> String {
        let state = HeavenState {
            site: "shop".to_owned(),
            is_used: true,
            ..state
        };
        state.sentence(now_ms).unwrap_or_default()
    }

    #[test]
    fn existing_new_pages_need_no_attention() {
        let state = HeavenState {
            has_pages: true,
            run: LastRun::Ended,
            began_ms: Some(0),
            overdue_ms: Some(2 * HOUR_MS),
            ..HeavenState::default()
        };
        assert_eq!(told(state.clone(), HOUR_MS), "");
        // An hourly run that is two hours late is not reported.
        assert_eq!(told(state.clone(), 24 * HOUR_MS - 1), "");
        assert_eq!(
            told(state.clone(), 24 * HOUR_MS),
            "The pages of shop were generated 1 day ago; the site robot should have \
             run twice since then."
        );
        let without_schedule = HeavenState {
            overdue_ms: None,
            ..state
        };
        assert_eq!(told(without_schedule, 999 * HOUR_MS), "");
    }

    #[test]
    fn empty_heaven_is_reported_unless_its_first_run_is_in_progress() {
        let of = |run| HeavenState {
            run,
            ..HeavenState::default()
        };
        assert_eq!(
            told(of(LastRun::Never), 0),
            "Robot heaven of shop has no pages: the site robot has never run."
        );
        assert_eq!(
            told(of(LastRun::Ended), 0),
            "Robot heaven of shop has no pages: the last run of the site robot described no pages."
        );
        assert_eq!(told(of(LastRun::Open), 0), "");
        let unused = HeavenState {
            site: "shop".to_owned(),
            ..HeavenState::default()
        };
        assert_eq!(unused.sentence(0), None);
    }

    #[test]
    fn held_or_failed_runs_come_first() {
        let state = HeavenState {
            held: Some("a third is gone".to_owned()),
            failure: Some("no answer".to_owned()),
            ..HeavenState::default()
        };
        assert_eq!(
            told(state.clone(), 0),
            "The pages of shop are held for review: a third is gone"
        );
        let state = HeavenState {
            held: None,
            ..state
        };
        assert_eq!(
            told(state, 0),
            "The last run of the site robot of shop failed: no answer"
        );
    }

    #[test]
    fn differing_pages_are_reported() {
        let state = |pages| HeavenState {
            has_pages: true,
            differing: Some((pages, "https://shop.example/a".to_owned())),
            ..HeavenState::default()
        };
        assert_eq!(
            told(state(1), 0),
            "1 page of robot heaven contains text that is not in the originals on shop, for example \
             https://shop.example/a"
        );
        assert!(told(state(2), 0).starts_with("2 pages of robot heaven contain"));
    }
}
