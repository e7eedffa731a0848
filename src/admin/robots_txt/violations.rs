//! Violations of robots.txt.

use std::time::Duration;

use serde::Serialize;

use super::super::{moment::Moment, page::encode};
use crate::detect::UNLISTED;
use crate::policy::{Broken, Violation, Violations};

/// Violations as the page and its JSON show them.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ViolationsView {
    /// Requests for what a rule disallows.
    pub(super) rules: Vec<RuleView>,
    /// Requests that came sooner than `Crawl-delay` asks.
    pub(super) delays: Vec<DelayView>,
    /// Violations that were dropped to make room for later ones.
    pub(super) dropped: u64,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct RuleView {
    pub(super) line: usize,
    pub(super) rule: String,
    pub(super) group: String,
    pub(super) group_line: usize,
    #[serde(flatten)]
    pub(super) seen: ViolationView,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct DelayView {
    pub(super) delay_seconds: f64,
    pub(super) shortest_gap_seconds: f64,
    #[serde(flatten)]
    pub(super) seen: ViolationView,
}

/// Robot, number and times of a violation.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ViolationView {
    pub(super) robot: String,
    pub(super) host: String,
    pub(super) hits: u64,
    pub(super) refused: u64,
    /// "reported", "refused", or "some refused".
    pub(super) mode: &'static str,
    pub(super) first: Moment,
    pub(super) last: Moment,
    pub(super) last_path: String,
    pub(super) last_user_agent: String,
    /// Page of robots that shows it; empty: it is listed nowhere.
    #[serde(skip)]
    pub(super) link: String,
}

impl ViolationsView {
    pub(super) fn new(violations: Violations, now_ms: i64) -> Self {
        let mut view = Self {
            rules: Vec::new(),
            delays: Vec::new(),
            dropped: violations.dropped,
        };
        for violation in violations.rules.into_iter().chain(violations.delays) {
            let seen = ViolationView::new(&violation, now_ms);
            view.add(violation.broken, seen);
        }
        view
    }

    fn add(&mut self, broken: Broken, seen: ViolationView) {
        match broken {
            Broken::Rule {
                line,
                rule,
                group_line,
                group,
            } => self.rules.push(RuleView {
                line,
                rule,
                group,
                group_line,
                seen,
            }),
            Broken::Delay {
                delay,
                shortest_gap,
            } => self.delays.push(DelayView {
                delay_seconds: delay.as_secs_f64(),
                shortest_gap_seconds: shortest_gap.as_secs_f64(),
                seen,
            }),
        }
    }
}

impl ViolationView {
    fn new(violation: &Violation, now_ms: i64) -> Self {
        let (hits, refused) = (violation.hits, violation.refused);
        let robot = &violation.robot;
        Self {
            robot: robot.clone(),
            host: violation.host.clone(),
            hits,
            refused,
            mode: match refused {
                0 => "reported",
                all if all == hits => "refused",
                _ => "some refused",
            },
            first: Moment::new(violation.first_ms, now_ms),
            last: Moment::new(violation.last_ms, now_ms),
            last_path: violation.last_path.clone(),
            last_user_agent: violation.last_user_agent.clone(),
            link: if robot == UNLISTED {
                String::new()
            } else {
                format!("registry?q={}", encode(robot))
            },
        }
    }
}

/// Returns seconds, if there are any.
pub(super) fn seconds(duration: Option<Duration>) -> Option<f64> {
    duration.map(|duration| duration.as_secs_f64())
}
