//! Lists and ends the bans in force.

use robot_detection_store::store::Ban;
use schemars::JsonSchema;
use serde::Serialize;

use super::Network;
use crate::{Caller, Moment, Refusal};

/// A ban that is in force.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Ban")]
pub struct BanView {
    /// Banned network, such as `203.0.113.5`.
    pub network: String,
    /// Cause of the last refusal before the ban.
    pub cause: String,
    /// Start of the ban.
    pub since: Moment,
    /// Expiry of the ban.
    pub until: Moment,
}

/// All bans in force.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "BanList")]
pub struct BanViews {
    /// Bans in force, newest first.
    pub bans: Vec<BanView>,
}

impl BanViews {
    /// Returns the views of bans stored in the database.
    pub fn new(bans: Vec<Ban>, now_ms: i64) -> Self {
        let moment = |at_ms| Moment::new(at_ms, now_ms);
        let views = bans.into_iter().rev().map(|ban| BanView {
            network: ban.network,
            cause: ban.cause,
            since: moment(ban.since_ms),
            until: moment(ban.until_ms),
        });
        Self {
            bans: views.collect(),
        }
    }
}

/// Lists the bans in force.
///
/// # Errors
///
/// Returns an error if the database operation fails.
pub async fn list(caller: &Caller<'_>) -> Result<BanViews, Refusal> {
    let bans = caller.store.bans().list(caller.now_ms).await?;
    Ok(BanViews::new(bans, caller.now_ms))
}

/// Ends the ban on a network.
///
/// # Errors
///
/// Returns an error if the network is invalid or not banned, or if a database operation fails.
pub async fn remove(caller: &Caller<'_>, network: &str) -> Result<Network, Refusal> {
    let network: Network = network
        .parse()
        .map_err(|reason: String| Refusal::invalid("network", reason))?;
    let subject = network.to_string();
    if !caller.store.bans().remove(&subject).await? {
        return Err(Refusal::not_found(format!("{subject} is not banned.")));
    }
    caller.record("ban-removed", &subject, "").await;
    Ok(network)
}
