//! What a site is in front of.

use std::sync::Arc;

use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::assembly::proxy;
use crate::config::{ConfigErrors, Loaded, Value};
use crate::proxy::Proxy;

/// The site itself.
#[derive(Clone, Debug)]
pub(super) enum Target {
    Demo,
    /// Only the decision endpoint serves a site, which is behind another proxy.
    Nothing,
    Upstream(Arc<Upstream>),
}

/// Proxy that is used by all sites with the same settings of it.
#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) proxy: Proxy,
    /// Each request holds a token until its response has ended.
    pub(super) requests: TaskTracker,
    settings: Vec<(&'static str, Value)>,
}

impl Upstream {
    /// Creates the proxy of a site, or takes the one of `known` that is the same.
    ///
    /// # Errors
    ///
    /// Fails with the place of the wrong value.
    pub(super) fn new(
        loaded: &Loaded,
        known: &mut Vec<Arc<Self>>,
    ) -> Result<Arc<Self>, ConfigErrors> {
        let settings = loaded.of_upstream();
        if let Some(same) = known.iter().find(|known| known.settings == settings) {
            return Ok(Arc::clone(same));
        }
        let upstream = Arc::new(Self {
            proxy: proxy(loaded, loaded.settings())?,
            requests: TaskTracker::new(),
            settings,
        });
        known.push(Arc::clone(&upstream));
        Ok(upstream)
    }

    /// Waits for the requests under way and the tunnels, at most until `stop`; then closes the proxy.
    pub(super) async fn retire(self: Arc<Self>, stop: CancellationToken) {
        self.requests.close();
        let ended = async {
            self.requests.wait().await;
            self.proxy.tunnels_ended().await;
        };
        // At a shutdown the listeners have drained already: who is left has had the time for it.
        stop.run_until_cancelled(ended).await;
        self.proxy.close().await;
    }
}
