//! Progress and summary of a run.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use robot_detection_store::store::{RunCounts, RunState, StoredRun};

/// Maximum number of hosts for which progress is reported.
const MAX_HOSTS: usize = 100;

robot_detection_layer::words! {
    /// State of the site robot.
    #[derive(Default, Deserialize, Serialize)]
    #[non_exhaustive]
    pub enum RobotState {
        /// The robot is not running.
        #[default]
        Idle = "idle",
        /// The robot is visiting pages.
        Running = "running",
        /// The robot is paused until resumed.
        Paused = "paused",
        /// The robot is finishing its current visits.
        Stopping = "stopping",
    }
}

/// Progress of a run; the counts cover only this instance, since it started or resumed the run.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Progress {
    /// State of the robot.
    pub state: RobotState,
    /// Id of the run; 0 before the first run.
    pub run_id: i64,
    /// Whether the run resumes an interrupted run.
    pub is_resumed: bool,
    /// Time at which this instance started, in milliseconds since 1970.
    pub started_ms: i64,
    /// Time of this report, in milliseconds since 1970.
    pub now_ms: i64,
    /// Counts of URLs, bytes and resource descriptions in the run.
    pub counts: RunCounts,
    /// Number of URLs waiting in memory; there may be more in the database.
    pub waiting: usize,
    /// Number of pages being fetched or processed.
    pub active: usize,
    /// URL of the most recent visit.
    pub last_url: String,
    /// Outcome of the most recent visit.
    pub last_outcome: String,
    /// Progress on each host, for the first 100 hosts.
    pub hosts: BTreeMap<String, HostProgress>,
}

/// Progress of the run on one host.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct HostProgress {
    /// Number of responses received from the host.
    pub fetched: u64,
    /// Number of URLs that failed after all retries.
    pub failed: u64,
    /// Total size of the response bodies received, in bytes.
    pub bytes: u64,
}

/// Summary of a finished run of the site robot.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// Name of the site.
    pub site: String,
    /// Id of the run.
    pub run_id: i64,
    /// State of the run: finished, or running if this instance was stopped before the end of the
    /// run.
    pub state: RunState,
    /// Whether the run resumed an interrupted run.
    pub is_resumed: bool,
    /// Counts of the complete run, across all instances.
    pub counts: RunCounts,
    /// Time that this instance spent on the run.
    pub elapsed: Duration,
    /// Starting points with their outcomes: all starting points if none succeeded, or else the ones
    /// that did not respond.
    pub failed_starts: Vec<(String, String)>,
    /// Starting points that did not fail but have no description, each with the reason.
    #[serde(default)]
    pub undescribed_starts: Vec<(String, String)>,
    /// Reason why the results are held for review; `None` if the results are not held.
    pub held: Option<String>,
    /// The first 1,000 pages that are not described because they have no text, each with the
    /// reason.
    #[serde(default)]
    pub without_words: Vec<(String, String)>,
    /// Number of pages in robot heaven that do not respond but are kept.
    pub missing: u64,
    /// Number of pages in robot heaven.
    pub shown: u64,
}

impl Summary {
    pub(super) fn from_run(run: StoredRun) -> Self {
        Self {
            site: run.site,
            run_id: run.run_id,
            state: run.state,
            is_resumed: false,
            counts: run.counts,
            elapsed: Duration::ZERO,
            failed_starts: Vec::new(),
            undescribed_starts: Vec::new(),
            held: run.held,
            without_words: Vec::new(),
            missing: 0,
            shown: 0,
        }
    }

    /// Returns `true` if the run has finished, its results are published, and the site responded.
    pub fn is_good(&self) -> bool {
        let is_finished = self.state == RunState::Finished;
        is_finished && self.failed_starts.is_empty() && !is_large_share(self.missing, self.shown)
    }
}

/// Returns `true` if the number of pages is more than ten and more than a fifth of the total.
pub fn is_large_share(pages: u64, of: u64) -> bool {
    // On a small site, a few pages are a large share and may disappear on any day.
    pages > 10 && pages.saturating_mul(5) > of
}

impl Progress {
    /// Returns the number of responses per second since this instance started.
    pub fn rate(&self) -> f64 {
        let elapsed_ms = u32::try_from(self.now_ms - self.started_ms).unwrap_or(0);
        if elapsed_ms == 0 {
            return 0.0;
        }
        let fetched = u32::try_from(self.counts.fetched).unwrap_or(u32::MAX);
        f64::from(fetched) * 1_000.0 / f64::from(elapsed_ms)
    }

    /// Adds the counts of a visit to its host.
    pub(super) fn count_host(&mut self, host: &str, counts: &RunCounts) {
        let is_known = self.hosts.contains_key(host);
        if !is_known && self.hosts.len() >= MAX_HOSTS {
            return;
        }
        let entry = self.hosts.entry(host.to_owned()).or_default();
        entry.fetched += counts.fetched;
        entry.failed += counts.failed;
        entry.bytes += counts.bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_is_responses_per_second() {
        let mut progress = Progress {
            started_ms: 1_000,
            now_ms: 1_000,
            ..Progress::default()
        };
        progress.counts.fetched = 30;
        assert!(progress.rate().abs() < 1e-9);
        progress.now_ms = 2_500;
        assert!((progress.rate() - 20.0).abs() < 1e-9);
    }

    #[test]
    fn number_of_reported_hosts_is_limited() {
        let mut progress = Progress::default();
        let counts = RunCounts {
            fetched: 1,
            ..RunCounts::default()
        };
        for number in 0..1_000 {
            progress.count_host(&format!("h{number}"), &counts);
            progress.count_host("h0", &counts);
        }
        assert_eq!(progress.hosts.len(), MAX_HOSTS);
        assert_eq!(progress.hosts["h0"].fetched, 1_001);
    }
}
