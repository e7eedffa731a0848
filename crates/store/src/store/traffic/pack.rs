//! Packs the totals of hours and days that ended at least two days ago.

use super::TrafficSums;
use super::{
    super::{
        StoreError, StoreErrorKind, error::Engine, statement::Value, transaction::Transaction,
    },
    TrafficCount, TrafficSpan,
    gather::unreadable,
    packed::{PackedSums, Sums, pack},
    sql,
};
use crate::store::columns::from_sql;

/// The time from the end of a span until its totals are packed, in minutes; most late counts have
/// arrived by then.
const PACKED_AFTER: i64 = 48 * 60;

/// The number of spans packed per call; packing a span blocks other writers of an `SQLite` file for
/// up to a tenth of a second.
const PACKED_AT_ONCE: usize = 4;

impl TrafficSums<'_> {
    /// Packs some of the totals of hours and days that ended at least two days ago.
    ///
    /// Returns `true` when there is nothing left to pack. Packing does not affect the results of
    /// queries.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails, or `Corrupt` if the packed totals of a span cannot be
    /// read. Such a span is left unchanged, and the other spans are packed.
    pub async fn pack(self, now_ms: i64) -> Result<bool, StoreError> {
        let now = now_ms.div_euclid(60_000);
        let (mut packed, mut failed) = (0, None);
        for span in TrafficSpan::ALL.into_iter().rev() {
            let end = now - PACKED_AFTER - span.minutes() + 1;
            let mut from = i64::MIN;
            while span.is_packed()
                && let Some(began) = self.first_row(span, from, end).await?
            {
                if packed == PACKED_AT_ONCE {
                    return Ok(false);
                }
                match self.pack_span(span, began).await {
                    Err(error) if error.kind() == StoreErrorKind::Corrupt => {
                        failed.get_or_insert(error);
                    }
                    done => {
                        done?;
                        packed += 1;
                    }
                }
                from = began.saturating_add(span.minutes());
            }
        }
        failed.map_or(Ok(true), Err)
    }

    async fn first_row(
        self,
        span: TrafficSpan,
        from: i64,
        end: i64,
    ) -> Result<Option<i64>, StoreError> {
        let values = [span.number().into(), from.into(), end.into()];
        let first = self.db.value::<Option<i64>>(&sql::FIRST_ROW, &values);
        Ok(first.await?.and_then(|began| began))
    }

    /// Moves the rows of a span to its packed totals.
    async fn pack_span(self, span: TrafficSpan, began: i64) -> Result<(), StoreError> {
        let mut transaction = self.db.begin("pack the traffic").await?;
        let [number, start]: [Value<'_>; 2] = [span.number().into(), began.into()];
        // Other instances that pack the same span wait here.
        let values = [number, start, Value::Bytes(&[])];
        let (before,): (Vec<u8>,) = transaction.one(&sql::TAKE_PACKED, &values).await?;
        let mut sums = unpacked(&transaction, span, began, &before)?;
        if transaction.engine() == Engine::Postgres {
            transaction
                .execute(&sql::LOCK_ROWS, &[number, start])
                .await?;
        }
        // Concurrent additions are either included, or wait and then create a new row.
        let rows: Vec<(i64, i64, i64, i64)> =
            transaction.rows(&sql::TAKE_ROWS, &[number, start]).await?;
        if rows.is_empty() {
            return Ok(());
        }
        for (id, requests, bytes, micros) in rows {
            *sums.entry(id).or_default() += TrafficCount {
                requests: from_sql(requests),
                bytes: from_sql(bytes),
                micros: from_sql(micros),
            };
        }
        let packed = pack(&sums);
        let values = [number, start, Value::Bytes(&packed)];
        transaction.execute(&sql::SAVE_PACKED, &values).await?;
        transaction.commit().await
    }
}

pub(super) fn unpacked(
    transaction: &Transaction<'_>,
    span: TrafficSpan,
    began: i64,
    packed: &[u8],
) -> Result<Sums, StoreError> {
    let sums = PackedSums::open(packed).and_then(Iterator::collect);
    sums.map_err(|why| unreadable(transaction.place(), span, began, why))
}
