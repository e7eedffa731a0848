//! State of rate limits, shared by all instances, for rules that slow down clients.
//!
//! Each bucket is a row that contains the time when the bucket will be full again. Times are from
//! the database's clock, so the clocks of instances may differ.

use std::{fmt::Write as _, sync::LazyLock};

use super::{
    StoreError,
    leases::MARK_ALIVE,
    statement::{ByRows, Statement, Value},
};

/// The maximum number of stored rate limit buckets. If there are more, the buckets that will be
/// full soonest are removed.
const MAX_BUCKETS: i64 = 200_000;

/// The time after the last heartbeat for which an instance is considered alive, in milliseconds.
const LIFE_MS: i64 = 15_000;

/// The overlap between successive reads, in milliseconds, which covers the duration of concurrent
/// transactions.
const OVERLAP_MS: i64 = 2_000;

/// The maximum number of rate limit buckets returned per read, largest debts first.
const MAX_READ: i64 = 20_000;

columns! {
    /// The debt of a rate limit bucket, or an amount to be added to the debt.
    #[derive(Clone, Copy, Debug, Eq, PartialEq)]
    pub struct RateLimitDebt {
        /// The hash of the rate limit rule.
        pub rule: i64,
        /// The hash of the client or group that the rule limits.
        pub bucket: i64,
        /// The time until the bucket is full again, in microseconds.
        pub debt_us: i64,
    }
}

/// Rate limit debts that have changed on any instance.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RateLimitChanges {
    /// The rate limit debts that have changed.
    pub debts: Vec<RateLimitDebt>,
    /// The time of the read on the database's clock, in milliseconds since the Unix epoch; pass
    /// this time to the next read.
    pub read_ms: i64,
}

columns! {
    #[derive(Debug)]
    struct DebtRow {
        debt: RateLimitDebt,
        now_ms: i64,
    }
}

statements! {
    ADD_SEED = "create the shared hash seed",
        "INSERT INTO fleet_seed (id, first, second) VALUES (1, $1, $2) ON CONFLICT (id) DO NOTHING";
    SEED = "read the shared hash seed",
        "SELECT first, second FROM fleet_seed WHERE id = 1";
    LEAVE = "remove an instance from the shared rate limits",
        "DELETE FROM leases WHERE name = $1";
    TOO_MANY = "count the shared rate limit buckets",
        "SELECT full_us FROM pace ORDER BY full_us DESC LIMIT 1 OFFSET $1";
    ALIVE = "count the instances",
        "SELECT COUNT(*) FROM leases WHERE name LIKE 'instance %' AND until_ms > {now}";
    CHANGED = "read the shared rate limit buckets",
        "SELECT rule, bucket, full_us - {now} * 1000 AS debt_us, {now} AS now_ms FROM pace \
        WHERE changed_ms >= $1 ORDER BY full_us DESC LIMIT $2";
    PRUNE = "remove old shared rate limit buckets",
        "DELETE FROM pace WHERE full_us <= {now} * 1000 OR full_us <= $1";
}

static ADD: LazyLock<ByRows> = LazyLock::new(|| ByRows::new(&[32, 8, 1], add));

handle! {
    /// Access to the rate limit state that all instances share.
    Pace, pace
}

