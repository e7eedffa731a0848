//! Violations of robots.txt by day, from stored evidence.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{DEFAULT_SITE, problem::Problem, rfc3339, state::AdminState};
use robot_detection_store::store::ViolationDay;

const DAY_MS: i64 = 24 * 60 * 60_000;

/// Number of days shown, including today; by default, evidence is stored for this number of days.
const DAYS: i64 = 30;

/// The violations on a single day in UTC.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "ViolationDay")]
pub(super) struct DayView {
    /// Date of the row, such as `2026-03-01`.
    pub(super) day: String,
    pub(super) refused: u64,
    /// Number of violations that were only reported.
    pub(super) reported: u64,
}

/// The violations by day, oldest first; empty if violations are not stored.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
#[serde(transparent)]
pub(super) struct ViolationDays {
    pub(super) days: Vec<DayView>,
}

impl ViolationDays {
    /// Reads the violations on a site, by day; returns none while the database is unavailable.
    pub(super) async fn load(state: &AdminState, site: &str) -> Result<Self, Problem> {
        let site = if site.is_empty() { DEFAULT_SITE } else { site };
        let last = state.now_ms().div_euclid(DAY_MS);
        let first = last - DAYS + 1;
        let store = &state.operations().store;
        match store.evidence().violation_days(site, first * DAY_MS).await {
            Err(error) if error.outage().is_some() => Ok(Self::default()),
            days => Ok(Self::new(&days?, first)),
        }
    }

    fn new(counted: &[ViolationDay], first: i64) -> Self {
        if counted.is_empty() {
            return Self::default();
        }
        let by_day: BTreeMap<i64, &ViolationDay> = counted
            .iter()
            .map(|counted| (counted.day, counted))
            .collect();
        let view = |day: i64| {
            let counted = by_day.get(&day);
            let refused = counted.map_or(0, |counted| counted.refused);
            let date = rfc3339(day.saturating_mul(DAY_MS));
            DayView {
                day: date.split('T').next().unwrap_or_default().to_owned(),
                refused,
                reported: counted.map_or(0, |counted| counted.hits.saturating_sub(refused)),
            }
        };
        Self {
            days: (first..first + DAYS).map(view).collect(),
        }
    }
}
