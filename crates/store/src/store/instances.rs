//! Which processes serve from this database, and what each of them leads.
//!
//! All times are those of the database, so that the clocks of instances may be hours off.

use std::{collections::HashMap, time::Duration};

use super::{
    StoreError,
    columns::columns,
    error::Engine,
    leases::{LeaseHolder, host},
    process_lock,
    sql::{statements, timed},
    statement::Statement,
};

/// Milliseconds of silence after which an instance is forgotten.
const FORGOTTEN_MS: i64 = 120_000;

/// Instances that are listed, at most.
const MOST: i64 = 1_000;

/// Leases that are looked at, at most.
const MOST_LEASES: i64 = 10_000;

/// Process that serves from this database.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct StoredInstance {
    /// Another one for each start of a process.
    pub instance: String,
    /// Name of its machine.
    pub host: String,
    /// Id of the process on that machine.
    pub process: u32,
    /// Version of the program.
    pub version: String,
    /// Where its health, metrics and console are; empty where it has no listener for them.
    pub address: String,
    /// When it started, in milliseconds since 1970.
    pub since_ms: i64,
    /// When it was heard of last.
    pub seen_ms: i64,
    /// What the database's clock said when this was read.
    pub now_ms: i64,
    /// By how many milliseconds the clock of its machine is ahead of the database's.
    pub ahead_ms: i64,
    /// It is the process that has read this.
    pub is_own: bool,
    /// Names of the leases that it holds, in their order.
    pub leads: Vec<String>,
}

columns! {
    #[derive(Debug)]
    struct InstanceRow {
        instance: String,
        host: String,
        process: i64,
        version: String,
        address: String,
        since_ms: i64,
        seen_ms: i64,
        now_ms: i64,
        ahead_ms: i64,
    }
}

statements! {
    FORGET = "forget an instance",
        "DELETE FROM instances WHERE instance = $1";
}

handle! {
    /// The instances that serve from the database.
    Instances, instances
}

impl Instances<'_> {
    /// Records that this process is alive, since how long, and where it can be asked.
    ///
    /// `ahead_ms` is by how many milliseconds its clock is ahead of the database's. Others
    /// that have been silent for two minutes are forgotten.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn beat(
        self,
        version: &str,
        address: &str,
        uptime: Duration,
        ahead_ms: i64,
    ) -> Result<(), StoreError> {
        let engine = self.store.database.place.engine;
        let uptime_ms = i64::try_from(uptime.as_millis()).unwrap_or(0);
        let (instance, host) = (process_lock::instance(), host());
        let values = [
            (&instance).into(),
            (&host).into(),
            i64::from(std::process::id()).into(),
            version.into(),
            address.into(),
            uptime_ms.into(),
            ahead_ms.into(),
        ];
        self.store.database.execute(&beat(engine), &values).await?;
        let (prune, values) = (prune(engine), [FORGOTTEN_MS.into()]);
        let pruned = self.store.database.execute(&prune, &values);
        pruned.await.map(|_| ())
    }

    /// Returns what the database's clock says, in milliseconds since 1970.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn now_ms(self) -> Result<i64, StoreError> {
        let now = now(self.store.database.place.engine);
        let row = self.store.database.first::<(i64,)>(&now, &[]).await?;
        Ok(row.map_or(0, |(now_ms,)| now_ms))
    }

    /// Forgets this process, which ends.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn forget(self) -> Result<(), StoreError> {
        let instance = process_lock::instance();
        let values = [(&instance).into()];
        let forgotten = self.store.database.execute(&FORGET, &values);
        forgotten.await.map(|_| ())
    }

    /// Returns the instances that were heard of in the last two minutes, the oldest first.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn list(self) -> Result<Vec<StoredInstance>, StoreError> {
        let engine = self.store.database.place.engine;
        let (list, values) = (list(engine), [FORGOTTEN_MS.into(), MOST.into()]);
        let rows: Vec<InstanceRow> = self.store.database.rows(&list, &values).await?;
        let held = held(engine);
        let leases: Vec<(String, String)> = self
            .store
            .database
            .rows(&held, &[MOST_LEASES.into()])
            .await?;
        let mut leads: HashMap<String, Vec<String>> = HashMap::new();
        for (name, holder) in leases {
            if let Some(instance) = LeaseHolder::instance_of(&holder) {
                leads.entry(instance).or_default().push(name);
            }
        }
        let own = process_lock::instance();
        let stored = |row: InstanceRow| StoredInstance {
            is_own: row.instance == own,
            leads: leads.remove(&row.instance).unwrap_or_default(),
            instance: row.instance,
            host: row.host,
            process: u32::try_from(row.process).unwrap_or(0),
            version: row.version,
            address: row.address,
            since_ms: row.since_ms,
            seen_ms: row.seen_ms,
            now_ms: row.now_ms,
            ahead_ms: row.ahead_ms,
        };
        Ok(rows.into_iter().map(stored).collect())
    }
}

/// Returns every statement, those put together in each form.
pub(super) fn every_statement(engine: Engine) -> Vec<Statement> {
    let mut all: Vec<Statement> = FIXED.iter().copied().cloned().collect();
    all.extend([beat(engine), prune(engine), list(engine), held(engine)]);
    all.extend([serving(engine), now(engine)]);
    all
}

fn beat(engine: Engine) -> Statement {
    timed(
        engine,
        "say that an instance is alive",
        "INSERT INTO instances (instance, host, process, version, address, since_ms, seen_ms, \
         ahead_ms) VALUES ($1, $2, $3, $4, $5, {now} - $6, {now}, $7) \
         ON CONFLICT (instance) DO UPDATE SET address = excluded.address, \
         seen_ms = excluded.seen_ms, ahead_ms = excluded.ahead_ms",
    )
}

fn prune(engine: Engine) -> Statement {
    timed(
        engine,
        "forget instances that are gone",
        "DELETE FROM instances WHERE seen_ms <= {now} - $1",
    )
}

fn list(engine: Engine) -> Statement {
    timed(
        engine,
        "list the instances",
        "SELECT instance, host, process, version, address, since_ms, seen_ms, {now} AS now_ms, \
         ahead_ms FROM instances WHERE seen_ms > {now} - $1 ORDER BY since_ms, instance LIMIT $2 + 0",
    )
}

/// Returns the statement that counts who serves: each of them beats every 15 seconds.
pub(super) fn serving(engine: Engine) -> Statement {
    timed(
        engine,
        "count who serves from the database",
        "SELECT COUNT(*) FROM instances WHERE seen_ms > {now} - 40000",
    )
}

fn now(engine: Engine) -> Statement {
    timed(engine, "read the time", "SELECT {now}")
}

fn held(engine: Engine) -> Statement {
    timed(
        engine,
        "list who leads what",
        "SELECT name, holder FROM leases WHERE until_ms > {now} ORDER BY name LIMIT $1 + 0",
    )
}
