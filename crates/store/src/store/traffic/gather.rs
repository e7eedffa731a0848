//! Combines traffic totals from rows and from packed data.

use std::ops::Range;

use super::{
    super::{
        StoreError, StoreErrorKind, columns::from_sql, error::DatabaseLocation,
        transaction::Transaction,
    },
    TrafficCell, TrafficCount, TrafficKey, TrafficSpan, TrafficStep,
    packed::{PackedSums, UnpackError},
    sql,
};

/// The maximum number of packed spans held in memory at the same time.
const PACKED_AT_ONCE: i64 = 32;

/// The row of a traffic key: its ID, its dimensions, and its status class.
type KeyRow = (i64, String, String, String, String, String, String, i64);

/// All traffic keys, ordered by ID.
#[derive(Debug, Default)]
pub(super) struct Keys {
    ids: Vec<i64>,
    pub(super) keys: Vec<TrafficKey>,
}

/// A collector of the traffic totals of a period.
#[derive(Debug)]
pub(super) struct SumCollector<'k> {
    keys: &'k Keys,
    /// The robot to filter by and, for each key, whether the key belongs to this robot.
    robot: Option<(&'k str, Vec<bool>)>,
    /// The total for each key.
    pub(super) sums: Vec<TrafficCount>,
    /// Traffic counts over time, if requested.
    pub(super) steps: Option<Vec<TrafficStep>>,
}

/// The row of a traffic total: key ID, requests, bytes and microseconds.
type SumRow = (i64, i64, i64, i64);

impl Keys {
    pub(super) async fn read(transaction: &mut Transaction<'_>) -> Result<Self, StoreError> {
        let statement = sql::all_keys(transaction.engine());
        let (text,): (Option<String>,) = transaction.one(&statement, &[]).await?;
        let mut rows: Vec<KeyRow> =
            serde_json::from_str(text.as_deref().unwrap_or("[]")).map_err(|error| {
                let what = "cannot read the traffic keys in";
                let text = format!("{what} {}: {error}; restore a backup", transaction.place());
                StoreError::new(StoreErrorKind::Corrupt, text)
            })?;
        rows.sort_unstable_by_key(|(id, ..)| *id);
        let (ids, keys) = rows.into_iter().map(key_from_row).unzip();
        Ok(Self { ids, keys })
    }

    fn place(&self, id: i64) -> Option<usize> {
        self.ids.binary_search(&id).ok()
    }
}

impl<'k> SumCollector<'k> {
    /// Creates a collector with empty totals.
    pub(super) fn new(keys: &'k Keys, robot: Option<&'k str>, has_steps: bool) -> Self {
        let of_robot = |robot: &str| keys.keys.iter().map(|key| key.robot == robot).collect();
        Self {
            robot: robot.map(|robot| (robot, of_robot(robot))),
            sums: vec![TrafficCount::default(); keys.keys.len()],
            steps: has_steps.then(Vec::new),
            keys,
        }
    }

    /// Adds the traffic totals of a range of spans.
    pub(super) async fn add(
        &mut self,
        transaction: &mut Transaction<'_>,
        span: TrafficSpan,
        piece: &Range<i64>,
    ) -> Result<(), StoreError> {
        let values = [span.number().into(), piece.start.into(), piece.end.into()];
        if let Some((robot, _)) = &self.robot {
            let [number, start, end] = values;
            let values = [number, start, end, span.minutes().into(), (*robot).into()];
            let rows: Vec<(i64, i64, i64, i64, i64)> =
                transaction.rows(&sql::CELLS_OF_ROBOT, &values).await?;
            for rows in rows.chunk_by(|(one, ..), (other, ..)| one == other) {
                let began = rows.first().map_or(piece.start, |(began, ..)| *began);
                let sums = rows.iter().map(|(_, id, requests, bytes, micros)| {
                    sum(&(*id, *requests, *bytes, *micros))
                });
                self.add_rows(span, began, sums);
            }
        } else if self.steps.is_some() {
            let rows: Vec<(i64, String)> = transaction.rows(&sql::CELLS, &values).await?;
            for (began, text) in &rows {
                self.add_rows(span, *began, text.split(',').filter_map(of_text));
            }
        } else {
            let rows: Vec<SumRow> = transaction.rows(&sql::SUMS, &values).await?;
            self.add_rows(span, piece.start, rows.iter().map(sum));
        }
        self.add_all_packed(transaction, span, piece).await
    }

