//! The servers of an upstream, and selection among them.

use std::sync::Arc;

use super::{
    health::State,
    server::{Server, ServerSlot},
};

/// The maximum number of servers per upstream; a [`ServerSet`] has one bit per server.
pub(super) const MAX_SERVERS: usize = 64;

/// The servers of an upstream, of which there is at least one.
#[derive(Clone, Debug)]
pub(super) struct Servers {
    first: Arc<Server>,
    /// All servers including the first, or empty if there is only one server.
    all: Arc<[Arc<Server>]>,
}

/// A set of servers, stored as bits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ServerSet(u64);

impl ServerSet {
    fn has(self, number: usize) -> bool {
        self.0 & (1 << number) != 0
    }

    fn add(&mut self, number: usize) {
        self.0 |= 1 << number;
    }

    /// Returns the number of servers in the set.
    pub(super) fn count(self) -> u32 {
        self.0.count_ones()
    }
}

impl Servers {
    /// Creates a collection of servers; returns `None` if there are no servers.
    pub(super) fn new(servers: Vec<Arc<Server>>) -> Option<Self> {
        let first = Arc::clone(servers.first()?);
        let all = if servers.len() > 1 {
            servers
        } else {
            Vec::new()
        };
        Some(Self {
            first,
            all: all.into(),
        })
    }

    /// Returns `true` if the upstream has more than one server.
    pub(super) fn has_several(&self) -> bool {
        !self.all.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Server>> {
        let alone = self.all.is_empty().then_some(&self.first);
        alone.into_iter().chain(self.all.iter())
    }

    /// Takes a slot at a server that has not been tried yet; returns `None` if all servers have
    /// been tried.
    pub(super) fn choose(&self, tried: &mut ServerSet) -> Option<ServerSlot> {
        if self.all.is_empty() {
            if tried.has(0) {
                return None;
            }
            tried.add(0);
            return Some(ServerSlot::new(Arc::clone(&self.first)));
        }
        let number = self.choose_number(*tried)?;
        tried.add(number);
        self.all
            .get(number)
            .map(|server| ServerSlot::new(Arc::clone(server)))
    }

    /// Returns the number of a server whose trial is due, otherwise of the less busy of two healthy
    /// servers, otherwise of the less busy of any two servers.
    ///
    /// Two random choices distribute requests nearly as well as a search for the least busy server,
    /// without sending all threads to the same server.
    fn choose_number(&self, tried: ServerSet) -> Option<usize> {
        let mut healthy = ServerSet::default();
        let mut left = ServerSet::default();
        for (number, server) in self.all.iter().enumerate() {
            if tried.has(number) {
                continue;
            }
            left.add(number);
            match server.health.state() {
                State::Healthy => healthy.add(number),
                // The server is tried even while other servers are healthy: without health checks,
                // nothing else would end its exclusion.
                State::Due if server.health.claim_trial() => return Some(number),
                State::Due | State::Out => {}
            }
        }
        // If all servers are excluded, trying one of them is better than a certain error.
        let among = if healthy.count() > 0 { healthy } else { left };
        self.less_busy_of_two(among)
    }

    fn less_busy_of_two(&self, among: ServerSet) -> Option<usize> {
        let count = among.count();
        if count < 2 {
            return nth(among, 0);
        }
        let one = fastrand::u32(..count);
        // Choose a second server that differs from the first.
        let other = (one + fastrand::u32(1..count)) % count;
        let (one, other) = (nth(among, one)?, nth(among, other)?);
        let busy = |number: usize| self.all.get(number).map(|server| server.pool.in_flight());
        Some(if busy(other) < busy(one) { other } else { one })
    }
}

/// Returns the number of the n-th server in a set.
fn nth(among: ServerSet, n: u32) -> Option<usize> {
    (0..MAX_SERVERS)
        .filter(|number| among.has(*number))
        .nth(usize::try_from(n).ok()?)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio_util::{sync::CancellationToken, task::TaskTracker};

    use super::*;
    use crate::proxy::{ProxySettings, connect::Connector, upstream::Upstream};

    fn servers(count: usize) -> Servers {
        let tasks = TaskTracker::new();
        let connector = Connector::new(&ProxySettings::default(), None, tasks.clone());
        let servers = (0..count).map(|number| {
            let upstream = Upstream::parse(&format!("http://127.0.0.1:{}", number + 1)).unwrap();
            Arc::new(Server::new(
                upstream,
                connector.clone(),
                count > 1,
                tasks.clone(),
                CancellationToken::new(),
            ))
        });
        Servers::new(servers.collect()).unwrap()
    }

    fn name(slot: &ServerSlot) -> String {
        slot.server.upstream.name.to_string()
    }

    #[tokio::test]
    async fn single_server_is_tried_once() {
        let servers = servers(1);
        let mut tried = ServerSet::default();
        assert!(servers.choose(&mut tried).is_some());
        assert!(servers.choose(&mut tried).is_none());
        assert_eq!(servers.iter().count(), 1);
    }

    #[tokio::test]
    async fn less_busy_of_two_servers_is_chosen() {
        let servers = servers(2);
        let mut places = Vec::new();
        for number in 1..=100u64 {
            places.push(servers.choose(&mut ServerSet::default()).unwrap());
            let mut busy: Vec<_> = servers.iter().map(|s| s.pool.in_flight()).collect();
            busy.sort_unstable();
            assert_eq!(busy, [number / 2, number.div_ceil(2)]);
        }
        drop(places);
        assert!(servers.iter().all(|server| server.pool.in_flight() == 0));
    }

    #[tokio::test]
    async fn every_server_gets_requests_and_none_the_same_twice() {
        let servers = servers(5);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..500 {
            seen.insert(name(&servers.choose(&mut ServerSet::default()).unwrap()));
        }
        assert_eq!(seen.len(), 5);
        let mut tried = ServerSet::default();
        let mut asked: Vec<_> = std::iter::from_fn(|| servers.choose(&mut tried))
            .map(|slot| name(&slot))
            .collect();
        asked.sort_unstable();
        asked.dedup();
        assert_eq!(asked.len(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn excluded_server_is_chosen_only_if_all_are_excluded() {
        let servers = servers(2);
        let fail = |number: usize| {
            let server = servers.iter().nth(number).unwrap();
            (0..3).for_each(|_| server.health.fail("refused"));
        };
        fail(0);
        for _ in 0..50 {
            assert!(name(&servers.choose(&mut ServerSet::default()).unwrap()).ends_with(":2/"));
        }
        // If the other server fails, trying the excluded server is better than giving up.
        let mut tried = ServerSet::default();
        assert!(servers.choose(&mut tried).is_some() && servers.choose(&mut tried).is_some());
        fail(1);
        let asked: std::collections::BTreeSet<_> = (0..100)
            .map(|_| name(&servers.choose(&mut ServerSet::default()).unwrap()))
            .collect();
        assert_eq!(asked.len(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn server_gets_one_trial_after_its_exclusion() {
        let servers = servers(2);
        let server = servers.iter().next().unwrap();
        (0..3).for_each(|_| server.health.fail("refused"));
        tokio::time::advance(Duration::from_secs(2)).await;
        let asked: Vec<_> = (0..20)
            .map(|_| name(&servers.choose(&mut ServerSet::default()).unwrap()))
            .collect();
        assert!(asked[0].ends_with(":1/"), "{asked:?}");
        assert!(
            asked[1..].iter().all(|name| name.ends_with(":2/")),
            "{asked:?}"
        );
    }
}
