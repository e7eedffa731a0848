//! What is known of visitors for some time, and what is made of the installation's seed.

use tracing::warn;

use crate::index_now::{AnnouncerSettings, IndexNowKey};
use crate::probe::Probes;
use crate::store::Store;
use crate::suspect::Marks;
use crate::traps::{TrapPages, TrapPaths};

use super::RobotDetection;

/// What is known of the visitors of all sites.
#[derive(Debug)]
pub(super) struct KnownVisitors {
    pub(super) marks: Marks,
    /// Who has asked for robots.txt where there are traps.
    pub(super) readers: Marks,
    /// What traps and keys are made from; `None`: the database has not told it.
    seed: Option<[u64; 2]>,
}

impl KnownVisitors {
    /// Knows nobody yet, and asks the database for the seed that all instances share.
    pub(super) async fn new(robots: &RobotDetection) -> Self {
        let marks = || Marks::new(robots.clock());
        Self {
            marks: marks(),
            readers: marks(),
            seed: seed(robots.store()).await,
        }
    }

    /// Returns the traps of a site that is to have some.
    pub(super) fn traps(&self, has_traps: bool, site: &str) -> Option<TrapPages> {
        let seed = self.seed.filter(|_| has_traps)?;
        Some(TrapPages::new(TrapPaths::new(seed, site)))
    }

    /// Returns what takes the requests of `doctor`.
    pub(super) fn probes(&self, robots: &RobotDetection) -> Probes {
        let (store, tasks) = (robots.store().clone(), robots.tasks().clone());
        Probes::new(self.seed, store, robots.clock().clone(), tasks)
    }

    /// Returns the key by which search engines know a site, where they are told of its pages.
    pub(super) fn index_now_key(
        &self,
        told: Option<AnnouncerSettings>,
        site: &str,
    ) -> Option<IndexNowKey> {
        let seed = self.seed;
        let made = || Some(IndexNowKey::made(seed?, site));
        told?.key.or_else(made)
    }
}

async fn seed(store: &Store) -> Option<[u64; 2]> {
    let own = [fastrand::u64(..), fastrand::u64(..)];
    let seed = store.pace().seed(own).await;
    // Others than those that the site's pages link to would catch nobody.
    seed.inspect_err(|error| warn!(%error, "sites have no traps, and no key for IndexNow, until the next start: {error}"))
        .ok()
}
