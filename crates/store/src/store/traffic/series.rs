//! The course of traffic is read: what was counted when.

use super::TrafficSums;
use std::ops::Range;

use super::{
    super::StoreError,
    TrafficCount, TrafficKey, TrafficSpan,
    gather::{Gathering, Keys},
};

/// Course of the traffic in some times, all read in the same state.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TrafficSeries {
    /// What is counted apart.
    pub keys: Vec<TrafficKey>,
    /// The times, as they were asked for.
    pub parts: Vec<TrafficPart>,
}

/// Course of the traffic in one time.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TrafficPart {
    /// Minutes that it is of: more than were asked for where only whole spans are kept.
    pub minutes: Range<i64>,
    /// The sum of each key of the series, in their order.
    pub sums: Vec<TrafficCount>,
    /// The same by spans, in no order; none where only sums were asked for.
    pub steps: Vec<TrafficStep>,
}

/// What was counted in one span.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TrafficStep {
    /// First minute of the span.
    pub began: i64,
    /// The span.
    pub span: TrafficSpan,
    /// What was counted, in no order.
    pub cells: Vec<TrafficCell>,
}

/// What was counted of a key in one span.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct TrafficCell {
    /// Place of the key among those of the series.
    pub key: u32,
    /// Requests.
    pub requests: u64,
    /// Bytes of the responses' bodies.
    pub bytes: u64,
}

impl TrafficCell {
    /// Returns the place of the key among those of the series.
    pub fn place(&self) -> usize {
        self.key as usize
    }
}

impl TrafficSums<'_> {
    /// Returns the course of some minutes since 1970, each in spans of at most a given length, or
    /// without one only its sums.
    ///
    /// They are put together of the same [pieces](TrafficSpan::cover) as the sums of
    /// [`read`](Self::read), so that both tell the same of the same minutes. With a robot
    /// nothing else is told of.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn series(
        self,
        times: &[(Range<i64>, Option<TrafficSpan>)],
        robot: Option<&str>,
        now_ms: i64,
    ) -> Result<TrafficSeries, StoreError> {
        let now = now_ms.div_euclid(60_000);
        let mut transaction = self.db.begin_reading("read the traffic").await?;
        let keys = Keys::read(&mut transaction).await?;
        let mut parts = Vec::new();
        for (minutes, longest) in times {
            let most = longest.unwrap_or(TrafficSpan::Day);
            let pieces = TrafficSpan::cover_by(minutes.clone(), now, most);
            let mut gathered = Gathering::new(&keys, robot, longest.is_some());
            for (span, piece) in &pieces {
                gathered.add(&mut transaction, *span, piece).await?;
            }
            parts.push(TrafficPart {
                minutes: TrafficSpan::covered(&pieces).unwrap_or(minutes.clone()),
                sums: gathered.sums,
                steps: gathered.steps.unwrap_or_default(),
            });
        }
        transaction.commit().await?;
        Ok(TrafficSeries {
            keys: keys.keys,
            parts,
        })
    }
}
