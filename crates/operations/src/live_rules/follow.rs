//! Follows the live rules of the database.

use std::{pin::pin, time::Duration};

use tracing::{debug, info, warn};

use robot_detection_layer::clock::Clock;
use robot_detection_store::store::{Store, StoreError};

use super::{LiveRuleSet, LiveRules, StateFile};

/// Interval at which rules are looked through for one that is over: a comparison of two numbers.
const TICK: Duration = Duration::from_millis(250);

/// Pause before a database that failed for a cause that does not pass is asked again.
const RETRY: Duration = Duration::from_secs(5);

/// Applies the rules that the database has, or the file while that is away.
pub async fn load(live: &LiveRules, store: &Store, clock: &Clock, file: Option<&StateFile>) {
    if !live.is_enabled() {
        return;
    }
    let Err(error) = reload(live, store, clock, file).await else {
        return;
    };
    let Some(file) = file else {
        warn!(%error, "no live rules are known until the database answers: {error}");
        return;
    };
    match file.read().await {
        Ok(Some(mut set)) => {
            set.end(clock.now_ms());
            let rules = set.rules.len();
            info!(
                rules,
                "the database does not answer; live rules in force as {file} has them: {rules}"
            );
            live.put(LiveRuleSet { version: -1, ..set });
        }
        Ok(None) => debug!("there is no file of live rules yet"),
        Err(error) => warn!(%error, "live rules are left out until the database answers: {error}"),
    }
}

/// Follows the database for ever.
pub async fn follow(live: LiveRules, store: Store, clock: Clock, file: Option<StateFile>) {
    if !live.is_enabled() {
        return;
    }
    loop {
        let followed = follow_once(&live, &store, &clock, file.as_ref()).await;
        if let Err(error) = followed {
            debug!(%error, "live rules are not followed at the moment: {error}");
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
    // One wait for all ticks: to listen anew costs a connection.
    let mut changed = pin!(store.live_rules().changed(live.load().version));
    loop {
        tokio::select! {
            version = &mut changed => {
                version?;
                return reload(live, store, clock, file).await;
            }
            () = tokio::time::sleep(TICK) => {
                if live.end(clock.now_ms()) {
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

/// Writes the rules in force to the file, for a start while the database is away.
async fn keep(live: &LiveRules, file: Option<&StateFile>) {
    let Some(file) = file else { return };
    if let Err(error) = file.write(&live.load()).await {
        warn!(%error, "live rules are not there at a start without the database: {error}");
    }
}
