use std::{net::IpAddr, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use tokio::sync::mpsc;

use super::{network::Network, tallies::Tallies};
use robot_detection_layer::clock::Clock;
use robot_detection_layer::detect::{Kind, Verdict};
use robot_detection_layer::layer::Outcome;
use robot_detection_layer::policy::Action;

/// Maximum length of the queue of bans. A ban that does not fit is detected again at the client's
/// next refusal.
const MAX_WAITING: usize = 1_024;

/// A rule for bans: the number of refusals within a period that leads to a ban, and the ban's
/// duration.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BanRule {
    /// Number of refusals that lead to a ban.
    pub refusals: u32,
    /// Period in which refusals are counted, which starts with the first refusal.
    pub per: Duration,
    /// Duration of the ban.
    pub lasts: Duration,
    /// Causes of the refusals that count: labels of rules, or words such as `robots.txt`; empty for
    /// all causes.
    pub causes: Vec<String>,
}

/// A counter of refused requests by client; clones share the counts.
#[derive(Clone, Debug)]
pub struct Bans {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    rules: ArcSwap<Vec<BanRule>>,
    tallies: Tallies,
    found: mpsc::Sender<BanCandidate>,
    clock: Clock,
}

/// A client whose requests were refused too often.
#[derive(Debug)]
pub(super) struct BanCandidate {
    /// Address from which the client sent its last request.
    pub(super) address: IpAddr,
    pub(super) cause: Box<str>,
    pub(super) at_ms: i64,
    pub(super) lasts: Duration,
}

impl BanRule {
    fn counts(&self, cause: &str) -> bool {
        self.causes.is_empty() || self.causes.iter().any(|counted| counted == cause)
    }
}

impl Bans {
    /// Creates a counter without rules, and the channel on which the counter sends bans.
    pub(super) fn new(clock: Clock) -> (Self, mpsc::Receiver<BanCandidate>) {
        let (found, receiver) = mpsc::channel(MAX_WAITING);
        let inner = Inner {
            rules: ArcSwap::default(),
            tallies: Tallies::default(),
            found,
            clock,
        };
        let bans = Self {
            inner: Arc::new(inner),
        };
        (bans, receiver)
    }

    /// Replaces the rules for bans.
    pub fn replace(&self, rules: Vec<BanRule>) {
        self.inner.rules.store(Arc::new(rules));
    }

    /// Counts a request that was refused or slowed down.
    ///
    /// Requests from verified robots, from robots with a pending verdict, and with a User-Agent
    /// that many people share are not counted.
    pub fn count_outcome(&self, outcome: &Outcome, address: IpAddr) {
        let is_refused = matches!(outcome.decision(), Action::Refuse | Action::Slow);
        let is_spared = matches!(
            outcome.verdict(),
            Some(Verdict::Verified | Verdict::Pending)
        ) || matches!(outcome.kind(), None | Some(Kind::Shared));
        if is_refused && !outcome.is_dry_run() && !is_spared {
            self.count(outcome.cause(), address);
        }
    }

    fn count(&self, cause: &str, address: IpAddr) {
        let inner = &*self.inner;
        let rules = inner.rules.load();
        if rules.is_empty() {
            return;
        }
        let (network, at_ms) = (Network::containing(address), inner.clock.now_ms());
        for (number, rule) in rules.iter().enumerate() {
            let limits = (rule.refusals, ms(rule.per), ms(rule.lasts));
            let key = (network, number);
            if !rule.counts(cause) || !inner.tallies.count(key, at_ms, limits) {
                continue;
            }
            let found = BanCandidate {
                address,
                cause: cause.into(),
                at_ms,
                lasts: rule.lasts,
            };
            if inner.found.try_send(found).is_err() {
                inner.tallies.remove(key);
            }
        }
    }
}

pub(super) fn ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
