//! Metrics, access log and traces for all requests.

mod body;
mod future;
mod metrics;
mod observation;
mod observer;
mod request_head;
#[cfg(feature = "otel")]
mod traces;
#[cfg(not(feature = "otel"))]
#[path = "no_traces.rs"]
mod traces;

pub(crate) use body::{FromUpstream, ObservedBody};
pub(crate) use future::ObserveFuture;
pub(crate) use metrics::Metrics;
pub(crate) use metrics::SiteObserver;
pub(crate) use observation::Observation;
pub(crate) use observer::ObserveSettings;
pub(crate) use observer::Observer;
