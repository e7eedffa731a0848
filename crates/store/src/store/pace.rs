//! What the instances of a fleet tell each other of the pace that rules set.
//!
//! A bucket is one row: when it is full again. Its time is that of the database, so that the
//! clocks of instances may differ.

use std::{fmt::Write as _, sync::LazyLock};

use super::{
    StoreError,
    columns::columns,
    error::Engine,
    sql::{self, statements, timed},
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
        rule: i64,
        bucket: i64,
        debt_us: i64,
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
}

static ADD_SQLITE: LazyLock<ByRows> = LazyLock::new(|| by_rows(Engine::Sqlite));
static ADD_POSTGRES: LazyLock<ByRows> = LazyLock::new(|| by_rows(Engine::Postgres));

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
        self.store.database.execute(&ADD_SEED, &values).await?;
        let seed = self.known_seed().await?;
        Ok(seed.unwrap_or(random))
    }

    /// Shows that an instance is alive; returns how many are, itself among them.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn join(self, instance: &str) -> Result<u32, StoreError> {
        let engine = self.store.database.place.engine;
        let name = lease_name(instance);
        let values = [(&name).into(), instance.into(), LIFE_MS.into()];
        self.store
            .database
            .execute(&sql::mark_alive(engine), &values)
            .await?;
        let count = self
            .store
            .database
            .first::<(i64,)>(&alive(engine), &[])
            .await?;
        let count = count.map_or(1, |(count,)| count.max(1));
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
        let left = self.store.database.execute(&LEAVE, &values);
        left.await.map(|_| ())
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
        let add = match self.store.database.place.engine {
            Engine::Sqlite => &*ADD_SQLITE,
            Engine::Postgres => &*ADD_POSTGRES,
        };
        let steps = add.pieces(&served).map(|(statement, rows)| {
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
        let transaction = self.store.database.begin("tell what was served").await?;
        transaction.commit_with::<(i64,)>(&steps).await.map(|_| ())
    }

    /// Returns the debts that have changed since a time by the database's clock.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn since(self, read_ms: i64) -> Result<PaceChanges, StoreError> {
        let values = [read_ms.saturating_sub(OVERLAP_MS).into(), MAX_READ.into()];
        let statement = changed(self.store.database.place.engine);
        let rows = self
            .store
            .database
            .rows::<DebtRow>(&statement, &values)
            .await?;
        let read_ms = rows.first().map_or(read_ms, |row| row.now_ms);
        let debts = rows.into_iter().map(|row| PaceDebt {
            rule: row.rule,
            bucket: row.bucket,
            debt_us: row.debt_us,
        });
        let debts = debts.collect();
        Ok(PaceChanges { debts, read_ms })
    }

    /// Removes buckets that are full, and those of which there are too many.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn prune(self) -> Result<(), StoreError> {
        let values = [MAX_BUCKETS.into()];
        let end = self
            .store
            .database
            .first::<(i64,)>(&TOO_MANY, &values)
            .await?;
        let values = [end.map_or(0, |(end,)| end).into()];
        let prune = prune(self.store.database.place.engine);
        let pruned = self.store.database.execute(&prune, &values);
        pruned.await.map(|_| ())
    }

    async fn known_seed(self) -> Result<Option<[u64; 2]>, StoreError> {
        let seed = self.store.database.first::<(i64, i64)>(&SEED, &[]).await?;
        Ok(seed.map(|(first, second)| [first, second].map(i64::cast_unsigned)))
    }
}

/// Returns every statement, those put together in each form.
pub(super) fn every_statement(engine: Engine) -> Vec<Statement> {
    let mut all: Vec<Statement> = FIXED.iter().copied().cloned().collect();
    all.extend([alive(engine), changed(engine), prune(engine)]);
    all.extend(by_rows(engine).all().cloned());
    all
}

fn lease_name(instance: &str) -> String {
    format!("instance {instance}")
}

fn alive(engine: Engine) -> Statement {
    timed(
        engine,
        "count the instances",
        "SELECT COUNT(*) FROM leases WHERE name LIKE 'instance %' AND until_ms > {now}",
    )
}

fn changed(engine: Engine) -> Statement {
    timed(
        engine,
        "read what the fleet has served",
        "SELECT rule, bucket, full_us - {now} * 1000 AS debt_us, {now} AS now_ms FROM pace \
         WHERE changed_ms >= $1 ORDER BY full_us DESC LIMIT $2",
    )
}

fn prune(engine: Engine) -> Statement {
    timed(
        engine,
        "forget what the fleet has served",
        "DELETE FROM pace WHERE full_us <= {now} * 1000 OR full_us <= $1",
    )
}

fn by_rows(engine: Engine) -> ByRows {
    ByRows::new(&[32, 8, 1], |rows| add(engine, rows))
}

/// Returns the statement that adds so many debts.
fn add(engine: Engine, rows: usize) -> Statement {
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
    timed(engine, "tell what was served", &sql)
}
