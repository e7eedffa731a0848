//! Counters of the decisions made by a layer.

use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::detect::{Claim, Listed};
use crate::policy::{Action, ByAction};
use crate::registry::{Pattern, PatternKind, Robot};
use crate::suspect::{Reason, Reasons};

/// Minimum number of requests before a front (such as a CDN) is reported, so that the percentage is
/// significant.
const MIN_REQUESTS: u64 = 100;

/// Minimum percentage of requests through a front before it is reported as hiding visitors.
const MIN_PERCENT: u64 = 20;

/// Counters of one layer since its creation, stored in relaxed atomics.
///
/// Requests for the program's [own pages](super::RobotDetectionLayer::internal_path) and requests
/// from its site robot are not counted. A request from a robot is counted once; requests without a
/// User-Agent or with a shared User-Agent are counted as requests from robots unless they pass. In
/// a [dry run](crate::policy::Policy::is_dry_run), each request is counted as passed and, if it
/// would not have passed, also in `would`.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Requests from human visitors; requests with a shared User-Agent are included only if they
    /// passed.
    pub people: AtomicU64,
    /// Requests from human visitors whose User-Agent was replaced by a front, such as a CDN.
    pub behind_front: AtomicU64,
    /// Requests without a User-Agent that passed.
    pub nameless_passed: AtomicU64,
    /// Requests that make a claim, by the action taken.
    ///
    /// Requests that robots.txt refuses or redirects are counted as refused, and so are requests
    /// for which no heaven page exists that could be served directly.
    pub robots: ByAction<AtomicU64>,
    /// Actions that were not taken because of a dry run; passing requests are not counted.
    pub would: ByAction<AtomicU64>,
    /// Requests from suspects, which are also counted as requests from human visitors.
    pub suspects: AtomicU64,
    /// Requests from suspects by reason; a request with several reasons is counted under each
    /// reason.
    by_reason: [AtomicU64; Reason::ALL.len()],
    /// The first front (such as a CDN) whose User-Agent a request contained.
    front: OnceLock<Arc<Robot>>,
}

/// A front (such as a CDN) that hides a site's visitors by sending its own User-Agent.
///
/// The `Display` text describes how to fix the problem.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Front {
    /// The registry record of the User-Agent that the front sends.
    pub record: Arc<Robot>,
    /// The percentage of all requests since the layer was created that came through the front.
    pub percent: u64,
}

impl Stats {
    pub(super) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request that is forwarded; all other requests are counted when the response is
    /// sent.
    pub(super) fn count_passing(&self, claim: Option<&Claim<'_>>, action: Action) {
        if let Some(Claim::Shared(shared)) = claim {
            self.count_shared(shared);
        }
        Self::count(match (claim, action) {
            (None | Some(Claim::Person), _) | (Some(Claim::Shared(_)), Action::Pass) => {
                &self.people
            }
            (Some(Claim::Nameless), Action::Pass) => &self.nameless_passed,
            (Some(_), action) => self.robots.get(action),
        });
    }

    /// Counts a request with a shared User-Agent, which hides the visitor's own User-Agent.
    fn count_shared(&self, shared: &Listed<'_>) {
        // A CDN replaces every User-Agent with a fixed text; a translation service appends its name
        // to the visitor's User-Agent.
        let is_fixed = |pattern: &Pattern| pattern.kind == PatternKind::Exact;
        if shared.pattern.is_some_and(is_fixed) {
            Self::count(&self.behind_front);
            self.front.get_or_init(|| Arc::clone(shared.robot));
        }
    }

    /// Counts a request from a suspect.
    pub(super) fn count_suspect(&self, reasons: Reasons) {
        Self::count(&self.suspects);
        for (reason, counter) in Reason::ALL.iter().zip(&self.by_reason) {
            if reasons.contains(*reason) {
                Self::count(counter);
            }
        }
    }

    /// Returns the number of requests from suspects for each reason.
    pub fn by_reason(&self) -> impl Iterator<Item = (Reason, u64)> {
        let counters = self.by_reason.iter();
        let counts = counters.map(|counter| counter.load(Ordering::Relaxed));
        Reason::ALL.iter().copied().zip(counts)
    }

    /// Returns the number of counted requests.
    pub fn requests(&self) -> u64 {
        let robots = self.robots.iter().map(|(_, counter)| counter);
        let all = [&self.people, &self.nameless_passed].into_iter();
        let all = all.chain(robots);
        all.map(|counter| counter.load(Ordering::Relaxed)).sum()
    }

    /// Returns the front that hides the visitors, if there were at least 100 requests and at least
    /// 20 % of them came through a front.
    #[must_use]
    pub fn front(&self) -> Option<Front> {
        let all = self.requests();
        let behind_front = self.behind_front.load(Ordering::Relaxed);
        let percent = (behind_front.saturating_mul(100) / all.max(1)).min(100);
        let record = Arc::clone(self.front.get()?);
        (all >= MIN_REQUESTS && percent >= MIN_PERCENT).then_some(Front { record, percent })
    }
}

/// Displays the front and explains how to forward the visitors' User-Agents.
impl fmt::Display for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { record, percent } = self;
        let (id, name) = (&*record.id, &*record.name);
        write!(
            f,
            "{percent} % of the requests have the User-Agent of {name} instead of the visitor's, so robots are treated as human; "
        )?;
        match id {
            "amazon-cloudfront" => f.write_str(
                "attach an origin request policy that forwards the User-Agent header, such as Managed-UserAgentRefererHeaders, to the distribution",
            ),
            _ => write!(f, "configure {name} to forward the visitor's User-Agent"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Source;

    #[test]
    fn front_is_reported_if_it_hides_a_fifth_of_the_visitors() {
        let mut robot = Robot::new("amazon-cloudfront", Source::bundled());
        robot.name = "Amazon CloudFront".to_owned();
        let robot = Arc::new(robot);
        let stats = Stats::default();
        let come = |kind, times| {
            for _ in 0..times {
                Stats::count(&stats.people);
                stats.count_shared(&Listed {
                    robot: &robot,
                    pattern: Some(&Pattern::new(kind, "Amazon CloudFront")),
                    range: 0..17,
                });
            }
        };
        come(PatternKind::Token, 200);
        assert!(stats.front().is_none(), "the User-Agent is visible");
        come(PatternKind::Exact, 49);
        assert!(stats.front().is_none(), "less than 20 %");
        come(PatternKind::Exact, 1);
        let front = stats.front().unwrap();
        assert_eq!(front.percent, 20);
        let text = front.to_string();
        assert!(text.starts_with("20 % of the requests"), "{text}");
        assert!(text.contains("an origin request policy"), "{text}");
    }
}
