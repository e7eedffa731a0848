//! The instances that share the database.

use robot_detection_store::store::StoredInstance;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Caller, Moment, Refusal};

/// A process that uses the shared database.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Instance {
    /// Name of the instance.
    pub instance: String,
    /// Name of the instance's host.
    pub host: String,
    /// Process ID of the instance.
    pub process: u32,
    /// Program version of the instance.
    pub version: String,
    /// Address that serves the instance's operational endpoints.
    pub address: Option<String>,
    /// Start time of the instance.
    pub since: Moment,
    /// Time of the instance's last heartbeat.
    pub last_seen: Moment,
    /// Seconds since the instance's last heartbeat.
    pub silent_seconds: i64,
    /// Seconds by which the instance's clock is ahead of the database server's clock.
    pub clock_ahead_seconds: i64,
    /// Jobs of which this instance is the leader.
    pub leads: Vec<String>,
    /// Whether the instance is this process.
    #[serde(skip)]
    pub is_own: bool,
}

/// All instances that share the database.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "InstanceList")]
pub struct Instances {
    /// Instances, sorted by host name.
    pub instances: Vec<Instance>,
}

impl Instance {
    fn new(stored: StoredInstance) -> Self {
        let moment = |at_ms| Moment::new(at_ms, stored.now_ms);
        let silent_ms = stored.now_ms.saturating_sub(stored.seen_ms);
        Self {
            since: moment(stored.since_ms),
            last_seen: moment(stored.seen_ms),
            silent_seconds: silent_ms.max(0) / 1_000,
            clock_ahead_seconds: stored.ahead_ms / 1_000,
            address: Some(stored.address).filter(|address| !address.is_empty()),
            instance: stored.instance,
            host: stored.host,
            process: stored.process,
            version: stored.version,
            leads: stored.leads,
            is_own: stored.is_own,
        }
    }

    /// Returns the clock offset as a text such as `3 s ahead`.
    pub fn clock(&self) -> String {
        let seconds = self.clock_ahead_seconds.abs();
        match self.clock_ahead_seconds {
            0 => "in sync".to_owned(),
            1.. => format!("{seconds} s ahead"),
            _ => format!("{seconds} s behind"),
        }
    }
}

/// Lists the instances.
///
/// # Errors
///
/// Returns an error if the database operation fails.
pub async fn list(caller: &Caller<'_>) -> Result<Instances, Refusal> {
    let instances = caller.store.instances().list().await?;
    let instances = instances.into_iter().map(Instance::new).collect();
    Ok(Instances { instances })
}
