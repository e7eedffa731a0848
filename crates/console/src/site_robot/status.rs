//! The state of a site robot's run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{Moment, duration_text, problem::Problem, state::AdminState};
use robot_detection_site_robot::site_robot::{Progress, RobotState};
use robot_detection_store::store::{DifferingPage, RunCommand, RunCounts, RunState, StoredRun};

/// Maximum number of runs that are shown.
const HISTORY: u32 = 20;

/// Maximum number of heaven pages shown that contain text missing from their originals.
const DIFFERING: u32 = 20;

/// The state of a site robot's run, and the actions that the page offers.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "templates query each flag separately"
)]
#[schemars(rename = "SiteRobotStatus")]
pub(crate) struct StatusView {
    pub(super) site: String,
    pub(super) state: RunStatus,
    /// State of the site robot, as one line of text.
    pub(super) text: &'static str,
    /// Whether the state may change without any action by a user.
    pub(super) running: bool,
    pub(super) can_run: bool,
    pub(super) can_pause: bool,
    pub(super) can_resume: bool,
    pub(super) can_stop: bool,
    /// Whether the quarantined results can be accepted from this process.
    pub(super) can_accept: bool,
    /// Reason why the results of the most recent run are held for review.
    pub(super) held: Option<String>,
    /// Question that an administrator must answer before new pages are published.
    pub(super) question: Option<String>,
    /// Whether starting the robot continues a stopped run.
    pub(super) is_resumable: bool,
    pub(super) descriptions: u64,
    /// Number of stored descriptions whose pages are hidden.
    pub(super) hidden: u64,
    /// Number of pages that did not respond in the most recent run but are still shown.
    pub(super) missing: u64,
    /// Heaven pages that contain text that their originals lack.
    pub(super) parity: ParityView,
    /// Reason why the most recent run failed or did not start.
    pub(super) failure: Option<String>,
    /// The site robot's current run, or its most recent run if none is in progress.
    pub(super) run: Option<RunView>,
    pub(super) live: Option<LiveView>,
}

/// The result of comparing heaven pages with their originals.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
#[schemars(rename = "Parity")]
pub(super) struct ParityView {
    pub(super) compared: u64,
    pub(super) differing: u64,
    pub(super) withdrawn: u64,
    /// Heaven pages that differ from their originals, starting with the page that has differed
    /// longest.
    pub(super) pages: Vec<DifferingView>,
}

/// A heaven page that contains text that its original lacks.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "ParityDifference")]
pub(super) struct DifferingView {
    pub(super) url: String,
    pub(super) sentence: String,
    pub(super) since: Moment,
    pub(super) withdrawn: bool,
}

/// The state of a site robot's run.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RunStatus {
    Idle,
    Starting,
    Running,
    Paused,
    Stopping,
    Stopped,
}

/// A current or earlier run of the site robot.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Run")]
pub(super) struct RunView {
    pub(super) id: i64,
    /// Outcome of the run: "running", "stopped", "finished", "held" or "abandoned".
    pub(super) outcome: &'static str,
    pub(super) started: Moment,
    pub(super) finished: Option<Moment>,
    #[serde(skip)]
    pub(super) took: String,
    #[serde(flatten)]
    #[schemars(with = "BTreeMap<String, u64>")]
    pub(super) counts: RunCounts,
}

/// The current activity of this process's site robot.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "RunProgress")]
pub(super) struct LiveView {
    /// State of the robot: "running", "paused" or "stopping".
    pub(super) state: &'static str,
    /// Number of responses per second, with one decimal.
    pub(super) rate: String,
    pub(super) waiting: usize,
    pub(super) active: usize,
    pub(super) last_url: String,
    pub(super) last_outcome: String,
    pub(super) hosts: Vec<HostView>,
}

/// A host that the site robot is visiting.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "HostProgress")]
pub(super) struct HostView {
    pub(super) host: String,
    pub(super) fetched: u64,
    pub(super) failed: u64,
    pub(super) bytes: u64,
}

