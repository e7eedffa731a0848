//! Running instances that use this database, and the leases they hold.
//!
//! All times are from the database's clock, so incorrect clocks on the instances do not matter.

use std::{collections::HashMap, time::Duration};

use super::{
    StoreError,
    leases::{LeaseHolder, host},
    process_lock,
};

/// The time without a heartbeat after which an instance is removed, in milliseconds.
const FORGOTTEN_MS: i64 = 120_000;

/// The maximum number of instances to list.
const MOST: i64 = 1_000;

/// The maximum number of leases to read.
const MOST_LEASES: i64 = 10_000;

columns! {
    /// A server process that uses this database.
    #[derive(Clone, Debug, Default, Eq, PartialEq)]
    #[non_exhaustive]
    pub struct StoredInstance {
        /// The ID of the instance, newly generated each time the process starts.
        pub instance: String,
        /// The name of the host on which the instance runs.
        pub host: String,
        /// The process ID of the instance on its host.
        pub process: u32,
        /// The version of the program that the instance runs.
        pub version: String,
        /// The address of the listener for health checks, metrics and the console; empty if there
        /// is no listener.
        pub address: String,
        /// The start time of the instance, in milliseconds since the Unix epoch.
        pub since_ms: i64,
        /// The time of the instance's last heartbeat.
        pub seen_ms: i64,
        /// The time on the database's clock when the row was read.
        pub now_ms: i64,
        /// The number of milliseconds by which the host's clock is ahead of the database's clock.
        pub ahead_ms: i64,
        /// Whether the instance is this process.
        pub is_own: bool,
        /// The names of the leases that the instance holds, in alphabetical order.
        pub leads: Vec<String>,
    }
}

statements! {
    FORGET = "remove an instance",
        "DELETE FROM instances WHERE instance = $1";
    BEAT = "record that an instance is alive",
        "INSERT INTO instances (instance, host, process, version, address, since_ms, seen_ms, \
        ahead_ms) VALUES ($1, $2, $3, $4, $5, {now} - $6, {now}, $7) \
        ON CONFLICT (instance) DO UPDATE SET address = excluded.address, \
        seen_ms = excluded.seen_ms, ahead_ms = excluded.ahead_ms";
    PRUNE = "remove stopped instances",
        "DELETE FROM instances WHERE seen_ms <= {now} - $1";
    // The query `HELD` fills in `leads`.
    LIST = "list the instances",
        "SELECT instance, host, process, version, address, since_ms, seen_ms, {now} AS now_ms, \
        ahead_ms, CAST(CASE WHEN instance = $3 THEN 1 ELSE 0 END AS BIGINT) AS is_own, \
        '[]' AS leads FROM instances WHERE seen_ms > {now} - $1 ORDER BY since_ms, instance LIMIT $2 + 0";
    SERVING = "count the instances that use the database",
        "SELECT COUNT(*) FROM instances WHERE seen_ms > {now} - 40000";
    NOW = "read the time",
        "SELECT {now}";
    HELD = "list the lease holders",
        "SELECT name, holder FROM leases WHERE until_ms > {now} ORDER BY name LIMIT $1 + 0";
}

handle! {
    /// Access to the instances that use the database.
    Instances, instances
}

impl Instances<'_> {
    /// Records that this process is alive, along with its start time and its listener's address.
    ///
    /// `ahead_ms` is the number of milliseconds by which the host's clock is ahead of the
    /// database's. Instances without a heartbeat for two minutes are removed.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn heartbeat(
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

    /// Returns the current time on the database's clock, in milliseconds since the Unix epoch.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn now_ms(self) -> Result<i64, StoreError> {
        let now_ms = self.db.value(&NOW, &[]).await?;
        Ok(now_ms.unwrap_or(0))
    }

    /// Removes this process from the list of instances before it exits.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn remove_self(self) -> Result<(), StoreError> {
        let instance = process_lock::instance();
        let values = [(&instance).into()];
        self.db.run(&FORGET, &values).await
    }

    /// Returns the instances that were alive in the last two minutes, oldest first.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
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
