//! What tells the database who is flagged.

use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::clock::Clock;
use crate::store::{Store, StoreError};

use super::{Suspicion, conduct_value, fleet_value};

/// Time between two looks at who is flagged.
const EVERY: Duration = Duration::from_secs(5);

/// Milliseconds after which it is told again though it is the same, as the instance is there still.
const AGAIN_MS: i64 = 60_000;

/// Milliseconds for which what an instance has said is its last word.
pub(crate) const LASTS_MS: i64 = 3 * AGAIN_MS;

/// Keeper of who is flagged in one process.
pub(super) struct Keeper {
    store: Store,
    clock: Clock,
    /// Another one for each start.
    instance: String,
    told: Option<(i64, String)>,
}

impl Keeper {
    pub(super) fn new(store: Store, clock: &Clock) -> Self {
        Self {
            store,
            instance: format!("{:x}-{:08x}", clock.now_ms(), fastrand::u32(..)),
            clock: clock.clone(),
            told: None,
        }
    }

    /// Tells who is flagged until `stop` is cancelled.
    pub(super) async fn run(mut self, suspicion: &Suspicion, stop: &CancellationToken) {
        loop {
            if let Err(error) = self.tell(suspicion).await {
                // That the database is away is told by who watches over it.
                debug!("the database is not told who is a suspect: {error}");
            }
            if stop
                .run_until_cancelled(tokio::time::sleep(EVERY))
                .await
                .is_none()
            {
                break;
            }
        }
        // What is left otherwise is forgotten in a few minutes.
        let _ = self.store.forget_suspects(&self.instance).await;
    }

    async fn tell(&mut self, suspicion: &Suspicion) -> Result<(), StoreError> {
        let now_ms = self.clock.now_ms();
        let flags = value(suspicion).to_string();
        let is_known = |(at_ms, told): &(i64, String)| {
            *told == flags && now_ms.abs_diff(*at_ms) < AGAIN_MS.unsigned_abs()
        };
        if self.told.as_ref().is_some_and(is_known) {
            return Ok(());
        }
        let old_ms = now_ms.saturating_sub(LASTS_MS);
        let saved = self
            .store
            .save_suspects(&self.instance, now_ms, &flags, old_ms);
        saved.await?;
        self.told = Some((now_ms, flags));
        Ok(())
    }
}

fn value(suspicion: &Suspicion) -> Value {
    let (flags, missed) = suspicion.flags();
    let fleets = flags.fleets().into_iter().map(fleet_value);
    let conduct = flags.conducts().into_iter().map(conduct_value);
    json!({
        "fleets": fleets.collect::<Vec<_>>(),
        "conduct": conduct.collect::<Vec<_>>(),
        "missed": missed,
    })
}
