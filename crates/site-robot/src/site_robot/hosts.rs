//! Schedules visits to hosts: connections per host, and the pause between two visits.
//!
//! The scheduler only holds state: callers pass the time, and no method waits.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use robot_detection_store::store::ClaimedUrl;

/// URLs that are waiting in memory, grouped by host.
///
/// The robots.txt of a host is read first. A host that requests a pause gets a single connection,
/// and each visit starts when the pause after the previous visit is over.
#[derive(Debug)]
pub(super) struct Hosts {
    max_connections: usize,
    server_delay: Duration,
    by_name: HashMap<Arc<str>, Host>,
    /// Hosts with jobs that can start, each with its earliest start time, turn number and name.
    ready: BTreeSet<(i64, u64, Arc<str>)>,
    turns: u64,
    queued: usize,
}

/// A job that may start now.
#[derive(Debug)]
pub(super) enum Job {
    /// The robots.txt of the host must be read; the URL belongs to that host.
    Rules {
        /// Host and port.
        host: Arc<str>,
        /// URL that is waiting for the robots.txt rules.
        url: String,
    },
    /// The URL must be visited.
    Visit(ClaimedUrl),
}

#[derive(Debug)]
struct Host {
    queue: VecDeque<ClaimedUrl>,
    rules: Rules,
    delay_ms: i64,
    connections: usize,
    /// Time at which the next visit to the host may start.
    next_ms: i64,
    /// Entry of the host in the set of ready hosts.
    turn: Option<(i64, u64)>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
// A host starts as `Unknown`; its first job requests robots.txt, and no other job starts until the
// response makes the host `Known`, which it remains for the rest of the run.
enum Rules {
    Unknown,
    Requested,
    Known,
}

impl Hosts {
    /// Creates an empty scheduler with a maximum number of connections per host and a pause between
    /// visits.
    pub(super) fn new(max_connections: usize, server_delay: Duration) -> Self {
        Self {
            max_connections: max_connections.max(1),
            server_delay,
            by_name: HashMap::new(),
            ready: BTreeSet::new(),
            turns: 0,
            queued: 0,
        }
    }

    /// Adds a URL at the end of its host's queue.
    pub(super) fn push(&mut self, claimed: ClaimedUrl) {
        let host: Arc<str> = claimed.host.as_str().into();
        let delay_ms = milliseconds(self.server_delay);
        let entry = self.by_name.entry(Arc::clone(&host)).or_insert(Host {
            queue: VecDeque::new(),
            rules: Rules::Unknown,
            delay_ms,
            connections: 0,
            // The visit may start immediately, even if the clock has been set back.
            next_ms: i64::MIN,
            turn: None,
        });
        entry.queue.push_back(claimed);
        self.queued += 1;
        self.enqueue(&host);
    }

    /// Returns the next job that may start now, if any.
    ///
    /// The job occupies a connection to its host until [`Self::record_rules`] or [`Self::record_finished`]
    /// is called.
    pub(super) fn begin(&mut self, now_ms: i64) -> Option<Job> {
        // The earliest due time wins; ties go to the host that has waited longest, so that no host
        // starves.
        let (due_ms, turn, host) = self.ready.first()?.clone();
        if due_ms > now_ms {
            return None;
        }
        self.ready.remove(&(due_ms, turn, Arc::clone(&host)));
        let entry = self.by_name.get_mut(&host)?;
        entry.turn = None;
        entry.connections += 1;
        let job = if entry.rules == Rules::Unknown {
            entry.rules = Rules::Requested;
            let url = entry.queue.front().map(|first| first.url.clone())?;
            Some(Job::Rules {
                host: Arc::clone(&host),
                url,
            })
        } else {
            self.queued = self.queued.saturating_sub(1);
            entry.queue.pop_front().map(Job::Visit)
        };
        self.enqueue(&host);
        job
    }

    /// Records that the rules of a host are known, and the pause that they request.
    pub(super) fn record_rules(&mut self, host: &str, asked: Option<Duration>, now_ms: i64) {
        let delay = self.server_delay.max(asked.unwrap_or_default());
        if let Some(entry) = self.by_name.get_mut(host) {
            entry.rules = Rules::Known;
            entry.delay_ms = milliseconds(delay);
        }
        self.record_finished(host, true, now_ms);
    }

