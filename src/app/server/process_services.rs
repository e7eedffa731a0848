//! The process-wide services, which answer requests on every site.

use std::collections::BTreeSet;
use std::convert::identity;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::http::Request;
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;
use tracing::warn;

use super::RobotDetection;
use crate::bans::Bans;
use crate::confirmation::ConfirmationKeys;
use crate::fetch::is_public;
use crate::listen::{ClientAddr, PeerTable, RequestContext};
use crate::observe::Observer;
use crate::policy::is_own_path;
use crate::probe::Probes;
use crate::store::Store;
use crate::suspect::{BrowserCheck, Marks};
use crate::traffic::Traffic;
use crate::traps::{TrapPages, TrapPaths};

/// The process-wide services, which answer requests on every site.
///
/// Requests are answered on the runtime on which the services were created, because the database
/// and the jobs run there. The connections may be served by other threads.
#[derive(Debug)]
pub(super) struct ProcessServices {
    /// The path of the admin page without a trailing slash, and the router nested there; `None` if
    /// the admin page has its own listener.
    pub(super) admin: Option<(String, Router)>,
    pub(super) observer: Observer,
    pub(super) traffic: Traffic,
    pub(super) bans: Bans,
    /// The browser check shared by all sites, because all sites have the same front proxies.
    pub(super) coherence: Arc<BrowserCheck>,
    pub(super) way_out: ConfirmationKeys,
    pub(super) visitors: KnownVisitors,
    pub(super) untrusted_proxies: Arc<UntrustedProxies>,
    pub(super) probes: Arc<Probes>,
    pub(super) runtime: Handle,
    pub(super) tasks: TaskTracker,
}

impl ProcessServices {
    /// Returns the router that answers the request, if the request is for a process-wide service.
    pub(super) fn router(&self, request: &Request<RequestContext>) -> Option<&Router> {
        let (prefix, router) = self.admin.as_ref()?;
        is_own_path(request.uri().path(), prefix).then_some(router)
    }
}

/// The minimum number of requests with a forwarding header before their peer is reported.
const MIN_REQUESTS: u32 = 60;
/// The maximum number of untrusted peers to report.
const MAX_PEERS: usize = 16;
/// The minimum share of all requests, in percent, for a peer with a public address to be considered
/// a proxy.
///
/// Visitors can also send forwarding headers, but only a CDN carries a large share of the traffic.
const MIN_PERCENT: u64 = 20;

/// Untrusted peers that send forwarding headers.
#[derive(Debug, Default)]
pub(super) struct UntrustedProxies {
    requests: PeerTable,
    peers: Mutex<BTreeSet<IpAddr>>,
}

impl UntrustedProxies {
    /// Counts a request from a peer; each peer is logged only once.
    pub(super) fn note(&self, client: ClientAddr) {
        if client.direct || client.trusted {
            return;
        }
        let peer = client.peer.ip();
        let counted = self.requests.update(peer, |count| count.saturating_add(1));
        if counted != (MIN_REQUESTS - 1, MIN_REQUESTS) {
            return;
        }
        let mut peers = self.peers();
        if peers.len() < MAX_PEERS && peers.insert(peer) {
            drop(peers);
            warn!(%peer, "{}", sentence(peer));
        }
    }

    /// Returns a warning for each peer that is probably a proxy; `requests` is the number of all
    /// requests.
    pub(super) fn sentences(&self, requests: u64) -> Vec<String> {
        let peers = self.peers();
        let public = peers.iter().filter(|peer| is_public(**peer));
        let count = |peer: &IpAddr| u64::from(self.requests.update(*peer, identity).0);
        let are_proxies = public.map(count).sum::<u64>() * 100 >= requests * MIN_PERCENT;
        let shown = peers
            .iter()
            .filter(|peer| are_proxies || !is_public(**peer));
        shown.copied().map(sentence).collect()
    }

    fn peers(&self) -> MutexGuard<'_, BTreeSet<IpAddr>> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn sentence(peer: IpAddr) -> String {
    // The peer of a Unix socket has no address.
    let (name, entry) = match peer {
        peer if peer.is_unspecified() => ("a Unix socket".to_owned(), "unix:".to_owned()),
        peer => (peer.to_string(), peer.to_string()),
    };
    format!(
        "{MIN_REQUESTS} or more requests from {name} contain X-Forwarded-For or another proxy header, which is ignored; if {name} is your proxy, all of its visitors are treated as one visitor until you set trusted_proxies = [\"{entry}\"] in [server]; if it is a visitor, no action is needed"
    )
}

/// Data about visitors, shared by all sites.
#[derive(Debug)]
pub(super) struct KnownVisitors {
    pub(super) marks: Marks,
    /// Clients that requested robots.txt on sites with traps.
    pub(super) readers: Marks,
    /// The seed for traps and probes; `None` if the seed could not be read from the database.
    seed: Option<[u64; 2]>,
}

impl KnownVisitors {
    /// Creates empty data, with the seed that all instances share through the database.
    pub(super) async fn new(robots: &RobotDetection) -> Self {
        let marks = || Marks::new(robots.clock());
        Self {
            marks: marks(),
            readers: marks(),
            seed: seed(robots.store()).await,
        }
    }

    /// Returns the traps of a site, if the site has active traps.
    pub(super) fn traps(&self, has_traps: bool, site: &str) -> Option<TrapPages> {
        let seed = self.seed.filter(|_| has_traps)?;
        Some(TrapPages::new(TrapPaths::new(seed, site)))
    }

    /// Returns the component that receives the requests sent by `doctor`.
    pub(super) fn probes(&self, robots: &RobotDetection) -> Probes {
        let (store, tasks) = (robots.store().clone(), robots.tasks().clone());
        Probes::new(self.seed, store, robots.clock().clone(), tasks)
    }
}

async fn seed(store: &Store) -> Option<[u64; 2]> {
    let own = [fastrand::u64(..), fastrand::u64(..)];
    let seed = store.pace().seed(own).await;
    // Traps whose seed differs from the seed of the links in the site's pages would catch no
    // robots.
    seed.inspect_err(
        |error| warn!(%error, "cannot read the seed from the database, so traps are disabled until the next start: {error}"),
    )
    .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visitor_with_little_traffic_is_not_reported_as_a_proxy() {
        let proxies = UntrustedProxies::default();
        let (visitor, private) = ([8, 8, 8, 8].into(), [10, 0, 0, 1].into());
        proxies.peers().extend([visitor, private]);
        proxies.requests.update(visitor, |_| MIN_REQUESTS);
        assert_eq!(proxies.sentences(10_000), [sentence(private)]);
        assert_eq!(
            proxies.sentences(100).len(),
            2,
            "a large share of the traffic"
        );
    }
}
