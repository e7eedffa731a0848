//! Applies registry changes made by other instances.

use std::time::Duration;

use tracing::{debug, warn};

use super::{refresher::Refresher, shared::Shared};
use crate::store::StoreError;

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LAST_PAUSE: Duration = Duration::from_mins(1);

impl Refresher {
    /// Applies changes to the stored registry until shutdown; during outages, the loaded registry
    /// is used.
    pub(super) async fn follow(&self) {
        let shared = &self.shared;
        let mut pause = FIRST_PAUSE;
        while let Some(result) = shared
            .stop
            .run_until_cancelled(Box::pin(shared.follow_once()))
            .await
        {
            let Err(error) = result else {
                shared.clear_failure("follow");
                pause = FIRST_PAUSE;
                continue;
            };
            let reason = error.to_string();
            if shared.is_new_failure("follow", &reason) {
                warn!("cannot check the registry for changes; using the loaded registry: {reason}");
            }
            let sleep = tokio::time::sleep(pause);
            shared.stop.run_until_cancelled(sleep).await;
            pause = (pause * 2).min(LAST_PAUSE);
        }
    }
}

impl Shared {
    /// Waits for the registry to change, then loads it.
    async fn follow_once(&self) -> Result<(), StoreError> {
        if let Some(use_bundled) = self.pending_preparation() {
            self.prepare(use_bundled).await?;
        }
        self.drop_abandoned().await?;
        let version = self.store.registry_changed(self.loaded_version()).await?;
        if let Some(use_bundled) = self.pending_preparation() {
            // The store was unavailable in the meantime, so it may not contain any robots yet.
            self.prepare(use_bundled).await?;
        } else if version != self.loaded_version() {
            debug!(version, "the registry was changed by another process");
            self.reload().await?;
        }
        Ok(())
    }
}
