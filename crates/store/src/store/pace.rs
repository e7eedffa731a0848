//! What the instances of a fleet tell each other of the pace that rules set.
//!
//! A bucket is one row: when it is full again. Its time is that of the database, so that the
//! clocks of instances may differ.

use std::{fmt::Write as _, sync::LazyLock};

use super::{
    StoreError,
    leases::MARK_ALIVE,
    statement::{ByRows, Statement, Value},
};

/// Buckets that are kept; those that are full first go first.
const MAX_BUCKETS: i64 = 200_000;

/// Milliseconds that an instance counts for without another sign of life.
const LIFE_MS: i64 = 15_000;

/// Milliseconds for which a change is read again: a transaction may have taken as long.
const OVERLAP_MS: i64 = 2_000;

/// Buckets that one reading brings, at most: the deepest debts.
const MAX_READ: i64 = 20_000;

columns! {
    /// Debt of a bucket of a rule, or what is added to it.
    #[derive(Clone, Copy, Debug, Eq, PartialEq)]
    pub struct PaceDebt {
        /// Hash of the rule.
        pub rule: i64,
        /// Hash of who is slowed.
        pub bucket: i64,
        /// How long it takes to be full again, in microseconds.
        pub debt_us: i64,
    }
}

/// What all instances have told.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct PaceChanges {
    /// Debts that have changed.
    pub debts: Vec<PaceDebt>,
    /// Time by the database's clock, in milliseconds since 1970: from there on read next.
    pub read_ms: i64,
}

columns! {
    #[derive(Debug)]
    struct DebtRow {
        debt: PaceDebt,
        now_ms: i64,
    }
}

statements! {
    ADD_SEED = "make the seed of the fleet",
        "INSERT INTO fleet_seed (id, first, second) VALUES (1, $1, $2) ON CONFLICT (id) DO NOTHING";
    SEED = "read the seed of the fleet",
        "SELECT first, second FROM fleet_seed WHERE id = 1";
    LEAVE = "take leave of the fleet",
        "DELETE FROM leases WHERE name = $1";
    TOO_MANY = "count what the fleet has served",
        "SELECT full_us FROM pace ORDER BY full_us DESC LIMIT 1 OFFSET $1";
    ALIVE = "count the instances",
        "SELECT COUNT(*) FROM leases WHERE name LIKE 'instance %' AND until_ms > {now}";
    CHANGED = "read what the fleet has served",
        "SELECT rule, bucket, full_us - {now} * 1000 AS debt_us, {now} AS now_ms FROM pace \
        WHERE changed_ms >= $1 ORDER BY full_us DESC LIMIT $2";
    PRUNE = "forget what the fleet has served",
        "DELETE FROM pace WHERE full_us <= {now} * 1000 OR full_us <= $1";
}

static ADD: LazyLock<ByRows> = LazyLock::new(|| ByRows::new(&[32, 8, 1], add));

handle! {
    /// The pace that instances share.
    Pace, pace
}

impl Pace<'_> {
    /// Returns the seed of the fleet; the first instance that asks makes it.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn seed(self, random: [u64; 2]) -> Result<[u64; 2], StoreError> {
        if let Some(seed) = self.known_seed().await? {
            return Ok(seed);
        }
        let values = random.map(|half| half.cast_signed().into());
        self.db.execute(&ADD_SEED, &values).await?;
        let seed = self.known_seed().await?;
        Ok(seed.unwrap_or(random))
    }

    /// Shows that an instance is alive; returns how many are, itself among them.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn join(self, instance: &str) -> Result<u32, StoreError> {
        let name = lease_name(instance);
        let values = [(&name).into(), instance.into(), LIFE_MS.into()];
        self.db.execute(&MARK_ALIVE, &values).await?;
        let count = self.db.value::<i64>(&ALIVE, &[]).await?;
        let count = count.map_or(1, |count| count.max(1));
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// Takes leave of the fleet: the others need not wait until it is known to be gone.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn leave(self, instance: &str) -> Result<(), StoreError> {
        let name = lease_name(instance);
        let values = [(&name).into()];
        self.db.run(&LEAVE, &values).await
    }

    /// Adds what an instance has served to the buckets of all; each bucket stands in it once.
    ///
    /// # Errors
    ///
    /// Fails when the database does; then nothing was added, or all of it.
    pub async fn add(self, served: &[PaceDebt]) -> Result<(), StoreError> {
        let mut served = served.to_vec();
        // In the same order everywhere: two instances would else wait for each other for ever.
        served.sort_unstable_by_key(|debt| (debt.rule, debt.bucket));
        let steps = ADD.pieces(&served).map(|(statement, rows)| {
            let values = rows.iter().flat_map(|debt| {
                let PaceDebt {
                    rule,
                    bucket,
                    debt_us,
                } = *debt;
                [rule, bucket, debt_us].map(Value::from)
            });
            (statement, values.collect())
        });
        let steps: Vec<_> = steps.collect();
        let transaction = self.db.begin("tell what was served").await?;
        transaction.commit_with::<(i64,)>(&steps).await.map(|_| ())
    }

    /// Returns the debts that have changed since a time by the database's clock.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn since(self, read_ms: i64) -> Result<PaceChanges, StoreError> {
        let values = [read_ms.saturating_sub(OVERLAP_MS).into(), MAX_READ.into()];
        let rows = self.db.rows::<DebtRow>(&CHANGED, &values).await?;
        let read_ms = rows.first().map_or(read_ms, |row| row.now_ms);
        let debts = rows.into_iter().map(|row| row.debt).collect();
        Ok(PaceChanges { debts, read_ms })
    }

    /// Removes buckets that are full, and those of which there are too many.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
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

/// Returns every statement, those put together in each form.
pub(super) fn assembled_statements() -> Vec<Statement> {
    ADD.all().cloned().collect()
}

fn lease_name(instance: &str) -> String {
    format!("instance {instance}")
}

/// Returns the statement that adds so many debts.
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
    Statement::assembled("tell what was served", sql)
}
