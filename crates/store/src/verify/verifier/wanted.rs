//! Lists of addresses that a robot's request asked for.

use std::{collections::BTreeSet, sync::Arc};

use arc_swap::ArcSwap;
use tokio::sync::Notify;

/// URLs of lists that are worth having; there are at most as many as the registry names.
#[derive(Debug, Default)]
pub(super) struct WantedRanges {
    urls: ArcSwap<BTreeSet<String>>,
    bell: Notify,
}

impl WantedRanges {
    /// Notes that a list would have been needed; allocates only the first time.
    pub(super) fn want(&self, url: &str) {
        if self.urls.load().contains(url) {
            return;
        }
        self.urls.rcu(|urls| {
            let mut urls = BTreeSet::clone(urls);
            urls.insert(url.to_owned());
            urls
        });
        self.bell.notify_one();
    }

    /// Returns them in order.
    pub(super) fn all(&self) -> Arc<BTreeSet<String>> {
        self.urls.load_full()
    }

    /// Waits until there is a new one.
    pub(super) async fn changed(&self) {
        self.bell.notified().await;
    }
}
