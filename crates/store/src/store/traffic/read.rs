//! Reads traffic totals.

use super::TrafficSums;
use std::ops::Range;

use super::{
    super::StoreError,
    TrafficCount, TrafficKey, TrafficSpan,
    gather::{Keys, SumCollector},
    sql,
};

/// The total of the requests with the same key in a period.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct TrafficSum {
    /// The traffic key shared by the requests.
    pub key: TrafficKey,
    /// The total number, size and duration of the requests.
    pub count: TrafficCount,
}

impl TrafficSum {
    /// Creates a total from a key and a count.
    pub fn new(key: TrafficKey, count: TrafficCount) -> Self {
        Self { key, count }
    }
}

impl TrafficSums<'_> {
    /// Returns the totals for a range of minutes since the Unix epoch, one per key, in no
    /// particular order.
    ///
    /// The totals are combined from [pieces](TrafficSpan::cover), all read from the same snapshot.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn read(
        self,
        minutes: Range<i64>,
        now_ms: i64,
    ) -> Result<Vec<TrafficSum>, StoreError> {
        let mut transaction = self.db.begin_reading("read the traffic").await?;
        let keys = Keys::read(&mut transaction).await?;
        let mut gathered = SumCollector::new(&keys, None, false);
        for (span, piece) in TrafficSpan::cover(minutes, now_ms.div_euclid(60_000)) {
            gathered.add(&mut transaction, span, &piece).await?;
        }
        transaction.commit().await?;
        let sums = gathered.sums;
        let sums = keys.keys.into_iter().zip(sums);
        let counted = sums.filter(|(_, count)| !count.is_empty());
        Ok(counted
            .map(|(key, count)| TrafficSum { key, count })
            .collect())
    }

    /// Returns the minutes within a range in which a site's requests were counted live.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn live_minutes(
        self,
        site: &str,
        minutes: Range<i64>,
    ) -> Result<Vec<Range<i64>>, StoreError> {
        let values = [site.into(), minutes.start.into(), (minutes.end - 1).into()];
        let rows = self.db.rows::<(i64, i64)>(&sql::LIVE_MINUTES, &values);
        let rows = rows.await?.into_iter();
        Ok(rows.map(|(began, ended)| began..ended + 1).collect())
    }

    /// Returns the first minute of the first day that has traffic, or `None` if there is no
    /// traffic.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn first_day(self) -> Result<Option<i64>, StoreError> {
        let day = [TrafficSpan::Day.number().into()];
        let first = self.db.value::<Option<i64>>(&sql::FIRST_DAY, &day);
        Ok(first.await?.and_then(|first| first))
    }
}
