//! Reads traffic over time.

use super::TrafficSums;
use std::ops::Range;

use super::{
    super::StoreError,
    TrafficCount, TrafficKey, TrafficSpan,
    gather::{Keys, SumCollector},
};

/// Traffic over several time ranges, all read from the same snapshot.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TrafficSeries {
    /// The traffic keys of all totals in the series.
    pub keys: Vec<TrafficKey>,
    /// The traffic in each time range, in the order of the query.
    pub parts: Vec<TrafficRange>,
}

/// Traffic over one time range.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TrafficRange {
    /// The minutes covered; more than requested if only longer spans are stored.
    pub minutes: Range<i64>,
    /// The total for each key, in the order of the series' keys.
    pub sums: Vec<TrafficCount>,
    /// The traffic in each span, in no particular order; empty if only totals were requested.
    pub steps: Vec<TrafficStep>,
}

/// Traffic in one time span.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TrafficStep {
    /// The first minute of the time span.
    pub began: i64,
    /// The length of the time span.
    pub span: TrafficSpan,
    /// The counts by key, in no particular order.
    pub cells: Vec<TrafficCell>,
}

/// The number of requests with the same key in one time span.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct TrafficCell {
    /// The index of the cell's key in the series' keys.
    pub key: u32,
    /// The number of requests in the cell.
    pub requests: u64,
    /// The total size of the response bodies, in bytes.
    pub bytes: u64,
}

impl TrafficCell {
    /// Returns the index of the cell's key in the series' keys.
    pub fn key_index(&self) -> usize {
        self.key as usize
    }
}

impl TrafficSums<'_> {
    /// Returns the traffic over ranges of minutes since the Unix epoch. Each range is split into
    /// spans of at most the given length; if no length is given, only totals are returned.
    ///
    /// The [pieces](TrafficSpan::cover) are the same as those used by [`read`](Self::read), so both
    /// return the same totals. If a robot is given, only requests from this robot are included.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
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
            let pieces = TrafficSpan::cover_up_to(minutes.clone(), now, most);
            let mut gathered = SumCollector::new(&keys, robot, longest.is_some());
            for (span, piece) in &pieces {
                gathered.add(&mut transaction, *span, piece).await?;
            }
            parts.push(TrafficRange {
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
