//! The services of the process, which answer on every site.

use std::sync::Arc;

use axum::{Router, http::Request};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use crate::bans::Bans;
use crate::listen::RequestContext;
use crate::observe::Observer;
use crate::policy::is_own_path;
use crate::probe::Probes;
use crate::suspect::Coherence;
use crate::traffic::Traffic;
use crate::way_out::WayOut;

use super::{traps::KnownVisitors, untrusted_proxies::UntrustedProxies};

/// What is of the process, and answers on every site.
///
/// Database and jobs live on the runtime that it was made on, so requests are
/// answered there, wherever their connections are served.
#[derive(Debug)]
pub(super) struct ProcessServices {
    /// Path without a slash at its end, and the router that is nested there; `None` where the admin
    /// page has a listener of its own.
    pub(super) admin: Option<(String, Router)>,
    pub(super) observer: Observer,
    pub(super) traffic: Traffic,
    pub(super) bans: Bans,
    /// Of all sites, as the proxies before them are the same.
    pub(super) coherence: Arc<Coherence>,
    pub(super) way_out: WayOut,
    pub(super) visitors: KnownVisitors,
    pub(super) untrusted_proxies: Arc<UntrustedProxies>,
    pub(super) probes: Arc<Probes>,
    pub(super) runtime: Handle,
    pub(super) tasks: TaskTracker,
}

impl ProcessServices {
    /// Returns the router that answers the request, if it is for the process.
    pub(super) fn router(&self, request: &Request<RequestContext>) -> Option<&Router> {
        let (prefix, router) = self.admin.as_ref()?;
        is_own_path(request.uri().path(), prefix).then_some(router)
    }
}