    /// Records that a connection is free; if the URL was not requested, there is no pause.
    pub(super) fn record_finished(&mut self, host: &str, was_asked: bool, now_ms: i64) {
        let Some((name, entry)) = self.by_name.get_key_value(host) else {
            return;
        };
        let (name, delay_ms) = (Arc::clone(name), entry.delay_ms);
        if let Some(entry) = self.by_name.get_mut(host) {
            entry.connections = entry.connections.saturating_sub(1);
            if was_asked {
                entry.next_ms = entry.next_ms.max(now_ms.saturating_add(delay_ms));
            }
        }
        self.enqueue(&name);
    }

    /// Blocks a host until the time that the host has requested with `Retry-After`.
    pub(super) fn hold(&mut self, host: &str, until_ms: i64) {
        let Some((name, _)) = self.by_name.get_key_value(host) else {
            return;
        };
        let name = Arc::clone(name);
        if let Some(entry) = self.by_name.get_mut(host) {
            entry.next_ms = entry.next_ms.max(until_ms);
        }
        self.enqueue(&name);
    }

    /// Returns the earliest time at which a job can start, unless another job ends before then.
    pub(super) fn next_ms(&self) -> Option<i64> {
        self.ready.first().map(|(due_ms, ..)| *due_ms)
    }

    /// Returns the number of waiting URLs.
    pub(super) fn queued(&self) -> usize {
        self.queued
    }

    /// Returns the number of waiting URLs on a host.
    pub(super) fn queued_for(&self, host: &str) -> usize {
        self.by_name.get(host).map_or(0, |entry| entry.queue.len())
    }

    /// Returns `true` if any URL on the host has ever been queued.
    pub(super) fn contains(&self, host: &str) -> bool {
        self.by_name.contains_key(host)
    }

    /// Returns `true` if any host has fewer waiting URLs than `count`, or if there are no hosts.
    pub(super) fn has_host_below(&self, count: usize) -> bool {
        self.by_name.is_empty() || self.by_name.values().any(|host| host.queue.len() < count)
    }

