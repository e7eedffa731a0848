use std::sync::Arc;

use axum::http::Request;

use crate::listen::RequestContext;
use crate::traffic::SiteCounters;

use super::{Observation, Observer, SiteMetrics};

/// Observer of the requests of one site.
#[derive(Clone, Debug)]
pub(crate) struct SiteObserver {
    pub(super) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) observer: Observer,
    pub(super) counters: Arc<SiteCounters>,
    pub(super) metrics: Arc<SiteMetrics>,
}

impl SiteObserver {
    pub(super) fn new(
        observer: Observer,
        counters: Arc<SiteCounters>,
        metrics: Arc<SiteMetrics>,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                observer,
                counters,
                metrics,
            }),
        }
    }

    /// Begins to observe a request, which is counted and logged when its response has ended.
    pub(crate) fn begin(&self, request: &mut Request<RequestContext>) -> Observation {
        Observation::begin(self, request)
    }
}
