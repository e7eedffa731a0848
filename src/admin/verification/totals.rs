//! Counts of verdicts.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::admin::{moment::Moment, problem::Problem, state::AdminState};
use crate::detect::{Kind, Verdict};
use crate::store::{TrafficSeries, TrafficSpan};

/// Hours that are told, the current one included.
const HOURS: usize = 24;

const HOUR_MINUTES: i64 = 60;
const DAY_MINUTES: i64 = 24 * HOUR_MINUTES;
const MINUTE_MS: i64 = 60_000;

/// Number of requests by verdict.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub(in crate::admin) struct TotalsView {
    pub(in crate::admin) verified: u64,
    pub(in crate::admin) unverifiable: u64,
    pub(in crate::admin) spoofed: u64,
}

/// Verdicts of one hour.
#[derive(Clone, Debug, Serialize)]
pub(super) struct HourView {
    pub(super) began: Moment,
    #[serde(flatten)]
    pub(super) counts: TotalsView,
}

/// Verdicts of the last day, by robot and hour.
#[derive(Debug, Default)]
pub(in crate::admin) struct Verdicts {
    /// First minute of the first hour.
    began: i64,
    robots: BTreeMap<String, [TotalsView; HOURS]>,
}

impl Verdicts {
    /// Reads them; while the database is away there are none.
    pub(in crate::admin) async fn load(state: &AdminState) -> Result<Self, Problem> {
        state.admin().traffic.catch_up().await;
        let now_ms = state.now_ms();
        let ends = (now_ms.div_euclid(HOUR_MINUTES * MINUTE_MS) + 1) * HOUR_MINUTES;
        let began = ends - DAY_MINUTES;
        let day = [(began..ends, Some(TrafficSpan::Hour))];
        match state.admin().store.traffic_series(&day, None, now_ms).await {
            Err(error) if error.absence().is_some() => Ok(Self::default()),
            series => Ok(Self::new(began, &series?)),
        }
    }

    fn new(began: i64, series: &TrafficSeries) -> Self {
        let mut verdicts = Self {
            began,
            ..Self::default()
        };
        for step in series.parts.iter().flat_map(|part| &part.steps) {
            let place = usize::try_from((step.began - began) / HOUR_MINUTES).ok();
            for cell in &step.cells {
                let key = series.keys.get(cell.place());
                let Some(key) = key.filter(|key| key.kind == Kind::Listed.as_str()) else {
                    continue;
                };
                let hours = verdicts.robots.entry(key.robot.clone()).or_default();
                if let Some(hour) = place.and_then(|place| hours.get_mut(place)) {
                    hour.count(&key.verdict, cell.requests);
                }
            }
        }
        // Of some robots nothing but pending requests, or none that were proven, are known.
        verdicts
            .robots
            .retain(|_, hours| hours.iter().any(|hour| hour.requests() > 0));
        verdicts
    }

    /// Returns the counts of one robot, if it came.
    pub(in crate::admin) fn of_robot(&self, id: &str) -> Option<TotalsView> {
        self.robots.get(id).map(|hours| sum(hours))
    }

    /// Returns robots and their counts.
    pub(super) fn robots(&self) -> impl Iterator<Item = (&str, TotalsView)> {
        self.robots.iter().map(|(id, hours)| (&**id, sum(hours)))
    }

    /// Returns the counts of all robots.
    pub(super) fn total(&self) -> TotalsView {
        let mut total = TotalsView::default();
        self.robots().for_each(|(_, counts)| total.add(counts));
        total
    }

    /// Returns the hours of one robot or of all together, the oldest first; none if none came.
    pub(super) fn hours(&self, robot: Option<&str>, now_ms: i64) -> Vec<HourView> {
        let chosen = self.robots.iter();
        let chosen: Vec<_> = chosen
            .filter(|(id, _)| robot.is_none_or(|robot| robot == **id))
            .map(|(_, hours)| hours)
            .collect();
        if chosen.is_empty() {
            return Vec::new();
        }
        let hour = |(place, began): (usize, i64)| {
            let mut counts = TotalsView::default();
            let of_hour = chosen.iter().filter_map(|hours| hours.get(place));
            of_hour.for_each(|hour| counts.add(*hour));
            HourView {
                began: Moment::new(began * MINUTE_MS, now_ms),
                counts,
            }
        };
        let began = (0..).map(|hour| self.began + hour * HOUR_MINUTES);
        (0..HOURS).zip(began).map(hour).collect()
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
            // What passed before its proof is told by none of the three.
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

fn sum(hours: &[TotalsView]) -> TotalsView {
    let mut sum = TotalsView::default();
    for hour in hours {
        sum.add(*hour);
    }
    sum
}
