//! Heartbeat of this instance, and synchronization of its clock with the database's.

use std::time::Duration;

use tokio::{sync::watch, time};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::store::{Store, StoreError};
use robot_detection_layer::clock::Clock;

/// The interval between heartbeats. An instance is removed after two minutes without a heartbeat.
const EVERY: Duration = Duration::from_secs(15);

/// The maximum database response time at which the clock is still adjusted.
const SOON: Duration = Duration::from_secs(1);

/// The clock difference, in milliseconds, up to which the clock is not corrected.
const TOLERATED_MS: i64 = 2_000;

/// A task that regularly records in the database that this instance is alive.
#[derive(Debug)]
pub struct Heartbeat {
    store: Store,
    address: watch::Receiver<String>,
    clock: Clock,
    started: time::Instant,
}

impl Heartbeat {
    /// Creates a heartbeat; `address` is this instance's address for health checks, metrics and the
    /// console.
    ///
    /// `clock` is synchronized with the database's clock.
    pub fn new(store: Store, address: watch::Receiver<String>, clock: Clock) -> Self {
        Self {
            store,
            address,
            clock,
            started: time::Instant::now(),
        }
    }

    /// Sends heartbeats until `stop` is cancelled, then unregisters the instance.
    pub async fn run(mut self, stop: CancellationToken) {
        loop {
            if let Err(error) = self.beat().await {
                // The health check of the database logs outages.
                debug!("could not send the heartbeat of this instance: {error}");
            }
            tokio::select! {
                () = stop.cancelled() => break,
                () = time::sleep(EVERY) => {}
                Ok(()) = self.address.changed() => {}
            }
        }
        // If this fails, the instance is removed after two minutes.
        let _ = self.store.instances().remove_self().await;
    }

    async fn beat(&mut self) -> Result<(), StoreError> {
        let address = self.address.borrow_and_update().clone();
        let ahead_ms = set_clock(&self.clock, &self.store).await?;
        let (version, uptime) = (env!("CARGO_PKG_VERSION"), self.started.elapsed());
        let beat = self
            .store
            .instances()
            .heartbeat(version, &address, uptime, ahead_ms);
        beat.await
    }
}

/// Synchronizes a clock with the database's clock, so that all instances use the same time.
///
/// Returns the number of milliseconds by which this machine's clock is ahead, or 0 if within
/// tolerance. Logs a warning when the difference changes.
///
/// # Errors
///
/// Returns an error if the database query fails.
pub async fn set_clock(clock: &Clock, store: &Store) -> Result<i64, StoreError> {
    let asked = time::Instant::now();
    let now_ms = store.instances().now_ms().await?;
    let before_ms = clock.uncorrected_ms() - clock.now_ms();
    if asked.elapsed() > SOON {
        return Ok(before_ms);
    }
    let ahead_ms = clock.uncorrected_ms() - now_ms;
    let is_right = ahead_ms.abs() <= TOLERATED_MS;
    let ahead_ms = if is_right { 0 } else { ahead_ms };
    clock.correct(ahead_ms);
    if !is_right && (ahead_ms - before_ms).abs() > TOLERATED_MS {
        let (off_s, off) = (ahead_ms / 1_000, off_text(ahead_ms));
        warn!(
            off_s,
            "this machine's clock is {off}; using the database's clock. Synchronize both with NTP, for example with `timedatectl set-ntp true`"
        );
    }
    Ok(ahead_ms)
}

fn off_text(ahead_ms: i64) -> String {
    let seconds = ahead_ms.abs() / 1_000;
    let off = match seconds / 86_400 {
        days @ 2.. => format!("{days} days"),
        _ => format!("{seconds} s"),
    };
    let side = if ahead_ms > 0 { "ahead" } else { "behind" };
    format!("{off} {side}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn clock_is_synchronized_with_the_database() {
        let store = Store::connect("sqlite::memory:").await.unwrap();
        let clock = Clock::system();
        clock.correct(7_200_000);
        assert_eq!(set_clock(&clock, &store).await.unwrap(), 0);
        assert!(clock.uncorrected_ms() - clock.now_ms() <= 0);
        // If the time differs from the database's, the amount of the difference is reported.
        let wrong = Clock::manual(store.instances().now_ms().await.unwrap() + 7_200_000);
        let ahead_ms = set_clock(&wrong, &store).await.unwrap();
        assert!((7_190_000..=7_200_000).contains(&ahead_ms), "{ahead_ms}");
        assert_eq!(off_text(-10 * 86_400_000), "10 days behind");
    }
}
