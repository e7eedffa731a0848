//! What `/metrics` shows beside the counters of traffic.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::telemetry::Histogram;

/// Metrics of the whole program.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    sites: Mutex<BTreeMap<String, Arc<SiteMetrics>>>,
    pub(crate) first_byte: Histogram,
    pub(crate) reloads_done: AtomicU64,
    pub(crate) reloads_failed: AtomicU64,
}

/// Metrics of one site.
#[derive(Debug, Default)]
pub(crate) struct SiteMetrics {
    pub(crate) name: String,
    pub(crate) durations: Histogram,
}

impl Metrics {
    /// Returns the metrics of a site, the same ones for the same name.
    ///
    /// The names are those of the counters of traffic, which are bounded.
    pub(super) fn site(&self, name: &str) -> Arc<SiteMetrics> {
        // Nothing panics between the changes of a map.
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

    pub(super) fn reloaded(&self, succeeded: bool) {
        let counter = if succeeded {
            &self.reloads_done
        } else {
            &self.reloads_failed
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}
