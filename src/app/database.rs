//! Monitors the database, so that callers do not wait while it is unavailable.

use std::time::Duration;

use tracing::{error, info, warn};

use crate::clock::Clock;
use crate::instances::set_clock;
use crate::refresh::Refresher;
use crate::store::{AvailabilityChange, Store};

/// The interval between two checks of an available database.
// A failed call triggers an earlier check; the interval only detects an outage while there are no
// calls.
const INTERVAL: Duration = Duration::from_secs(2);

/// The minimum time between two checks triggered by failed calls.
const SHORTEST: Duration = Duration::from_millis(500);

/// The maximum time between two checks of an unavailable database.
const LONGEST: Duration = Duration::from_secs(15);

/// Checks the database in an endless loop, and applies its contents when it becomes available
/// again.
pub(super) async fn watch_database(
    store: Store,
    refresher: Refresher,
    clock: Clock,
    use_bundled: bool,
) {
    let mut pause = INTERVAL;
    loop {
        wait(&store, pause).await;
        match store.check_availability(clock.now_ms()).await {
            None => {}
            Some(AvailabilityChange::Away(absence)) => {
                let reason = &absence.reason;
                error!("database unavailable, serving from memory: {reason}");
                refresher.prepare_again(use_bundled);
            }
            Some(AvailabilityChange::Back(absence)) => {
                let away_s = clock.now_ms().saturating_sub(absence.since_ms) / 1_000;
                info!(away_s, "database available again after {away_s} s");
                // The clock is set before any scheduled work; the next heartbeat sets it again.
                let _ = set_clock(&clock, &store).await;
                take_over(&refresher, use_bundled).await;
            }
        }
        pause = match store.outage() {
            None => INTERVAL,
            // The first check after an outage begins follows soon, because a database restarts in a
            // second or two.
            Some(_) if pause == INTERVAL => SHORTEST,
            Some(_) => (pause * 2).min(LONGEST),
        };
    }
}

/// Waits for the next check; a failed call triggers the check earlier.
async fn wait(store: &Store, pause: Duration) {
    // This pause also limits the checks if calls fail constantly, such as on a broken table.
    tokio::time::sleep(SHORTEST).await;
    let rest = tokio::time::sleep(pause.saturating_sub(SHORTEST));
    // During an outage every call fails, so a failed call is not a reason to check.
    if store.outage().is_some() {
        return rest.await;
    }
    tokio::select! {
        () = rest => {}
        () = store.wait_for_failure() => {}
    }
}

async fn take_over(refresher: &Refresher, use_bundled: bool) {
    if let Err(error) = refresher.prepare(use_bundled).await {
        warn!(%error, "cannot apply the contents of the database yet: {error}");
    }
}
