//! Metrics in addition to the traffic counters.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::Request;

use super::{Observation, Observer};
use crate::listen::RequestContext;
use crate::suspicion::{ObservationTicket, Suspicion};
use crate::telemetry::Histogram;
use crate::traffic::SiteCounters;

/// Metrics of the whole program.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    sites: Mutex<BTreeMap<String, Arc<SiteMetrics>>>,
    pub(crate) first_byte: Histogram,
    pub(crate) reloads_done: AtomicU64,
    pub(crate) reloads_failed: AtomicU64,
}

/// Metrics of the requests to one site.
#[derive(Debug, Default)]
pub(crate) struct SiteMetrics {
    pub(crate) name: String,
    pub(crate) durations: Histogram,
}

impl Metrics {
    /// Returns the metrics of a site; the same name always returns the same metrics.
    ///
    /// The names come from the traffic counters, so their number is bounded.
    pub(super) fn site(&self, name: &str) -> Arc<SiteMetrics> {
        // A panic cannot leave the map in an inconsistent state.
        let mut sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
        let site = sites.entry(name.to_owned()).or_insert_with(|| {
            Arc::new(SiteMetrics {
                name: name.to_owned(),
                ..SiteMetrics::default()
            })
        });
        Arc::clone(site)
    }

    pub(crate) fn sites(&self) -> Vec<Arc<SiteMetrics>> {
        let sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
        sites.values().cloned().collect()
    }

    pub(super) fn record_reload(&self, succeeded: bool) {
        let counter = if succeeded {
            &self.reloads_done
        } else {
            &self.reloads_failed
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// An observer of requests to one site.
#[derive(Clone, Debug)]
pub(crate) struct SiteObserver {
    pub(super) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) observer: Observer,
    pub(super) counters: Arc<SiteCounters>,
    pub(super) metrics: Arc<SiteMetrics>,
    /// The fleet detection; `None` if it is disabled.
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

    /// Stores the data needed to evaluate whether the request is suspicious.
    pub(super) fn store(&self, request: &Request<RequestContext>) -> Option<ObservationTicket> {
        let suspicion = self.shared.suspicion.as_ref()?;
        suspicion.store(request, request.body().client().client)
    }

    /// Starts to observe a request; the request is counted and logged when its response has ended.
    pub(crate) fn begin(&self, request: &Request<RequestContext>) -> Observation {
        Observation::begin(self, request)
    }
}
