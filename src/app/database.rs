//! Watches the database, so that nobody waits for one that is away.

use std::time::Duration;

use tracing::{error, info, warn};

use crate::clock::Clock;
use crate::instances::set_clock;
use crate::refresh::Refresher;
use crate::store::{PresenceChange, Store};

/// Time between two looks at a database that is there.
// For a database that is there a failed call brings the look forward; this only finds one that went
// away while nobody asked.
const INTERVAL: Duration = Duration::from_secs(2);

/// Time that failing calls are not asked to wait for a look.
const SHORTEST: Duration = Duration::from_millis(500);

/// Longest time between two looks at a database that is away.
const LONGEST: Duration = Duration::from_secs(15);

/// Looks at the database for ever, and puts in force what it holds whenever it is back.
pub(super) async fn watch_database(
    store: Store,
    refresher: Refresher,
    clock: Clock,
    use_bundled: bool,
) {
    let mut pause = INTERVAL;
    loop {
        wait(&store, pause).await;
        match store.check_presence(clock.now_ms()).await {
            None => {}
            Some(PresenceChange::Away(absence)) => {
                let reason = &absence.reason;
                error!("the database is away, all is served from memory: {reason}");
                refresher.prepare_again(use_bundled);
            }
            Some(PresenceChange::Back(absence)) => {
                let away_s = clock.now_ms().saturating_sub(absence.since_ms) / 1_000;
                info!(away_s, "the database is back after {away_s} s");
                // Before anything is done at a time of its own; the next heartbeat tries again.
                let _ = set_clock(&clock, &store).await;
                take_over(&refresher, use_bundled).await;
            }
        }
        pause = match store.absence() {
            None => INTERVAL,
            // The first look after it went away is soon, as a restart takes a second or two.
            Some(_) if pause == INTERVAL => SHORTEST,
            Some(_) => (pause * 2).min(LONGEST),
        };
    }
}

/// Waits for the next look; a call that failed brings it forward.
async fn wait(store: &Store, pause: Duration) {
    // Also when calls fail all the time, as of a table that is broken: a look costs a query.
    tokio::time::sleep(SHORTEST).await;
    let rest = tokio::time::sleep(pause.saturating_sub(SHORTEST));
    // While it is away every call fails: one more is no news.
    if store.absence().is_some() {
        return rest.await;
    }
    tokio::select! {
        () = rest => {}
        () = store.wait_for_failure() => {}
    }
}

async fn take_over(refresher: &Refresher, use_bundled: bool) {
    if let Err(error) = refresher.prepare(use_bundled).await {
        warn!(%error, "what the database holds is not in force yet: {error}");
    }
}
