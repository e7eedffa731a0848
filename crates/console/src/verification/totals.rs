//! The counts of verdicts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{problem::Problem, state::AdminState};
use robot_detection_layer::detect::{Kind, Verdict};
use robot_detection_store::store::{TrafficSeries, TrafficSpan};

const HOUR_MINUTES: i64 = 60;
const DAY_MINUTES: i64 = 24 * HOUR_MINUTES;
const MINUTE_MS: i64 = 60_000;

/// The number of requests for each verdict.
#[derive(Clone, Copy, Debug, Default, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(rename = "VerdictTotals")]
pub(crate) struct TotalsView {
    pub(crate) verified: u64,
    pub(crate) unverifiable: u64,
    pub(crate) spoofed: u64,
}

/// The verdicts in the last 24 hours, by robot.
#[derive(Debug, Default)]
pub(crate) struct Verdicts {
    robots: BTreeMap<String, TotalsView>,
}

impl Verdicts {
    /// Reads the verdicts; returns none while the database is unavailable.
    pub(crate) async fn load(state: &AdminState) -> Result<Self, Problem> {
        state.operations().traffic.catch_up().await;
        let now_ms = state.now_ms();
        let ends = (now_ms.div_euclid(HOUR_MINUTES * MINUTE_MS) + 1) * HOUR_MINUTES;
        let began = ends - DAY_MINUTES;
        let day = [(began..ends, Some(TrafficSpan::Hour))];
        match state
            .operations()
            .store
            .traffic()
            .series(&day, None, now_ms)
            .await
        {
            Err(error) if error.outage().is_some() => Ok(Self::default()),
            series => Ok(Self::new(&series?)),
        }
    }

    fn new(series: &TrafficSeries) -> Self {
        let mut robots = BTreeMap::<String, TotalsView>::new();
        let steps = series.parts.iter().flat_map(|part| &part.steps);
        for cell in steps.flat_map(|step| &step.cells) {
            let key = series.keys.get(cell.key_index());
            if let Some(key) = key.filter(|key| key.kind == Kind::Listed.as_str()) {
                let counts = robots.entry(key.robot.clone()).or_default();
                counts.count(&key.verdict, cell.requests);
            }
        }
        // Some robots have only requests that are pending or were not verified.
        robots.retain(|_, counts| counts.requests() > 0);
        Self { robots }
    }

    /// Returns the counts of one robot if the robot sent any requests.
    pub(crate) fn for_robot(&self, id: &str) -> Option<TotalsView> {
        self.robots.get(id).copied()
    }

    /// Returns the robots with their counts.
    pub(super) fn robots(&self) -> impl Iterator<Item = (&str, TotalsView)> {
        self.robots.iter().map(|(id, counts)| (&**id, *counts))
    }

    /// Returns the sum of the counts for all robots.
    pub(super) fn total(&self) -> TotalsView {
        let mut total = TotalsView::default();
        self.robots().for_each(|(_, counts)| total.add(counts));
        total
    }
}

impl TotalsView {
    pub(super) fn requests(&self) -> u64 {
        self.verified
            .saturating_add(self.unverifiable)
            .saturating_add(self.spoofed)
    }

    fn count(&mut self, verdict: &str, requests: u64) {
        let number = match Verdict::from_word(verdict) {
            Some(Verdict::Verified) => &mut self.verified,
            Some(Verdict::Unverifiable) => &mut self.unverifiable,
            Some(Verdict::Spoofed) => &mut self.spoofed,
            // A request that passed before a verdict was reached is not included in any of the
            // three counts.
            Some(Verdict::Pending) | None => return,
        };
        *number = number.saturating_add(requests);
    }

    fn add(&mut self, other: Self) {
        self.verified = self.verified.saturating_add(other.verified);
        self.unverifiable = self.unverifiable.saturating_add(other.unverifiable);
        self.spoofed = self.spoofed.saturating_add(other.spoofed);
    }
}
