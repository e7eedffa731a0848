//! Counts of verdicts.

use serde::Serialize;

use crate::admin::{moment::Moment, state::AdminState, time_zone::TimeZone};
use crate::verify::{HourVerdicts, RobotVerdicts};

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

impl TotalsView {
    pub(super) fn new(counts: &HourVerdicts) -> Self {
        Self {
            verified: counts.verified,
            unverifiable: counts.unverifiable,
            spoofed: counts.spoofed,
        }
    }

    /// Returns the counts of one robot, if it came in the last 24 hours.
    pub(in crate::admin) fn of_robot(state: &AdminState, id: &str) -> Option<Self> {
        let counts = state.admin().verifier.counts();
        let found = counts
            .iter()
            .find(|robot| robot.robot.as_deref() == Some(id));
        found.map(|robot| Self::new(&robot.total()))
    }

    /// Returns the sum over robots.
    pub(super) fn sum<'r>(robots: impl IntoIterator<Item = &'r RobotVerdicts>) -> Self {
        let mut sum = Self::default();
        for robot in robots {
            sum.add(Self::new(&robot.total()));
        }
        sum
    }

    pub(super) fn requests(&self) -> u64 {
        self.verified
            .saturating_add(self.unverifiable)
            .saturating_add(self.spoofed)
    }

    fn add(&mut self, other: Self) {
        self.verified = self.verified.saturating_add(other.verified);
        self.unverifiable = self.unverifiable.saturating_add(other.unverifiable);
        self.spoofed = self.spoofed.saturating_add(other.spoofed);
    }
}

impl HourView {
    /// Returns the hours of all these robots together, the oldest first; none if none came.
    pub(super) fn sum<'r>(
        robots: impl IntoIterator<Item = &'r RobotVerdicts>,
        now_ms: i64,
    ) -> Vec<Self> {
        let mut hours: Vec<Self> = Vec::new();
        for robot in robots {
            // All robots have the same hours, so that the place in the list tells the hour.
            for (at, counts) in robot.hours.iter().enumerate() {
                let counted = TotalsView::new(counts);
                if let Some(hour) = hours.get_mut(at) {
                    hour.counts.add(counted);
                } else {
                    hours.push(Self {
                        began: Moment::new(counts.began_ms, now_ms),
                        counts: counted,
                    });
                }
            }
        }
        hours
    }

    /// Returns the hour of the day, such as `13:00`.
    pub(super) fn clock(&self, zone: TimeZone) -> String {
        zone.at(self.began.at_ms).format("%H:%M").to_string()
    }
}
