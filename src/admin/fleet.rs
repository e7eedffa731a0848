//! The instances of the fleet, as JSON.

use axum::{Json, extract::State};
use serde_json::{Value, json};

use super::{moment::rfc3339, problem::Problem, state::AdminState};
use crate::store::StoredInstance;

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