impl Pace<'_> {
    /// Returns the hash seed shared by all instances. The `random` value of the first caller
    /// becomes the seed.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn seed(self, random: [u64; 2]) -> Result<[u64; 2], StoreError> {
        if let Some(seed) = self.known_seed().await? {
            return Ok(seed);
        }
        let values = random.map(|half| half.cast_signed().into());
        self.db.execute(&ADD_SEED, &values).await?;
        let seed = self.known_seed().await?;
        Ok(seed.unwrap_or(random))
    }

    /// Records that an instance is alive. Returns the number of live instances, including this one.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn join(self, instance: &str) -> Result<u32, StoreError> {
        let name = lease_name(instance);
        let values = [(&name).into(), instance.into(), LIFE_MS.into()];
        self.db.execute(&MARK_ALIVE, &values).await?;
        let count = self.db.value::<i64>(&ALIVE, &[]).await?;
        let count = count.map_or(1, |count| count.max(1));
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// Records that an instance has stopped, so that other instances need not wait for its timeout.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn leave(self, instance: &str) -> Result<(), StoreError> {
        let name = lease_name(instance);
        let values = [(&name).into()];
        self.db.run(&LEAVE, &values).await
    }

    /// Adds served requests to the shared rate limit buckets; each bucket must occur only once.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails. Either all or none of the debts are added.
    pub async fn add(self, served: &[RateLimitDebt]) -> Result<(), StoreError> {
        let mut served = served.to_vec();
        // Using the same order on all instances prevents deadlocks between them.
        served.sort_unstable_by_key(|debt| (debt.rule, debt.bucket));
        let steps = ADD.pieces(&served).map(|(statement, rows)| {
            let values = rows.iter().flat_map(|debt| {
                let RateLimitDebt {
                    rule,
                    bucket,
                    debt_us,
                } = *debt;
                [rule, bucket, debt_us].map(Value::from)
            });
            (statement, values.collect())
        });
        let steps: Vec<_> = steps.collect();
        let transaction = self.db.begin("share the rate limit buckets").await?;
        transaction.commit_with::<(i64,)>(&steps).await.map(|_| ())
    }

    /// Returns the rate limit debts that have changed since `read_ms`, measured by the database's
    /// clock.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn changes_since(self, read_ms: i64) -> Result<RateLimitChanges, StoreError> {
        let values = [read_ms.saturating_sub(OVERLAP_MS).into(), MAX_READ.into()];
        let rows = self.db.rows::<DebtRow>(&CHANGED, &values).await?;
        let read_ms = rows.first().map_or(read_ms, |row| row.now_ms);
        let debts = rows.into_iter().map(|row| row.debt).collect();
        Ok(RateLimitChanges { debts, read_ms })
    }

    /// Removes full rate limit buckets, and buckets that exceed the maximum number.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn prune(self) -> Result<(), StoreError> {
        let values = [MAX_BUCKETS.into()];
        let end = self.db.value::<i64>(&TOO_MANY, &values).await?;
        let values = [end.map_or(0, |end| end).into()];
        self.db.run(&PRUNE, &values).await
    }

    async fn known_seed(self) -> Result<Option<[u64; 2]>, StoreError> {
        let seed = self.db.first::<(i64, i64)>(&SEED, &[]).await?;
        Ok(seed.map(|(first, second)| [first, second].map(i64::cast_unsigned)))
    }
}

/// Returns the statements assembled at run time, one for each number of rows.
pub(super) fn assembled_statements() -> Vec<Statement> {
    ADD.all().cloned().collect()
}

fn lease_name(instance: &str) -> String {
    format!("instance {instance}")
}

/// Returns the statement that adds the given number of rate limit debts.
fn add(rows: usize) -> Statement {
    let mut sql =
        "INSERT INTO pace (rule, bucket, full_us, added_us, changed_ms) VALUES ".to_owned();
    for row in 0..rows {
        let comma = if row == 0 { "" } else { ", " };
        let [rule, bucket, debt] = [1, 2, 3].map(|column| row * 3 + column);
        let _ = write!(
            sql,
            "{comma}(${rule}, ${bucket}, {{now}} * 1000 + ${debt}, ${debt}, {{now}})"
        );
    }
    sql.push_str(
        " ON CONFLICT (rule, bucket) DO UPDATE SET added_us = excluded.added_us, \
         changed_ms = excluded.changed_ms, full_us = excluded.added_us + \
         CASE WHEN pace.full_us > {now} * 1000 THEN pace.full_us ELSE {now} * 1000 END",
    );
    Statement::assembled("share the rate limit buckets", sql)
}
