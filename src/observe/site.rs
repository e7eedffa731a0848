use std::sync::Arc;

use axum::http::Request;

use crate::listen::RequestContext;
use crate::suspicion::{Slip, Suspicion};
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
    /// `None` where fleets are not looked for.
    pub(super) suspicion: Option<Suspicion>,
}

impl SiteObserver {
    pub(super) fn new(
        observer: Observer,
        counters: Arc<SiteCounters>,
        metrics: Arc<SiteMetrics>,
        suspicion: Option<Suspicion>,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                observer,
                counters,
                metrics,
                suspicion,
            }),
        }
    }

    /// Leaves what is to be judged of a request.
    pub(super) fn leave(&self, request: &Request<RequestContext>) -> Option<Slip> {
        let suspicion = self.shared.suspicion.as_ref()?;
        suspicion.leave(request, request.body().client().client)
    }

    /// Begins to observe a request, which is counted and logged when its response has ended.
    pub(crate) fn begin(&self, request: &mut Request<RequestContext>) -> Observation {
        Observation::begin(self, request)
    }
}
