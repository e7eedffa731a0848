//! What was counted is added to the sums.

use super::TrafficSums;
use std::{collections::BTreeMap, ops::RangeInclusive};

use super::{
    super::{
        StoreError,
        statement::{Step, Value},
        transaction::Transaction,
    },
    CountedMinute, CountedPaths, TrafficCount, TrafficKey, TrafficSpan, paths, sql,
};

/// Milliseconds for which a writer that is silent is remembered.
const WRITER_KEPT_MS: i64 = 7 * 24 * 60 * 60 * 1_000;

/// Milliseconds for which an import can be undone.
const UNDOABLE_MS: i64 = 7 * 24 * 60 * 60 * 1_000;

/// What a writer adds in one transaction.
#[derive(Clone, Copy, Debug)]
pub struct TrafficBatch<'b> {
    /// Who writes: another name for each start of a process.
    pub writer: &'b str,
    /// Number of the batch: each is higher than the one before.
    pub number: i64,
    /// What was counted.
    pub counted: &'b [CountedMinute],
    /// Paths that were asked for.
    pub paths: &'b [CountedPaths],
    /// Minutes in which requests were counted, or would have been if there had been any.
    pub live: &'b [LiveMinutes],
}

/// Minutes in which the requests of a site were counted as they came.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LiveMinutes {
    /// Name of the site.
    pub site: String,
    /// First and last minute since 1970.
    pub minutes: RangeInclusive<i64>,
}

impl TrafficSums<'_> {
    /// Adds a batch to the sums; of a batch that is in them already, nothing.
    ///
    /// A commit whose answer is lost may have happened or not: the same batch is simply
    /// added once more.
    ///
    /// # Errors
    ///
    /// Fails when the database does; then nothing was added, or all of it.
    pub async fn add(self, batch: &TrafficBatch<'_>, now_ms: i64) -> Result<(), StoreError> {
        let mut transaction = self.db.begin("add traffic").await?;
        if !is_next_batch(&mut transaction, batch.writer, batch.number, now_ms).await? {
            return Ok(());
        }
        let steps = steps(batch.counted, batch.paths, batch.writer, batch.live);
        transaction.commit_as_made(steps).await
    }

    /// Removes sums that are kept no longer, and writers that have long been silent.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn prune(self, now_ms: i64) -> Result<(), StoreError> {
        let now = now_ms.div_euclid(60_000);
        for span in TrafficSpan::ALL {
            let Some(kept) = span.kept_minutes() else {
                continue;
            };
            // The span that has only begun to be old is still whole.
            let values = [span.number().into(), span.start(now - kept).into()];
            for statement in [&sql::PRUNE, &sql::PRUNE_PACKED] {
                self.db.execute(statement, &values).await?;
            }
        }
        self.prune_paths(now).await?;
        let undoable_ms = now_ms.saturating_sub(UNDOABLE_MS);
        let values = [undoable_ms.into()];
        self.db.execute(&sql::PRUNE_IMPORTED, &values).await?;
        let silent_ms = now_ms.saturating_sub(WRITER_KEPT_MS);
        let values = [silent_ms.into()];
        self.db.run(&sql::PRUNE_WRITERS, &values).await
    }
}

/// Notes the batch of a writer; returns `false` where it was added before.
pub(in crate::store) async fn is_next_batch(
    transaction: &mut Transaction<'_>,
    writer: &str,
    number: i64,
    now_ms: i64,
) -> Result<bool, StoreError> {
    let values = [writer.into(), number.into(), now_ms.into()];
    let noted = transaction.execute(&sql::NEXT_BATCH, &values).await?;
    Ok(noted > 0)
}

/// Returns what is done in the transaction, in an order that is the same for every instance:
/// two that add to the same sums would otherwise wait for each other for ever.
pub(super) fn steps<'b>(
    counted: &'b [CountedMinute],
    asked: &'b [CountedPaths],
    writer: &'b str,
    live: &'b [LiveMinutes],
) -> impl Iterator<Item = Step<'b>> {
    let ids: Vec<i64> = counted.iter().map(|counted| counted.key.id()).collect();
    let keys = counted.iter().map(|counted| &counted.key);
    let keys: BTreeMap<i64, &TrafficKey> = ids.iter().copied().zip(keys).collect();
    let keys = sql::KEYS.steps(keys.into_iter(), key_values);
    let spans = TrafficSpan::ALL.into_iter();
    let sums = spans.flat_map(move |span| {
        let mut sums = BTreeMap::<(i64, i64), TrafficCount>::new();
        for (counted, id) in counted.iter().zip(&ids) {
            *sums.entry((span.start(counted.minute), *id)).or_default() += counted.count;
        }
        let values = move |sum: &_| sum_values(span, sum);
        sql::ADD.steps(sums.into_iter(), values)
    });
    let live: BTreeMap<_, _> = live.iter().map(|live| (&live.site, live)).collect();
    let live = live.into_values();
    keys.chain(sums)
        .chain(paths::steps(asked))
        .chain(live.map(move |live| (&sql::LIVE, live_values(writer, live))))
}

fn key_values<'k>((id, key): &(i64, &'k TrafficKey)) -> [Value<'k>; sql::KEY_COLUMNS] {
    [
        (*id).into(),
        (&key.site).into(),
        (&key.kind).into(),
        (&key.robot).into(),
        (&key.verdict).into(),
        (&key.decision).into(),
        (&key.cause).into(),
        i64::from(key.status).into(),
    ]
}

pub(super) fn sum_values<'v>(
    span: TrafficSpan,
    ((began, id), count): &((i64, i64), TrafficCount),
) -> [Value<'v>; sql::SUM_COLUMNS] {
    [
        span.number().into(),
        (*began).into(),
        (*id).into(),
        count.requests.into(),
        count.bytes.into(),
        count.micros.into(),
    ]
}

fn live_values<'v>(writer: &'v str, live: &'v LiveMinutes) -> Vec<Value<'v>> {
    let (began, ended) = (*live.minutes.start(), *live.minutes.end());
    vec![
        (&live.site).into(),
        writer.into(),
        began.into(),
        ended.into(),
    ]
}