    /// Adds a host to the ready set if it has a job that can start.
    fn enqueue(&mut self, host: &Arc<str>) {
        let Some(entry) = self.by_name.get_mut(host) else {
            return;
        };
        if let Some((due_ms, turn)) = entry.turn.take() {
            self.ready.remove(&(due_ms, turn, Arc::clone(host)));
        }
        let most = match (entry.rules, entry.delay_ms) {
            (Rules::Requested, _) => 0,
            (Rules::Known, 0) => self.max_connections,
            (Rules::Unknown | Rules::Known, _) => 1,
        };
        if !entry.queue.is_empty() && entry.connections < most {
            self.turns += 1;
            let turn = (entry.next_ms, self.turns);
            entry.turn = Some(turn);
            self.ready.insert((turn.0, turn.1, Arc::clone(host)));
        }
    }
}

fn milliseconds(duration: Duration) -> i64 {
    // A fraction of a millisecond is rounded up.
    let rounded_up = duration.as_micros().div_ceil(1_000);
    i64::try_from(rounded_up).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(max_connections: usize, delay_ms: u64) -> Hosts {
        Hosts::new(max_connections, Duration::from_millis(delay_ms))
    }

    fn fill(hosts: &mut Hosts, host: &str, count: usize) {
        for number in 0..count {
            hosts.push(ClaimedUrl::new(format!("http://{host}/{number}"), host));
        }
    }

    fn visit(hosts: &mut Hosts, now_ms: i64) -> Option<String> {
        match hosts.begin(now_ms)? {
            Job::Visit(claimed) => Some(claimed.url),
            Job::Rules { host, .. } => Some(format!("rules of {host}")),
        }
    }

    /// Completes the first job of a host, which reads the robots.txt rules.
    fn know(hosts: &mut Hosts, host: &str, asked: Option<u64>) {
        let rules = visit(hosts, 0);
        assert_eq!(rules, Some(format!("rules of {host}")));
        hosts.record_rules(host, asked.map(Duration::from_millis), 0);
    }

    #[test]
    fn no_visit_starts_before_the_rules_are_known() {
        let mut hosts = hosts(2, 0);
        fill(&mut hosts, "a", 3);
        assert_eq!(visit(&mut hosts, 0).unwrap(), "rules of a");
        assert_eq!(visit(&mut hosts, 1_000_000), None);
        hosts.record_rules("a", None, 5);
        assert_eq!(visit(&mut hosts, 5).unwrap(), "http://a/0");
        assert_eq!(hosts.queued(), 2);
    }

    #[test]
    fn connections_per_host_are_limited() {
        let mut hosts = hosts(2, 0);
        fill(&mut hosts, "a", 4);
        know(&mut hosts, "a", None);
        assert!(visit(&mut hosts, 0).is_some() && visit(&mut hosts, 0).is_some());
        assert_eq!((visit(&mut hosts, 0), hosts.next_ms()), (None, None));
        hosts.record_finished("a", true, 0);
        assert_eq!(visit(&mut hosts, 0).unwrap(), "http://a/2");
        assert_eq!(visit(&mut hosts, 0), None);
    }

    #[test]
    fn hosts_take_turns() {
        let mut hosts = hosts(9, 0);
        fill(&mut hosts, "a", 2);
        know(&mut hosts, "a", None);
        fill(&mut hosts, "b", 2);
        know(&mut hosts, "b", None);
        let order: Vec<_> = std::iter::from_fn(|| visit(&mut hosts, 0)).collect();
        let urls = ["http://a/0", "http://b/0", "http://a/1", "http://b/1"];
        assert_eq!(order, urls);
    }

    #[test]
    fn pause_starts_at_the_end_of_the_last_visit() {
        let mut hosts = hosts(2, 100);
        fill(&mut hosts, "a", 3);
        know(&mut hosts, "a", Some(2_000));
        assert_eq!(
            (visit(&mut hosts, 1_999), hosts.next_ms()),
            (None, Some(2_000))
        );
        assert!(visit(&mut hosts, 2_000).is_some());
        assert_eq!(visit(&mut hosts, 9_000), None, "one connection only");
        hosts.record_finished("a", true, 2_700);
        assert_eq!(hosts.next_ms(), Some(4_700));
        assert_eq!(visit(&mut hosts, 4_699), None);
        assert!(visit(&mut hosts, 4_700).is_some());
    }

    #[test]
    fn longer_pause_takes_precedence() {
        for (own, asked, due_ms) in [
            (500, Some(200), 500),
            (200, Some(500), 500),
            (200, None, 200),
        ] {
            let mut hosts = hosts(2, own);
            fill(&mut hosts, "a", 1);
            know(&mut hosts, "a", asked);
            assert_eq!(hosts.next_ms(), Some(due_ms));
        }
    }

    #[test]
    fn url_not_requested_causes_no_pause() {
        let mut hosts = hosts(2, 1_000);
        fill(&mut hosts, "a", 2);
        know(&mut hosts, "a", None);
        assert!(visit(&mut hosts, 1_000).is_some());
        hosts.record_finished("a", false, 1_001);
        assert!(visit(&mut hosts, 1_001).is_some());
    }

    #[test]
    fn host_with_retry_after_is_blocked_and_others_are_not() {
        let mut hosts = hosts(2, 0);
        fill(&mut hosts, "a", 3);
        know(&mut hosts, "a", None);
        fill(&mut hosts, "b", 1);
        know(&mut hosts, "b", None);
        assert_eq!(visit(&mut hosts, 0).unwrap(), "http://a/0");
        hosts.hold("a", 60_000);
        hosts.record_finished("a", true, 10);
        assert_eq!(visit(&mut hosts, 10).unwrap(), "http://b/0");
        assert_eq!(
            (visit(&mut hosts, 59_999), hosts.next_ms()),
            (None, Some(60_000))
        );
        assert_eq!(visit(&mut hosts, 60_000).unwrap(), "http://a/1");
    }
}
