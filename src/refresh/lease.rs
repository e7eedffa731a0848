//! One refresh of a source at a time, in the whole fleet.

use std::time::Duration;

use tracing::debug;

use crate::clock::Clock;
use crate::registry::Source;
use crate::store::{Store, StoreError};

/// Shortest life of a lease; it only ends by itself when its holder died.
const SHORTEST_LIFE: Duration = Duration::from_mins(10);

/// Right to refresh a source, held until released or ten minutes old.
#[derive(Debug)]
pub(super) struct Lease {
    store: Store,
    name: String,
    holder: String,
    life: Duration,
}

impl Lease {
    /// Takes the lease; `None` while somebody else holds it.
    ///
    /// It lives long enough for a download that takes all of `download`. Each
    /// refresh is a holder of its own: two in one process exclude each other.
    pub(super) async fn acquire(
        store: &Store,
        clock: &Clock,
        source: &Source,
        download: Duration,
    ) -> Result<Option<Self>, StoreError> {
        let name = format!("refresh:{source}");
        let holder = format!("{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..));
        let life = SHORTEST_LIFE + download;
        let is_ours = store
            .acquire_lease(&name, &holder, clock.now_ms(), life)
            .await?;
        Ok(is_ours.then(|| Self {
            store: store.clone(),
            name,
            holder,
            life,
        }))
    }

    /// Makes the lease live on; false when it ended and somebody else took it.
    pub(super) async fn renew(&self, clock: &Clock) -> Result<bool, StoreError> {
        self.store
            .acquire_lease(&self.name, &self.holder, clock.now_ms(), self.life)
            .await
    }

    /// Gives the lease back; should that fail, it ends by its age.
    pub(super) async fn release(self) {
        if let Err(error) = self.store.release_lease(&self.name, &self.holder).await {
            debug!(lease = %self.name, "the lease {} was not released: {error}", self.name);
        }
    }
}
