//! Which processes serve from this database, and what each of them leads.
//!
//! All times are those of the database, so that the clocks of instances may be hours off.

use std::{collections::HashMap, time::Duration};

use super::{
    StoreError,
    leases::{LeaseHolder, host},
    process_lock,
};

/// Milliseconds of silence after which an instance is forgotten.
const FORGOTTEN_MS: i64 = 120_000;

/// Instances that are listed, at most.
const MOST: i64 = 1_000;

/// Leases that are looked at, at most.
const MOST_LEASES: i64 = 10_000;

columns! {
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
}

statements! {
    FORGET = "forget an instance",
        "DELETE FROM instances WHERE instance = $1";
    BEAT = "say that an instance is alive",
        "INSERT INTO instances (instance, host, process, version, address, since_ms, seen_ms, \
        ahead_ms) VALUES ($1, $2, $3, $4, $5, {now} - $6, {now}, $7) \
        ON CONFLICT (instance) DO UPDATE SET address = excluded.address, \
        seen_ms = excluded.seen_ms, ahead_ms = excluded.ahead_ms";
    PRUNE = "forget instances that are gone",
        "DELETE FROM instances WHERE seen_ms <= {now} - $1";
    // The leads are those of `HELD`.
    LIST = "list the instances",
        "SELECT instance, host, process, version, address, since_ms, seen_ms, {now} AS now_ms, \
        ahead_ms, CAST(CASE WHEN instance = $3 THEN 1 ELSE 0 END AS BIGINT) AS is_own, \
        '[]' AS leads FROM instances WHERE seen_ms > {now} - $1 ORDER BY since_ms, instance LIMIT $2 + 0";
    SERVING = "count who serves from the database",
        "SELECT COUNT(*) FROM instances WHERE seen_ms > {now} - 40000";
    NOW = "read the time",
        "SELECT {now}";
    HELD = "list who leads what",
        "SELECT name, holder FROM leases WHERE until_ms > {now} ORDER BY name LIMIT $1 + 0";
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
        self.db.execute(&BEAT, &values).await?;
        self.db.run(&PRUNE, &[FORGOTTEN_MS.into()]).await
    }

    /// Returns what the database's clock says, in milliseconds since 1970.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn now_ms(self) -> Result<i64, StoreError> {
        let now_ms = self.db.value(&NOW, &[]).await?;
        Ok(now_ms.unwrap_or(0))
    }

    /// Forgets this process, which ends.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn forget(self) -> Result<(), StoreError> {
        let instance = process_lock::instance();
        let values = [(&instance).into()];
        self.db.run(&FORGET, &values).await
    }

    /// Returns the instances that were heard of in the last two minutes, the oldest first.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn list(self) -> Result<Vec<StoredInstance>, StoreError> {
        let own = process_lock::instance();
        let values = [FORGOTTEN_MS.into(), MOST.into(), (&own).into()];
        let mut instances: Vec<StoredInstance> = self.db.rows(&LIST, &values).await?;
        let leases: Vec<(String, String)> = self.db.rows(&HELD, &[MOST_LEASES.into()]).await?;
        let mut leads: HashMap<String, Vec<String>> = HashMap::new();
        for (name, holder) in leases {
            if let Some(instance) = LeaseHolder::instance_of(&holder) {
                leads.entry(instance).or_default().push(name);
            }
        }
        for instance in &mut instances {
            instance.leads = leads.remove(&instance.instance).unwrap_or_default();
        }
        Ok(instances)
    }
}
