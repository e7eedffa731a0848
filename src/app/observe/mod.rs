//! What is counted and logged of every request.

mod body;
mod future;
mod kept;
mod metrics;
mod observation;
mod observer;
mod refused;
mod site;
#[cfg(feature = "otel")]
mod traces;

pub(super) use body::{FromUpstream, ObservedBody};
pub(super) use future::ObserveFuture;
pub(super) use metrics::{Metrics, SiteMetrics};
pub(super) use observation::Observation;
pub(super) use observer::ObserveSettings;
pub(crate) use observer::Observer;
pub(super) use site::SiteObserver;