impl StatusView {
    /// Loads the state of a site's run, and the recent runs, newest first.
    pub(super) async fn load(
        state: &AdminState,
        site: &str,
    ) -> Result<(Self, Vec<RunView>), Problem> {
        let operations = state.operations();
        let runs = operations.store.frontier().runs(site, HISTORY).await?;
        let descriptions = operations.store.descriptions().count(site).await?;
        let states = operations
            .store
            .publications()
            .description_states(site)
            .await?;
        let held = runs.first().and_then(|run| run.held.clone());
        let robot = operations.robot_runs.robot(site);
        let question = robot
            .as_ref()
            .and_then(|robot| robot.hold().map(str::to_owned));
        let progress = robot.map(|robot| robot.handle().progress());
        let is_wanted = operations.robot_runs.is_run_requested(site);
        let is_offered = operations.robot_runs.offered().iter().any(|it| it == site);
        let live = progress
            .as_ref()
            .map_or(RobotState::Idle, |progress| progress.state);
        // Only the most recent run of a site can be open.
        let open = runs.first().filter(|run| run.state == RunState::Running);
        let standing = RunStatus::new(open.map(|run| run.wanted), live, is_wanted);
        let now_ms = state.now_ms();
        let views: Vec<_> = runs.iter().map(|run| RunView::new(run, now_ms)).collect();
        let is_idle_here = live == RobotState::Idle && !is_wanted;
        let status = Self {
            site: site.to_owned(),
            state: standing,
            text: standing.text(open.is_some() && live == RobotState::Idle),
            running: !matches!(standing, RunStatus::Idle | RunStatus::Stopped),
            can_run: is_offered && is_idle_here && standing != RunStatus::Paused,
            can_pause: standing == RunStatus::Running,
            can_resume: standing == RunStatus::Paused,
            can_stop: matches!(standing, RunStatus::Running | RunStatus::Paused),
            can_accept: is_offered && is_idle_here && held.is_some() && question.is_none(),
            held,
            question,
            hidden: states.hidden,
            missing: states.missing,
            parity: ParityView::load(state, site).await?,
            is_resumable: open.is_some(),
            descriptions,
            failure: operations.robot_runs.failure(site),
            run: views.first().cloned(),
            live: progress
                .filter(|progress| progress.state != RobotState::Idle)
                .map(LiveView::new),
        };
        Ok((status, views))
    }
}

impl ParityView {
    async fn load(state: &AdminState, site: &str) -> Result<Self, Problem> {
        let store = &state.operations().store;
        let (of_site, now_ms) = (
            store.publications().parity_state(site).await?,
            state.now_ms(),
        );
        let pages = store
            .publications()
            .differing_pages(site, DIFFERING)
            .await?;
        let page = |page: DifferingPage| DifferingView {
            url: page.url,
            sentence: page.sentence,
            since: Moment::new(page.since_ms, now_ms),
            withdrawn: page.is_withdrawn,
        };
        Ok(Self {
            compared: of_site.compared,
            differing: of_site.differing,
            withdrawn: of_site.withdrawn,
            pages: pages.into_iter().map(page).collect(),
        })
    }
}

impl RunStatus {
    /// Returns the state that results from the requested state and the activity of the local robot.
    fn new(wanted: Option<RunCommand>, live: RobotState, is_asked_for: bool) -> Self {
        match (wanted, live) {
            // A requested run appears in the database only after it has started.
            (_, RobotState::Idle) if is_asked_for => Self::Starting,
            (None, RobotState::Idle) => Self::Idle,
            // No robot runs in this process, and a robot in another process obeys the same command
            // in the database.
            (Some(RunCommand::Stop), RobotState::Idle) => Self::Stopped,
            (Some(RunCommand::Stop), _) => Self::Stopping,
            // Visits that are in progress still finish, which makes no difference for the page.
            (Some(RunCommand::Pause), _) => Self::Paused,
            (Some(RunCommand::Run) | None, _) => Self::Running,
        }
    }

