//! Sums are read.

use std::ops::Range;

use super::{
    super::{Store, StoreError, columns::columns, robots::from_sql},
    TrafficCount, TrafficKey, TrafficSpan, sql,
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
    #[must_use]
    pub fn new(key: TrafficKey, count: TrafficCount) -> Self {
        Self { key, count }
    }
}

columns! {
    #[derive(Debug)]
    struct SumRow {
        site: String,
        kind: String,
        robot: String,
        verdict: String,
        decision: String,
        cause: String,
        status: i64,
        requests: i64,
        bytes: i64,
        micros: i64,
    }
}

impl Store {
    /// Returns the sums of some minutes since 1970, in no order.
    ///
    /// They are put together of [pieces](TrafficSpan::cover); all are read in the same state.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn traffic(
        &self,
        minutes: Range<i64>,
        now_ms: i64,
    ) -> Result<Vec<TrafficSum>, StoreError> {
        let mut transaction = self.database.begin_reading("read the traffic").await?;
        let mut sums = Vec::new();
        for (span, piece) in TrafficSpan::cover(minutes, now_ms.div_euclid(60_000)) {
            let values = [span.number().into(), piece.start.into(), piece.end.into()];
            let rows: Vec<SumRow> = transaction.rows(&sql::SUMS, &values).await?;
            sums.extend(rows.into_iter().map(TrafficSum::from));
        }
        transaction.commit().await?;
        Ok(sums)
    }

    /// Returns the minutes in which a server counted requests of a site, as far as they meet some.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn live_minutes(
        &self,
        site: &str,
        minutes: Range<i64>,
    ) -> Result<Vec<Range<i64>>, StoreError> {
        let values = [site.into(), minutes.start.into(), (minutes.end - 1).into()];
        let rows = self
            .database
            .rows::<(i64, i64)>(&sql::LIVE_MINUTES, &values);
        let rows = rows.await?.into_iter();
        Ok(rows.map(|(began, ended)| began..ended + 1).collect())
    }

    /// Returns the first minute of the first day of which anything was counted.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn first_day_of_traffic(&self) -> Result<Option<i64>, StoreError> {
        let day = [TrafficSpan::Day.number().into()];
        let first = self.database.first::<(Option<i64>,)>(&sql::FIRST_DAY, &day);
        Ok(first.await?.and_then(|(first,)| first))
    }
}

impl From<SumRow> for TrafficSum {
    fn from(row: SumRow) -> Self {
        Self {
            key: TrafficKey {
                site: row.site,
                kind: row.kind,
                robot: row.robot,
                verdict: row.verdict,
                decision: row.decision,
                cause: row.cause,
                status: u8::try_from(row.status).unwrap_or_default(),
            },
            count: TrafficCount {
                requests: from_sql(row.requests),
                bytes: from_sql(row.bytes),
                micros: from_sql(row.micros),
            },
        }
    }
}
