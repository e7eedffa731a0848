//! Violations of robots.txt.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::super::{DEFAULT_SITE, Moment, page::encode, problem::Problem, state::AdminState};
use robot_detection_layer::detect::UNLISTED;
use robot_detection_store::store::{BrokenRule, StoredViolation};

/// Maximum number of violations that are read from the database.
const MAX_VIOLATIONS: u64 = 2_000;

/// The violations on the page and in its JSON version.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
#[schemars(rename = "Violations")]
pub(super) struct ViolationsView {
    /// Requests for disallowed paths, by the rule of robots.txt that disallows the path.
    pub(super) rules: Vec<RuleView>,
    /// Requests that were sent earlier than `Crawl-delay` allows.
    pub(super) delays: Vec<DelayView>,
}

#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "ViolatedRule")]
pub(super) struct RuleView {
    pub(super) line: u64,
    pub(super) rule: String,
    pub(super) group: String,
    pub(super) group_line: u64,
    #[serde(flatten)]
    pub(super) seen: ViolationView,
}

#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "CrawlDelayViolation")]
pub(super) struct DelayView {
    pub(super) delay_seconds: f64,
    pub(super) shortest_gap_seconds: f64,
    #[serde(flatten)]
    pub(super) seen: ViolationView,
}

/// The robot that violated robots.txt, with the number and times of the violations.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(super) struct ViolationView {
    pub(super) robot: String,
    pub(super) host: String,
    pub(super) hits: u64,
    pub(super) refused: u64,
    /// How the violations were handled: "reported", "refused" or "some refused".
    pub(super) mode: &'static str,
    pub(super) first: Moment,
    pub(super) last: Moment,
    pub(super) last_path: String,
    pub(super) last_user_agent: String,
    /// Link to the robot's page; empty if the robot is not in the registry.
    #[serde(skip)]
    pub(super) link: String,
}

impl ViolationsView {
    /// Reads the violations on a site; returns none while the database is unavailable.
    pub(super) async fn load(state: &AdminState, site: &str) -> Result<Self, Problem> {
        let site = if site.is_empty() { DEFAULT_SITE } else { site };
        state.operations().traffic.catch_up().await;
        match state
            .operations()
            .store
            .evidence()
            .violations(site, MAX_VIOLATIONS)
            .await
        {
            Err(error) if error.outage().is_some() => Ok(Self::default()),
            violations => Ok(Self::new(violations?, state.now_ms())),
        }
    }

    fn new(violations: Vec<StoredViolation>, now_ms: i64) -> Self {
        let mut view = Self::default();
        for violation in violations {
            let seen = ViolationView::new(&violation, now_ms);
            match violation.last.broken {
                Some(BrokenRule::Rule {
                    line,
                    rule,
                    group_line,
                    group,
                }) => view.rules.push(RuleView {
                    line,
                    rule,
                    group,
                    group_line,
                    seen,
                }),
                Some(BrokenRule::Delay { delay_ms, .. }) => view.delays.push(DelayView {
                    delay_seconds: seconds_of(delay_ms),
                    shortest_gap_seconds: seconds_of(violation.shortest_gap_ms),
                    seen,
                }),
                None => {}
            }
        }
        view
    }
}

impl ViolationView {
    fn new(violation: &StoredViolation, now_ms: i64) -> Self {
        let (hits, refused, last) = (violation.hits, violation.refused, &violation.last);
        Self {
            robot: last.robot.clone(),
            host: last.host.clone(),
            hits,
            refused,
            mode: match refused {
                0 => "reported",
                all if all == hits => "refused",
                _ => "some refused",
            },
            first: Moment::new(violation.first_ms, now_ms),
            last: Moment::new(last.at_ms, now_ms),
            last_path: last.path.clone(),
            last_user_agent: last.user_agent.clone(),
            link: if last.robot == UNLISTED {
                String::new()
            } else {
                format!("registry?q={}", encode(&last.robot))
            },
        }
    }
}

fn seconds_of(ms: u64) -> f64 {
    Duration::from_millis(ms).as_secs_f64()
}

/// Returns a duration as a number of seconds.
pub(super) fn seconds(duration: Option<Duration>) -> Option<f64> {
    duration.map(|duration| duration.as_secs_f64())
}
