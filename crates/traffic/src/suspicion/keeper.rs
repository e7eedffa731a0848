//! Exchanges flagged visitors and sketches with other instances through the database.

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use robot_detection_fleets::Sketch;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use robot_detection_layer::clock::Clock;
use robot_detection_store::store::{Store, StoreError, StoredSuspects};

use super::{Suspicion, conduct_value, fleet_value};

/// Interval between two exchanges with the database.
const EVERY: Duration = Duration::from_secs(5);

/// Milliseconds after which unchanged flags are saved again to show that the instance is running.
const AGAIN_MS: i64 = 60_000;

/// Milliseconds for which the flags stored by an instance are valid.
pub const LASTS_MS: i64 = 3 * AGAIN_MS;

/// The task that saves the visitors flagged by one process.
pub(super) struct Keeper {
    store: Store,
    clock: Clock,
    /// Random name of this process, generated each time the process starts.
    instance: String,
    told: Option<(i64, String)>,
    /// Whether other instances exist that need this instance's sketch.
    has_others: bool,
}

impl Keeper {
    pub(super) fn new(store: Store, clock: &Clock) -> Self {
        Self {
            store,
            instance: format!("{:x}-{:08x}", clock.now_ms(), fastrand::u32(..)),
            clock: clock.clone(),
            told: None,
            has_others: false,
        }
    }

    /// Saves the flagged visitors regularly until `stop` is cancelled.
    pub(super) async fn run(mut self, suspicion: &Suspicion, stop: &CancellationToken) {
        loop {
            if let Err(error) = self.tell(suspicion).await {
                // The health check of the database logs the outage.
                debug!("could not exchange flagged visitors with other instances: {error}");
            }
            if stop
                .run_until_cancelled(tokio::time::sleep(EVERY))
                .await
                .is_none()
            {
                break;
            }
        }
        // If the deletion fails, the stored flags expire within a few minutes.
        let _ = self.store.suspects().remove(&self.instance).await;
    }

    async fn tell(&mut self, suspicion: &Suspicion) -> Result<(), StoreError> {
        let at_ms = self.clock.now_ms();
        let flags = value(suspicion).to_string();
        let is_known = |(told_ms, told): &(i64, String)| {
            *told == flags && at_ms.abs_diff(*told_ms) < AGAIN_MS.unsigned_abs()
        };
        let old_ms = at_ms.saturating_sub(LASTS_MS);
        if self.has_others || !self.told.as_ref().is_some_and(is_known) {
            let sketch = self.has_others.then(|| suspicion.sketch().to_bytes());
            let suspects = StoredSuspects {
                instance: self.instance.clone(),
                at_ms,
                flags,
                sketch: BASE64_STANDARD.encode(sketch.unwrap_or_default()),
            };
            self.store.suspects().save(&suspects, old_ms).await?;
            self.told = Some((at_ms, suspects.flags));
        }
        self.hear(suspicion, old_ms).await
    }

    /// Loads the sketches that other instances have stored.
    async fn hear(&mut self, suspicion: &Suspicion, since_ms: i64) -> Result<(), StoreError> {
        let mut told = self.store.suspects().load(since_ms).await?;
        told.retain(|told| told.instance != self.instance);
        self.has_others = !told.is_empty();
        for other in told {
            let bytes = BASE64_STANDARD.decode(&other.sketch).unwrap_or_default();
            // An instance that runs alone stores no sketch, and a sketch from another version may
            // be unreadable.
            if let Ok(sketch) = Sketch::from_bytes(&bytes) {
                suspicion.receive_sketch(&other.instance, sketch);
            }
        }
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
        "unexamined": missed,
    })
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use axum::http::Request;

    use super::*;

    /// Adds a request and its response to the observations.
    fn ask(suspicion: &Suspicion, agent: &str, path: &str, client: IpAddr) {
        let request = Request::builder().uri(path).header("User-Agent", agent);
        let slip = suspicion.store(&request.body(()).unwrap(), client).unwrap();
        suspicion.record(slip, true, 200, false);
    }

    #[tokio::test]
    async fn instances_jointly_detect_a_fleet_spread_over_them() {
        let (store, clock) = (
            Store::connect("sqlite::memory:").await.unwrap(),
            Clock::manual(1_000_000),
        );
        let [seed, _] = store.pace().seed([7, 7]).await.unwrap();
        let mut instances = [0, 1].map(|part| {
            let suspicion = Suspicion::new(&clock, seed);
            for number in (0..100).filter(|number| number % 2 == part) {
                let client = |network: [u8; 3]| {
                    let [a, b, c] = network;
                    IpAddr::from(Ipv4Addr::new(a, b, c, number))
                };
                ask(
                    &suspicion,
                    "Chrome/140.0",
                    &format!("/a/b/{number}"),
                    client([203, 0, 113]),
                );
                for asset in 0..6 {
                    ask(
                        &suspicion,
                        "Chrome/152.0",
                        &format!("/{asset}.css"),
                        client([198, 51, 100]),
                    );
                }
                ask(&suspicion, "Chrome/152.0", "/page", client([198, 51, 100]));
                suspicion.catch_up();
            }
            assert!(
                suspicion.flags().0.fleets().is_empty(),
                "50 pages are too few"
            );
            let mut keeper = Keeper::new(store.clone(), &clock);
            keeper.instance = part.to_string();
            (suspicion, keeper)
        });
        // The first exchange detects the other instances, and later exchanges share their sketches.
        for _ in 0..3 {
            for (suspicion, keeper) in &mut instances {
                keeper.tell(suspicion).await.unwrap();
            }
        }
        for (suspicion, keeper) in &mut instances {
            suspicion.catch_up();
            let (flags, missed) = suspicion.flags();
            assert_eq!((flags.fleets().len(), missed), (1, 0));
            assert_eq!(flags.fleets()[0].figures.requests, 100);
            keeper.tell(suspicion).await.unwrap();
        }
        let told = store.suspects().load(0).await.unwrap();
        assert_eq!(told.len(), 2);
        assert!(
            told.iter()
                .all(|told| told.flags.contains("fleet-no-assets"))
        );
    }

    #[tokio::test]
    async fn single_instance_saves_only_changes() {
        let (store, clock) = (
            Store::connect("sqlite::memory:").await.unwrap(),
            Clock::manual(1_000_000),
        );
        let suspicion = Suspicion::new(&clock, 7);
        let mut keeper = Keeper::new(store.clone(), &clock);
        for (after, at_ms) in [(0, 1_000_000), (5_000, 1_000_000), (55_000, 1_060_000)] {
            clock.advance(Duration::from_millis(after));
            keeper.tell(&suspicion).await.unwrap();
            let told = store.suspects().load(0).await.unwrap();
            assert_eq!((told[0].at_ms, &*told[0].sketch), (at_ms, ""));
        }
    }
}
