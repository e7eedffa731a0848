//! The instances of the fleet, as JSON and as the page of settings has them.

use axum::{Json, extract::State};
use serde_json::{Value, json};

use super::{
    moment::{Moment, rfc3339},
    problem::Problem,
    state::AdminState,
};
use crate::store::StoredInstance;

/// Instance as the page shows it.
#[derive(Clone, Debug)]
pub(super) struct InstanceView {
    pub(super) host: String,
    pub(super) process: u32,
    pub(super) is_own: bool,
    pub(super) version: String,
    pub(super) since: Moment,
    pub(super) address: String,
    pub(super) silent_seconds: i64,
    pub(super) clock: String,
    pub(super) leads: String,
}

impl InstanceView {
    fn new(instance: StoredInstance) -> Self {
        Self {
            silent_seconds: silent_seconds(&instance),
            since: Moment::new(instance.since_ms, instance.now_ms),
            clock: clock_text(instance.ahead_ms),
            leads: instance.leads.join(", "),
            host: instance.host,
            process: instance.process,
            is_own: instance.is_own,
            version: instance.version,
            address: instance.address,
        }
    }
}

/// Returns the instances of the fleet; none while the database is away.
pub(super) async fn views(state: &AdminState) -> Vec<InstanceView> {
    let instances = state.admin().store.instances().await.unwrap_or_default();
    instances.into_iter().map(InstanceView::new).collect()
}

pub(super) async fn json(State(state): State<AdminState>) -> Result<Json<Value>, Problem> {
    let instances = state.admin().store.instances().await?;
    Ok(Json(fleet_value(&instances)))
}

/// Returns instances as commands and pages tell them to programs.
pub(crate) fn fleet_value(instances: &[StoredInstance]) -> Value {
    let values = instances.iter().map(|instance| {
        let address = Some(&instance.address).filter(|address| !address.is_empty());
        json!({
            "instance": instance.instance,
            "host": instance.host,
            "process": instance.process,
            "version": instance.version,
            "address": address,
            "since": rfc3339(instance.since_ms),
            "last_seen": rfc3339(instance.seen_ms),
            "silent_seconds": silent_seconds(instance),
            "clock_ahead_seconds": instance.ahead_ms / 1_000,
            "leads": instance.leads,
        })
    });
    json!({ "instances": values.collect::<Vec<_>>() })
}

/// Returns for how long nothing was heard of an instance.
pub(crate) fn silent_seconds(instance: &StoredInstance) -> i64 {
    let silent_ms = instance.now_ms.saturating_sub(instance.seen_ms);
    silent_ms.max(0) / 1_000
}

/// Returns how the clock of an instance stands to the database's.
pub(crate) fn clock_text(ahead_ms: i64) -> String {
    let seconds = ahead_ms.abs() / 1_000;
    match ahead_ms {
        0 => "right".to_owned(),
        1.. => format!("{seconds} s ahead"),
        _ => format!("{seconds} s behind"),
    }
}
