//! Progress of a run, and its summary.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use robot_detection_store::store::{RunCounts, RunState, StoredRun};

/// Hosts whose progress is reported.
const MAX_HOSTS: usize = 100;

robot_detection_layer::words! {
    /// State of the robot.
    #[derive(Default, Deserialize, Serialize)]
    #[non_exhaustive]
    pub enum RobotState {
        /// Nothing.
        #[default]
        Idle = "idle",
        /// It visits pages.
        Running = "running",
        /// It waits to be resumed.
        Paused = "paused",
        /// It finishes what it has begun.
        Stopping = "stopping",
    }
}

/// Progress of a run; the counts are those of this instance since it began or resumed.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Progress {
    /// State of the robot.
    pub state: RobotState,
    /// Number of the run; 0 before the first.
    pub run_id: i64,
    /// Whether the run goes on that was cut off.
    pub is_resumed: bool,
    /// When this instance began.
    pub started_ms: i64,
    /// When this was reported.
    pub now_ms: i64,
    /// Counts.
    pub counts: RunCounts,
    /// URLs that wait in memory; more may in the database.
    pub waiting: usize,
    /// Pages that are being fetched or worked on.
    pub active: usize,
    /// The last URL that was visited.
    pub last_url: String,
    /// Its outcome.
    pub last_outcome: String,
    /// Hosts, the first 100.
    pub hosts: BTreeMap<String, HostProgress>,
}

/// Progress on one host.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct HostProgress {
    /// Answers received.
    pub fetched: u64,
    /// URLs that failed in the end.
    pub failed: u64,
    /// Bytes of bodies.
    pub bytes: u64,
}

/// Summary of a run.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// Name of the site.
    pub site: String,
    /// Number of the run.
    pub run_id: i64,
    /// Finished; or running, when this instance was stopped before the end.
    pub state: RunState,
    /// Whether the run goes on that was cut off.
    pub is_resumed: bool,
    /// Counts of the run, by all instances and since it began.
    pub counts: RunCounts,
    /// Time that this instance took.
    pub elapsed: Duration,
    /// Starting points with their outcomes, where none of them brought anything, and those
    /// whose server did not answer.
    pub failed_starts: Vec<(String, String)>,
    /// Other starting points that are not described, each with the reason.
    #[serde(default)]
    pub undescribed_starts: Vec<(String, String)>,
    /// Why its results are held back, where they are.
    pub held: Option<String>,
    /// Pages without words, the first 1,000, which are not described, each with the reason.
    #[serde(default)]
    pub without_words: Vec<(String, String)>,
    /// Pages of heaven that do not answer, and stay.
    pub missing: u64,
    /// Pages of heaven.
    pub shown: u64,
}

impl Summary {
    pub(super) fn of(run: StoredRun) -> Self {
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

    /// Returns `true` if the run came to its end, its results are in force, and the site answered.
    pub fn is_good(&self) -> bool {
        let is_finished = self.state == RunState::Finished;
        is_finished && self.failed_starts.is_empty() && !is_large_share(self.missing, self.shown)
    }
}

/// Returns `true` for more than ten of a heaven's pages that are more than a fifth of them.
pub fn is_large_share(pages: u64, of: u64) -> bool {
    // Of a small site a few pages are a large share, and go on any day.
    pages > 10 && pages.saturating_mul(5) > of
}

impl Progress {
    /// Returns answers a second since this instance began.
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
    fn the_rate_is_answers_a_second() {
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
    fn hosts_are_told_in_bounded_number() {
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
