//! Sums are read.

use super::TrafficSums;
use std::ops::Range;

use super::{
    super::StoreError,
    TrafficCount, TrafficKey, TrafficSpan,
    gather::{Gathering, Keys},
    sql,
};

/// What was counted of a key in some time.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct TrafficSum {
    /// What it was counted of.
    pub key: TrafficKey,
    /// The sum.
    pub count: TrafficCount,
}

impl TrafficSum {
    /// Creates the sum of a key.
    pub fn new(key: TrafficKey, count: TrafficCount) -> Self {
        Self { key, count }
    }
}

impl TrafficSums<'_> {
    /// Returns the sums of some minutes since 1970, one of each key, in no order.
    ///
    /// They are put together of [pieces](TrafficSpan::cover); all are read in the same state.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn read(
        self,
        minutes: Range<i64>,
        now_ms: i64,
    ) -> Result<Vec<TrafficSum>, StoreError> {
        let mut transaction = self.db.begin_reading("read the traffic").await?;
        let keys = Keys::read(&mut transaction).await?;
        let mut gathered = Gathering::new(&keys, None, false);
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

    /// Returns the minutes in which a server counted requests of a site, as far as they meet some.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
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

    /// Returns the first minute of the first day of which anything was counted.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn first_day(self) -> Result<Option<i64>, StoreError> {
        let day = [TrafficSpan::Day.number().into()];
        let first = self.db.value::<Option<i64>>(&sql::FIRST_DAY, &day);
        Ok(first.await?.and_then(|first| first))
    }
}
