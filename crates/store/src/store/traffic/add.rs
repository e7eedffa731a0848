//! Adds counted requests to the traffic totals.

use super::TrafficSums;
use std::{collections::BTreeMap, ops::RangeInclusive};

use super::{
    super::{
        StoreError,
        statement::{Step, Value},
        transaction::Transaction,
    },
    CountedPaths, MinuteCounts, TrafficCount, TrafficKey, TrafficSpan, paths, sql,
};

/// The time for which an inactive traffic writer remains stored, in milliseconds.
const WRITER_KEPT_MS: i64 = 7 * 24 * 60 * 60 * 1_000;

/// The time for which an import of an access log can be undone, in milliseconds.
const UNDOABLE_MS: i64 = 7 * 24 * 60 * 60 * 1_000;

/// Traffic counts to be added in a single transaction.
#[derive(Clone, Copy, Debug)]
pub struct TrafficBatch<'b> {
    /// The ID of the writer, newly generated each time the process starts.
    pub writer: &'b str,
    /// The number of the batch, which increases with each batch from the same writer.
    pub number: i64,
    /// Counts of requests.
    pub counted: &'b [MinuteCounts],
    /// Counts of requested paths.
    pub paths: &'b [CountedPaths],
    /// Minutes in which requests were being counted, including minutes without requests.
    pub live: &'b [LiveMinutes],
}

/// Minutes in which a site's requests were counted live, rather than imported.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LiveMinutes {
    /// The name of the site.
    pub site: String,
    /// The first and last minute, in minutes since the Unix epoch.
    pub minutes: RangeInclusive<i64>,
}

impl TrafficSums<'_> {
    /// Adds a batch to the traffic totals; does nothing if the batch was already added.
    ///
    /// The same batch can safely be added again if the response to a commit was lost.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails. The batch is always added completely or not at all.
    pub async fn add(self, batch: &TrafficBatch<'_>, now_ms: i64) -> Result<(), StoreError> {
        let mut transaction = self.db.begin("add traffic").await?;
        if !is_next_batch(&mut transaction, batch.writer, batch.number, now_ms).await? {
            return Ok(());
        }
        let steps = steps(batch.counted, batch.paths, batch.writer, batch.live);
        transaction.commit_streaming(steps).await
    }

    /// Removes expired traffic totals, and traffic writers that have been inactive for a long time.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn prune(self, now_ms: i64) -> Result<(), StoreError> {
        let now = now_ms.div_euclid(60_000);
        for span in TrafficSpan::ALL {
            let Some(kept) = span.retention_minutes() else {
                continue;
            };
            // A span that has only partly expired is retained as a whole.
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

/// Records a writer's batch. Returns `false` if the batch was already added.
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

/// Returns the steps of the transaction, in an order that is the same on all instances to avoid
/// deadlocks on shared totals.
pub(super) fn steps<'b>(
    counted: &'b [MinuteCounts],
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