    /// Returns the state as text; if the run belongs to another process, only the requested state
    /// is known.
    fn text(self, is_elsewhere: bool) -> &'static str {
        match self {
            Self::Idle => "No run is in progress.",
            Self::Starting => "The run is starting.",
            Self::Running if is_elsewhere => {
                "A run is in progress in another process, or was interrupted."
            }
            Self::Running => "The robot is visiting pages.",
            Self::Paused => "The run is paused.",
            Self::Stopping => "The robot is finishing its current visits and will then stop.",
            Self::Stopped => "The run was stopped and can be continued.",
        }
    }

    /// Returns the state's name in JSON.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
        }
    }
}

impl RunView {
    fn new(run: &StoredRun, now_ms: i64) -> Self {
        let until_ms = run.finished_ms.unwrap_or(now_ms);
        Self {
            id: run.run_id,
            outcome: match (run.state, run.wanted) {
                (RunState::Running, RunCommand::Stop) => "stopped",
                (RunState::Running, RunCommand::Pause) => "paused",
                (state, _) => state.as_str(),
            },
            started: Moment::new(run.started_ms, now_ms),
            finished: run.finished_ms.map(|at_ms| Moment::new(at_ms, now_ms)),
            took: duration_text(until_ms.saturating_sub(run.started_ms)),
            counts: run.counts,
        }
    }

    /// Returns the counts as tiles, each with its key in JSON, its heading and its value.
    pub(super) fn tiles(&self) -> [(&'static str, &'static str, u64); 9] {
        [
            ("found", "Found", self.counts.found),
            ("fetched", "Fetched", self.counts.fetched),
            ("unmodified", "Unmodified", self.counts.unmodified),
            ("added", "Added", self.counts.added),
            ("changed", "Changed", self.counts.changed),
            ("same", "Same", self.counts.same),
            ("withdrawn", "Withdrawn", self.counts.withdrawn),
            ("rejected", "Rejected", self.counts.rejected),
            ("failed", "Failed", self.counts.failed),
        ]
    }
}

impl LiveView {
    fn new(progress: Progress) -> Self {
        let rate = format!("{:.1}", progress.rate());
        let hosts = progress.hosts.into_iter().map(|(host, counts)| HostView {
            host,
            fetched: counts.fetched,
            failed: counts.failed,
            bytes: counts.bytes,
        });
        Self {
            state: progress.state.as_str(),
            rate,
            waiting: progress.waiting,
            active: progress.active,
            last_url: progress.last_url,
            last_outcome: progress.last_outcome,
            hosts: hosts.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_status_follows_from_request_and_activity() {
        use RobotState as Live;
        use RunCommand::{Pause, Run, Stop};
        for (wanted, live, is_asked_for, expected) in [
            (None, Live::Idle, false, RunStatus::Idle),
            (None, Live::Idle, true, RunStatus::Starting),
            (Some(Stop), Live::Idle, true, RunStatus::Starting),
            (Some(Run), Live::Running, false, RunStatus::Running),
            (Some(Run), Live::Idle, false, RunStatus::Running),
            (Some(Pause), Live::Running, false, RunStatus::Paused),
            (Some(Pause), Live::Idle, false, RunStatus::Paused),
            (Some(Stop), Live::Running, false, RunStatus::Stopping),
            (Some(Stop), Live::Idle, false, RunStatus::Stopped),
            (None, Live::Stopping, false, RunStatus::Running),
        ] {
            let standing = RunStatus::new(wanted, live, is_asked_for);
            assert_eq!(standing, expected, "{wanted:?} {live:?}");
        }
    }

    #[test]
    fn count_headings_match_their_names() {
        let run = RunView {
            id: 1,
            outcome: "finished",
            started: Moment::new(0, 0),
            finished: None,
            took: String::new(),
            counts: RunCounts::default(),
        };
        for (name, heading, _) in run.tiles() {
            assert_eq!(heading.to_ascii_lowercase(), name);
        }
    }
}
