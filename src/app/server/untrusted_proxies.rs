//! Proxies in front of the server that `server.trusted_proxies` does not name.

use std::{
    collections::BTreeSet,
    convert::identity,
    net::IpAddr,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tracing::warn;

use crate::fetch::is_public;
use crate::listen::{ClientAddr, PeerTable};

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
