//! The course of traffic is read: what was counted when.

use std::{collections::HashMap, ops::Range};

use super::{
    super::{Store, StoreError, columns::columns, database::Transaction, robots::from_sql},
    TrafficKey, TrafficSpan, sql,
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
    /// What was counted, in no order.
    pub cells: Vec<TrafficCell>,
}

/// What was counted of a key in one span.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct TrafficCell {
    /// First minute of the span.
    pub began: i64,
    /// The span.
    pub span: TrafficSpan,
    /// Place of the key among those of the series.
    pub key: usize,
    /// Requests.
    pub requests: u64,
    /// Bytes of the responses' bodies.
    pub bytes: u64,
}

columns! {
    #[derive(Debug)]
    struct KeyRow {
        key_id: i64,
        site: String,
        kind: String,
        robot: String,
        verdict: String,
        decision: String,
        cause: String,
        status: i64,
    }
}

impl Store {
    /// Returns the course of some minutes since 1970, in spans of at most a given length.
    ///
    /// They are put together of the same [pieces](TrafficSpan::cover) as the sums of
    /// [`traffic`](Self::traffic), so that both tell the same of the same minutes. With a robot
    /// nothing else is read.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn traffic_series(
        &self,
        times: &[(Range<i64>, TrafficSpan)],
        robot: Option<&str>,
        now_ms: i64,
    ) -> Result<TrafficSeries, StoreError> {
        let now = now_ms.div_euclid(60_000);
        let mut transaction = self.database.begin_reading("read the traffic").await?;
        let rows: Vec<KeyRow> = transaction.rows(&sql::ALL_KEYS, &[]).await?;
        let places: HashMap<i64, usize> = rows.iter().map(|row| row.key_id).zip(0..).collect();
        let mut parts = Vec::new();
        for (minutes, longest) in times {
            let pieces = TrafficSpan::cover_by(minutes.clone(), now, *longest);
            let mut cells = Vec::new();
            for (span, piece) in &pieces {
                let found = match robot {
                    Some(robot) => of_robot(&mut transaction, *span, piece, robot).await?,
                    None => of_all(&mut transaction, *span, piece).await?,
                };
                let known = found
                    .into_iter()
                    .filter_map(|(began, key_id, requests, bytes)| {
                        Some(TrafficCell {
                            began,
                            span: *span,
                            key: *places.get(&key_id)?,
                            requests: from_sql(requests),
                            bytes: from_sql(bytes),
                        })
                    });
                cells.extend(known);
            }
            let minutes = TrafficSpan::covered(&pieces).unwrap_or(minutes.clone());
            parts.push(TrafficPart { minutes, cells });
        }
        transaction.commit().await?;
        let keys = rows.into_iter().map(TrafficKey::from).collect();
        Ok(TrafficSeries { keys, parts })
    }
}

/// Beginning, id of the key, requests and bytes.
type Counted = (i64, i64, i64, i64);

async fn of_robot(
    transaction: &mut Transaction<'_>,
    span: TrafficSpan,
    piece: &Range<i64>,
    robot: &str,
) -> Result<Vec<Counted>, StoreError> {
    let values = [
        span.number().into(),
        piece.start.into(),
        piece.end.into(),
        span.minutes().into(),
        robot.into(),
    ];
    transaction.rows(&sql::CELLS_OF_ROBOT, &values).await
}

async fn of_all(
    transaction: &mut Transaction<'_>,
    span: TrafficSpan,
    piece: &Range<i64>,
) -> Result<Vec<Counted>, StoreError> {
    let values = [span.number().into(), piece.start.into(), piece.end.into()];
    let rows: Vec<(i64, String)> = transaction.rows(&sql::CELLS, &values).await?;
    let mut cells = Vec::new();
    for (began, packed) in &rows {
        cells.extend(packed.split(',').filter_map(|cell| unpacked(*began, cell)));
    }
    Ok(cells)
}

fn unpacked(began: i64, cell: &str) -> Option<Counted> {
    let mut numbers = cell.split(' ').map(str::parse);
    let mut next = || numbers.next()?.ok();
    Some((began, next()?, next()?, next()?))
}

impl From<KeyRow> for TrafficKey {
    fn from(row: KeyRow) -> Self {
        Self {
            site: row.site,
            kind: row.kind,
            robot: row.robot,
            verdict: row.verdict,
            decision: row.decision,
            cause: row.cause,
            status: u8::try_from(row.status).unwrap_or_default(),
        }
    }
}
