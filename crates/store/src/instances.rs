//! What tells the database that this process is alive, and takes the time from it.

use std::time::Duration;

use tokio::{sync::watch, time};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::store::{Store, StoreError};
use robot_detection_layer::clock::Clock;

/// Time between two signs of life; after two minutes of silence an instance is forgotten.
const EVERY: Duration = Duration::from_secs(15);

/// A database that takes longer for its answer says nothing about a clock.
const SOON: Duration = Duration::from_secs(1);

/// Milliseconds by which clocks may differ before one is corrected.
const TOLERATED_MS: i64 = 2_000;

/// Heartbeat of this process.
#[derive(Debug)]
pub struct Heartbeat {
    store: Store,
    address: watch::Receiver<String>,
    clock: Clock,
    started: time::Instant,
}

impl Heartbeat {
    /// Creates one; `address` is where health, metrics and console are, once it is known.
    ///
    /// `clock` is set by the database's.
    pub fn new(store: Store, address: watch::Receiver<String>, clock: Clock) -> Self {
        Self {
            store,
            address,
            clock,
            started: time::Instant::now(),
        }
    }

    /// Beats until `stop` is cancelled, then takes leave.
    pub async fn run(mut self, stop: CancellationToken) {
        loop {
            if let Err(error) = self.beat().await {
                // That the database is away is told by who watches over it.
                debug!("the database is not told that this instance is alive: {error}");
            }
            tokio::select! {
                () = stop.cancelled() => break,
                () = time::sleep(EVERY) => {}
                Ok(()) = self.address.changed() => {}
            }
        }
        // Whoever cannot say so is forgotten after two minutes.
        let _ = self.store.instances().forget().await;
    }

    async fn beat(&mut self) -> Result<(), StoreError> {
        let address = self.address.borrow_and_update().clone();
        let ahead_ms = set_clock(&self.clock, &self.store).await?;
        let (version, uptime) = (env!("CARGO_PKG_VERSION"), self.started.elapsed());
        let beat = self
            .store
            .instances()
            .beat(version, &address, uptime, ahead_ms);
        beat.await
    }
}

/// Sets a clock by the database's, so that the instances of a fleet have one time.
///
/// Returns by how many milliseconds this machine's is ahead, 0 where it is right; tells when that
/// is another figure.
///
/// # Errors
///
/// Fails if the database does.
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
            "the clock of this machine is {off}: times are those of the database; set both by NTP, such as with `timedatectl set-ntp true`"
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
    async fn a_clock_is_set_by_the_databases() {
        let store = Store::connect("sqlite::memory:").await.unwrap();
        let clock = Clock::system();
        clock.correct(7_200_000);
        assert_eq!(set_clock(&clock, &store).await.unwrap(), 0);
        assert!(clock.uncorrected_ms() - clock.now_ms() <= 0);
        // What says another time than the database is told, and which.
        let wrong = Clock::manual(store.instances().now_ms().await.unwrap() + 7_200_000);
        let ahead_ms = set_clock(&wrong, &store).await.unwrap();
        assert!((7_190_000..=7_200_000).contains(&ahead_ms), "{ahead_ms}");
        assert_eq!(off_text(-10 * 86_400_000), "10 days behind");
    }
}
