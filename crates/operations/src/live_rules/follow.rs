//! Applies changes to the live rules in the database.

use std::{pin::pin, time::Duration};

use tracing::{debug, info, warn};

use robot_detection_layer::clock::Clock;
use robot_detection_store::store::{Store, StoreError};

use super::{LiveRuleSet, LiveRules, StateFile};

/// Interval at which the expiry of rules is checked; a check only compares two numbers.
const TICK: Duration = Duration::from_millis(250);

/// Delay before retrying after a database error that is not an outage.
const RETRY: Duration = Duration::from_secs(5);

/// Loads the rules from the database, or from the file if the database is unavailable, and applies
/// them.
pub async fn load(live: &LiveRules, store: &Store, clock: &Clock, file: Option<&StateFile>) {
    if !live.is_enabled() {
        return;
    }
    let Err(error) = reload(live, store, clock, file).await else {
        return;
    };
    let Some(file) = file else {
        warn!(%error, "no live rules are applied until the database responds: {error}");
        return;
    };
    match file.read().await {
        Ok(Some(mut set)) => {
            set.remove_ended(clock.now_ms());
            let rules = set.rules.len();
            info!(
                rules,
                "the database does not respond; number of live rules loaded from {file}: {rules}"
            );
            live.put(LiveRuleSet { version: -1, ..set });
        }
        Ok(None) => debug!("no live rules file exists yet"),
        Err(error) => warn!(%error, "live rules are ignored until the database responds: {error}"),
    }
}

/// Continuously applies the changes to the live rules in the database.
pub async fn follow(live: LiveRules, store: Store, clock: Clock, file: Option<StateFile>) {
    if !live.is_enabled() {
        return;
    }
    loop {
        let followed = follow_once(&live, &store, &clock, file.as_ref()).await;
        if let Err(error) = followed {
            debug!(%error, "could not follow live rules: {error}");
            tokio::time::sleep(RETRY).await;
        }
    }
}

async fn follow_once(
    live: &LiveRules,
    store: &Store,
    clock: &Clock,
    file: Option<&StateFile>,
) -> Result<(), StoreError> {
    // A single listener for all ticks, because each new listener costs a connection.
    let mut changed = pin!(store.live_rules().changed(live.load().version));
    loop {
        tokio::select! {
            version = &mut changed => {
                version?;
                return reload(live, store, clock, file).await;
            }
            () = tokio::time::sleep(TICK) => {
                if live.remove_ended(clock.now_ms()) {
                    keep(live, file).await;
                }
            }
        }
    }
}

async fn reload(
    live: &LiveRules,
    store: &Store,
    clock: &Clock,
    file: Option<&StateFile>,
) -> Result<(), StoreError> {
    let stored = store.live_rules().list(clock.now_ms()).await?;
    live.put(LiveRuleSet::read(stored));
    keep(live, file).await;
    Ok(())
}

/// Saves the rules in force to the file, for the next startup while the database is unavailable.
async fn keep(live: &LiveRules, file: Option<&StateFile>) {
    let Some(file) = file else { return };
    if let Err(error) = file.write(&live.load()).await {
        warn!(%error, "could not save the live rules for a startup without the database: {error}");
    }
}
