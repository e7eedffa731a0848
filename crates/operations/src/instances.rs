//! The instances that serve from the database.

use robot_detection_store::store::StoredInstance;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Caller, Moment, Refusal};

/// Process that serves from the database.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Instance {
    /// Name that it has given itself.
    pub instance: String,
    /// Host that it runs on.
    pub host: String,
    /// Number of the process.
    pub process: u32,
    /// Version of the program.
    pub version: String,
    /// Where it is asked for its state.
    pub address: Option<String>,
    /// When it began.
    pub since: Moment,
    /// When it was heard of last.
    pub last_seen: Moment,
    /// For how long nothing has been heard of it.
    pub silent_seconds: i64,
    /// How far its clock is ahead of the database's.
    pub clock_ahead_seconds: i64,
    /// What it does for all instances.
    pub leads: Vec<String>,
    /// It is the process that is asked.
    #[serde(skip)]
    pub is_own: bool,
}

/// Instances, as lists have them.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Instances {
    /// By host.
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

    /// Returns how its clock stands to the database's, for people to read.
    #[must_use]
    pub fn clock(&self) -> String {
        let seconds = self.clock_ahead_seconds.abs();
        match self.clock_ahead_seconds {
            0 => "right".to_owned(),
            1.. => format!("{seconds} s ahead"),
            _ => format!("{seconds} s behind"),
        }
    }
}

/// Lists the instances.
///
/// # Errors
///
/// Fails if the database does.
pub async fn list(caller: &Caller<'_>) -> Result<Instances, Refusal> {
    let instances = caller.store.instances().list().await?;
    let instances = instances.into_iter().map(Instance::new).collect();
    Ok(Instances { instances })
}
