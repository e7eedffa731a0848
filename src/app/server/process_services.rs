//! The services of the process, which answer on every site.

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
use crate::fetch::is_public;
use crate::index_now::{AnnouncerSettings, IndexNowKey};
use crate::listen::{ClientAddr, PeerTable, RequestContext};
use crate::observe::Observer;
use crate::policy::is_own_path;
use crate::probe::Probes;
use crate::store::Store;
use crate::suspect::{Coherence, Marks};
use crate::traffic::Traffic;
use crate::traps::{TrapPages, TrapPaths};
use crate::way_out::WayOut;

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

/// Requests with a forwarding header from which on a peer is reported.
const MIN_REQUESTS: u32 = 60;
/// Most peers that are reported.
const MAX_PEERS: usize = 16;
/// Share of all requests, in percent, from which on peers with public addresses are taken for proxies.
///
/// A visitor can send such headers too; a CDN carries much of the traffic.
const MIN_PERCENT: u64 = 20;

/// Peers that send forwarding headers and are not trusted.
#[derive(Debug, Default)]
pub(super) struct UntrustedProxies {
    requests: PeerTable,
    peers: Mutex<BTreeSet<IpAddr>>,
}

impl UntrustedProxies {
    /// Counts a request, and logs its peer once.
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

    /// Returns a sentence for each peer that is likely to be a proxy, by the number of all requests.
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
        "{MIN_REQUESTS} or more requests from {name} carry X-Forwarded-For or another header of a proxy, which is ignored; if {name} is your proxy, all of its visitors count as one until [server] has trusted_proxies = [\"{entry}\"]; if it is a visitor, nothing is wrong"
    )
}

/// What is known of the visitors of all sites.
#[derive(Debug)]
pub(super) struct KnownVisitors {
    pub(super) marks: Marks,
    /// Who has asked for robots.txt where there are traps.
    pub(super) readers: Marks,
    /// What traps and keys are made from; `None`: the database has not told it.
    seed: Option<[u64; 2]>,
}

impl KnownVisitors {
    /// Knows nobody yet, and asks the database for the seed that all instances share.
    pub(super) async fn new(robots: &RobotDetection) -> Self {
        let marks = || Marks::new(robots.clock());
        Self {
            marks: marks(),
            readers: marks(),
            seed: seed(robots.store()).await,
        }
    }

    /// Returns the traps of a site that is to have some.
    pub(super) fn traps(&self, has_traps: bool, site: &str) -> Option<TrapPages> {
        let seed = self.seed.filter(|_| has_traps)?;
        Some(TrapPages::new(TrapPaths::new(seed, site)))
    }

    /// Returns what takes the requests of `doctor`.
    pub(super) fn probes(&self, robots: &RobotDetection) -> Probes {
        let (store, tasks) = (robots.store().clone(), robots.tasks().clone());
        Probes::new(self.seed, store, robots.clock().clone(), tasks)
    }

    /// Returns the key by which search engines know a site, where they are told of its pages.
    pub(super) fn index_now_key(
        &self,
        told: Option<AnnouncerSettings>,
        site: &str,
    ) -> Option<IndexNowKey> {
        let seed = self.seed;
        let made = || Some(IndexNowKey::made(seed?, site));
        told?.key.or_else(made)
    }
}

async fn seed(store: &Store) -> Option<[u64; 2]> {
    let own = [fastrand::u64(..), fastrand::u64(..)];
    let seed = store.pace().seed(own).await;
    // Others than those that the site's pages link to would catch nobody.
    seed.inspect_err(|error| warn!(%error, "sites have no traps, and no key for IndexNow, until the next start: {error}"))
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visitor_among_many_is_not_taken_for_a_proxy() {
        let proxies = UntrustedProxies::default();
        let (visitor, private) = ([8, 8, 8, 8].into(), [10, 0, 0, 1].into());
        proxies.peers().extend([visitor, private]);
        proxies.requests.update(visitor, |_| MIN_REQUESTS);
        assert_eq!(proxies.sentences(10_000), [sentence(private)]);
        assert_eq!(proxies.sentences(100).len(), 2, "much of the traffic");
    }
}
