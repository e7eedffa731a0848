//! The services of the process, which answer on every site: admin pages and operations.

use std::{net::IpAddr, sync::Arc};

use axum::{
    Router,
    http::{Request, header, uri::Authority},
};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use crate::assembly::OPERATION_PATHS;
use crate::bans::Bans;
use crate::listen::{ClientAddr, RequestContext};
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
    /// Path without a slash at its end, and the router that is nested there.
    pub(super) admin: Option<(String, Router)>,
    /// `None` where they have a listener of their own, as the admin page then has.
    pub(super) operations: Option<Router>,
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
        if let Some(router) = &self.operations
            && is_operation(request, request.body().client())
        {
            return Some(router);
        }
        let (prefix, router) = self.admin.as_ref()?;
        is_own_path(request.uri().path(), prefix).then_some(router)
    }
}

/// Returns `true` if a request is for operations and comes straight from this machine.
///
/// A proxy on the same machine may pass requests on without a word of it; the
/// host that its visitors ask for is not this machine's own name.
pub(super) fn is_operation<B>(request: &Request<B>, client: ClientAddr) -> bool {
    OPERATION_PATHS.contains(&request.uri().path())
        && client.direct
        && client.peer.ip().to_canonical().is_loopback()
        // A gateway has to name itself there (RFC 9110 §7.6.3). Many do not: hence the host as
        // well.
        && !request.headers().contains_key(header::VIA)
        && asks_for_this_machine(request)
}

fn asks_for_this_machine<B>(request: &Request<B>) -> bool {
    let header = request.headers().get(header::HOST);
    let authority = match request.uri().authority() {
        Some(authority) => Some(authority.clone()),
        None => header.and_then(|host| Authority::try_from(host.as_bytes()).ok()),
    };
    authority.is_some_and(|authority| {
        // By another name a page elsewhere could have a browser on this machine ask (DNS
        // rebinding).
        let host = authority.host().trim_matches(['[', ']']);
        host.eq_ignore_ascii_case("localhost")
            || host
                .parse::<IpAddr>()
                .is_ok_and(|ip| ip.to_canonical().is_loopback())
    })
}
