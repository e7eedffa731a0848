//! One instance of a fleet asks for a list at a time.

use std::time::Duration;

use tracing::debug;

use crate::store::{Store, StoreError};

/// Shortest life of a lease; it only ends by itself when its holder died.
const SHORTEST_LIFE: Duration = Duration::from_mins(2);

/// Right to ask for a list, held until released or some minutes old.
#[derive(Debug)]
pub(super) struct Lease {
    store: Store,
    name: String,
    holder: String,
}

impl Lease {
    /// Takes the lease; `None` while somebody else holds it.
    ///
    /// It lives long enough for a download that takes all of `download`.
    pub(super) async fn acquire(
        store: &Store,
        now_ms: i64,
        url: &str,
        download: Duration,
    ) -> Result<Option<Self>, StoreError> {
        let name = format!("ranges:{url}");
        let holder = format!("{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..));
        let life = SHORTEST_LIFE + download;
        let is_ours = store.acquire_lease(&name, &holder, now_ms, life).await?;
        Ok(is_ours.then(|| Self {
            store: store.clone(),
            name,
            holder,
        }))
    }

    /// Gives the lease back; should that fail, it ends by its age.
    pub(super) async fn release(self) {
        if let Err(error) = self.store.release_lease(&self.name, &self.holder).await {
            debug!("the lease of a list of address ranges was not released: {error}");
        }
    }
}
