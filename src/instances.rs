//! What tells the database that this process is alive.

use std::time::Duration;

use tokio::{sync::watch, time};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::store::Store;

/// Time between two signs of life; after two minutes of silence an instance is forgotten.
const EVERY: Duration = Duration::from_secs(15);

/// Heartbeat of this process.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    store: Store,
    address: watch::Receiver<String>,
    started: time::Instant,
}

impl Heartbeat {
    /// Creates one; `address` is where health, metrics and console are, once it is known.
    pub(crate) fn new(store: Store, address: watch::Receiver<String>) -> Self {
        Self {
            store,
            address,
            started: time::Instant::now(),
        }
    }

    /// Beats until `stop` is cancelled, then takes leave.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        loop {
            let address = self.address.borrow_and_update().clone();
            let version = env!("CARGO_PKG_VERSION");
            let beat = self.store.beat(version, &address, self.started.elapsed());
            if let Err(error) = beat.await {
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
        let _ = self.store.forget_instance().await;
    }
}