    async fn add_all_packed(
        &mut self,
        transaction: &mut Transaction<'_>,
        span: TrafficSpan,
        piece: &Range<i64>,
    ) -> Result<(), StoreError> {
        let mut from = piece.start;
        while span.is_packed() && from < piece.end {
            let values = [
                span.number().into(),
                from.into(),
                piece.end.into(),
                PACKED_AT_ONCE.into(),
            ];
            let rows: Vec<(i64, Vec<u8>)> = transaction.rows(&sql::PACKED, &values).await?;
            for (began, packed) in &rows {
                let added = self.add_packed(span, *began, packed);
                added.map_err(|why| unreadable(transaction.place(), span, *began, why))?;
            }
            let Some((last, _)) = rows.last() else { break };
            from = last.saturating_add(span.minutes());
        }
        Ok(())
    }

    fn add_rows(
        &mut self,
        span: TrafficSpan,
        began: i64,
        rows: impl Iterator<Item = (i64, TrafficCount)>,
    ) {
        let mut cells = Vec::new();
        for (id, count) in rows {
            if let Some(place) = self.keys.place(id) {
                self.count(place, count, &mut cells);
            }
        }
        self.end_step(span, began, cells);
    }

    fn add_packed(
        &mut self,
        span: TrafficSpan,
        began: i64,
        packed: &[u8],
    ) -> Result<(), UnpackError> {
        let sums = PackedSums::open(packed)?;
        let has_cells = self.steps.is_some() && self.robot.is_none();
        let mut cells = Vec::with_capacity(if has_cells { sums.remaining() } else { 0 });
        // Totals and keys are in the same order, so this is much faster than looking up each key.
        let (keys, mut place) = (self.keys, 0);
        for sum in sums {
            let (id, count) = sum?;
            while keys.ids.get(place).is_some_and(|key| *key < id) {
                place += 1;
            }
            if keys.ids.get(place) == Some(&id) {
                self.count(place, count, &mut cells);
            }
        }
        self.end_step(span, began, cells);
        Ok(())
    }

    fn count(&mut self, place: usize, count: TrafficCount, cells: &mut Vec<TrafficCell>) {
        if let Some((_, is_wanted)) = &self.robot
            && is_wanted.get(place) != Some(&true)
        {
            return;
        }
        if let Some(sum) = self.sums.get_mut(place) {
            *sum += count;
        }
        if self.steps.is_some()
            && let Ok(key) = u32::try_from(place)
        {
            cells.push(TrafficCell {
                key,
                requests: count.requests,
                bytes: count.bytes,
            });
        }
    }

    fn end_step(&mut self, span: TrafficSpan, began: i64, cells: Vec<TrafficCell>) {
        if let Some(steps) = &mut self.steps
            && !cells.is_empty()
        {
            steps.push(TrafficStep { began, span, cells });
        }
    }
}

/// Creates the error for packed totals that cannot be read.
pub(super) fn unreadable(
    place: &DatabaseLocation,
    span: TrafficSpan,
    began: i64,
    why: UnpackError,
) -> StoreError {
    let at = time::OffsetDateTime::from_unix_timestamp(began.saturating_mul(60));
    let at = at.unwrap_or(time::OffsetDateTime::UNIX_EPOCH);
    let day = at.date();
    let when = match span {
        TrafficSpan::Day => format!("the day {day} (UTC)"),
        _ => format!(
            "the hour from {day} {:02}:{:02} (UTC)",
            at.hour(),
            at.minute()
        ),
    };
    let why = match why {
        UnpackError::Version(version) => {
            format!("it is packed in the unknown format version {version}; upgrade the program")
        }
        UnpackError::Damaged => format!(
            "the packed data is damaged; restore a backup, or discard the data with \
             DELETE FROM traffic_packed WHERE span = {} AND began = {began}",
            span.number()
        ),
    };
    let text = format!("cannot read the traffic of {when} in {place}: {why}");
    StoreError::new(StoreErrorKind::Corrupt, text)
}

fn sum((id, requests, bytes, micros): &SumRow) -> (i64, TrafficCount) {
    let count = TrafficCount {
        requests: from_sql(*requests),
        bytes: from_sql(*bytes),
        micros: from_sql(*micros),
    };
    (*id, count)
}

fn of_text(cell: &str) -> Option<(i64, TrafficCount)> {
    let mut numbers = cell.split(' ').map(str::parse);
    let mut next = || numbers.next()?.ok();
    Some(sum(&(next()?, next()?, next()?, next()?)))
}

fn key_from_row(
    (id, site, kind, robot, verdict, decision, cause, status): KeyRow,
) -> (i64, TrafficKey) {
    let key = TrafficKey {
        site,
        kind,
        robot,
        verdict,
        decision,
        cause,
        status: u8::try_from(status).unwrap_or_default(),
    };
    (id, key)
}
