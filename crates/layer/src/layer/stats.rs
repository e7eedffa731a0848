//! Counters of a layer's decisions.

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

/// Minimum number of requests for reporting a front, because a share of fewer is not significant.
const MIN_REQUESTS: u64 = 100;

/// Minimum percentage of requests behind a front that is reported as hiding the visitors.
const MIN_PERCENT: u64 = 20;

/// Counters of one layer since its creation; relaxed atomics without locks.
///
/// Requests for the program's [own pages](super::RobotDetectionLayer::internal_path) and of its site
/// robot are not counted. Each robot's request counts once; requests of nameless visitors, and of
/// human visitors that share a User-Agent, count as robots' unless they pass. In a [dry
/// run](crate::policy::Policy::is_dry_run) each request counts as passed, and additionally in
/// `would` if it would not have passed.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Requests of human visitors; of those with a shared User-Agent only the passed ones.
    pub people: AtomicU64,
    /// Requests of human visitors whose User-Agent was replaced by a front, such as a CDN.
    pub behind_front: AtomicU64,
    /// Passed requests without a User-Agent.
    pub nameless_passed: AtomicU64,
    /// Requests with a claim, by action.
    ///
    /// Requests that robots.txt refuses or redirects count as refused, and so do requests for which
    /// no heaven page exists to serve directly.
    pub robots: ByAction<AtomicU64>,
    /// Actions that a dry run did not take; passing requests are not counted.
    pub would: ByAction<AtomicU64>,
    /// Requests of suspects, which also count as human visitors'.
    pub suspects: AtomicU64,
    /// Requests of suspects by reason; a request counts for each of its reasons.
    by_reason: [AtomicU64; Reason::ALL.len()],
    /// The first front seen.
    front: OnceLock<Arc<Robot>>,
}

/// Front that hides a site's visitors: many requests carry the front's own User-Agent.
///
/// The `Display` text describes the remedy.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Front {
    /// Registry record of the front's User-Agent.
    pub record: Arc<Robot>,
    /// Percentage of all requests since the layer was created.
    pub percent: u64,
}

impl Stats {
    pub(super) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a forwarded request; other requests are counted with their response.
    pub(super) fn count_passing(&self, claim: Option<&Claim<'_>>, action: Action) {
        if let Some(Claim::Shared(shared)) = claim {
            self.count_shared(shared);
        }
        Self::count(match (claim, action) {
            (None | Some(Claim::Person), _) | (Some(Claim::Shared(_)), Action::Pass) => {
                &self.people
            }
            (Some(Claim::Nameless), Action::Pass) => &self.nameless_passed,
            (Some(_), action) => self.robots.of(action),
        });
    }

    /// Counts a request with a shared User-Agent that does not reveal the visitor's own.
    fn count_shared(&self, shared: &Listed<'_>) {
        // A CDN replaces every User-Agent by one fixed text; a translation service appends its name
        // to the visitor's User-Agent.
        let is_fixed = |pattern: &Pattern| pattern.kind == PatternKind::Exact;
        if shared.pattern.is_some_and(is_fixed) {
            Self::count(&self.behind_front);
            self.front.get_or_init(|| Arc::clone(shared.robot));
        }
    }

    /// Counts a request of a suspect.
    pub(super) fn count_suspect(&self, reasons: Reasons) {
        Self::count(&self.suspects);
        for (reason, counter) in Reason::ALL.iter().zip(&self.by_reason) {
            if reasons.contains(*reason) {
                Self::count(counter);
            }
        }
    }

    /// Returns the number of suspects' requests for each reason.
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

    /// Returns the front that hides the visitors if 20 % of at least 100 requests came through it.
    #[must_use]
    pub fn front(&self) -> Option<Front> {
        let all = self.requests();
        let behind_front = self.behind_front.load(Ordering::Relaxed);
        let percent = (behind_front.saturating_mul(100) / all.max(1)).min(100);
        let record = Arc::clone(self.front.get()?);
        (all >= MIN_REQUESTS && percent >= MIN_PERCENT).then_some(Front { record, percent })
    }
}

/// Shows the front and how to forward the visitors' User-Agents.
impl fmt::Display for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { record, percent } = self;
        let (id, name) = (&*record.id, &*record.name);
        write!(
            f,
            "{percent} % of the requests have the User-Agent of {name}, which hides the visitors' own, so robots behind it count as human; "
        )?;
        match id {
            "amazon-cloudfront" => f.write_str(
                "attach an origin request policy to the distribution that forwards the User-Agent header, such as Managed-UserAgentRefererHeaders",
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
