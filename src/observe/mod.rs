//! Metrics and access log for all requests.

mod body;
mod future;
mod metrics;
mod observation;
mod observer;
mod request_head;

pub(crate) use body::{FromUpstream, ObservedBody};
pub(crate) use future::ObserveFuture;
pub(crate) use metrics::Metrics;
pub(crate) use metrics::SiteObserver;
pub(crate) use observation::Observation;
pub(crate) use observer::Observer;
