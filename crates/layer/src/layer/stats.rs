//! What passed, and what was done with the rest.

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

/// Requests below which nothing is said of a front, as a share of few says little.
const MIN_REQUESTS: u64 = 100;

/// Share of the requests from which a front counts as hiding the visitors, in percent.
const MIN_PERCENT: u64 = 20;

/// Counters of one layer since it was made; relaxed, so nothing waits for them.
///
/// The requests of the program's [own pages](super::RobotDetectionLayer::own_path) and of its
/// own site robot count nowhere.
/// Of robots each request counts once; of nameless visitors, and of people who share a
/// User-Agent, as of robots unless it passes. In a
/// [dry run](crate::policy::Policy::is_dry_run) it passes, and counts in `would`
/// too unless it had passed anyway.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Requests of people; of those who share a User-Agent the ones that passed.
    pub people: AtomicU64,
    /// Requests of people whose User-Agent a front, such as a CDN, put in place of their own.
    pub behind_front: AtomicU64,
    /// Requests without a User-Agent that passed.
    pub nameless_passed: AtomicU64,
    /// Requests with a claim, by what was done.
    ///
    /// What robots.txt refuses or redirects counts as refused, and so does a page that is
    /// to be served in place where there is none.
    pub robots: ByAction<AtomicU64>,
    /// What would have been done in a dry run; of what passes anyway nothing.
    pub would: ByAction<AtomicU64>,
    /// Requests of suspects, which count as people's too.
    pub suspects: AtomicU64,
    /// The same by reason: each counts for all of its reasons.
    by_reason: [AtomicU64; Reason::ALL.len()],
    /// The front that was met first.
    front: OnceLock<Arc<Robot>>,
}

/// Front that hides the visitors of a site: much of the traffic comes by its own User-Agent.
///
/// Shown as text it says what to do.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Front {
    /// The record of its User-Agent.
    pub record: Arc<Robot>,
    /// Share of all requests since the layer was made.
    pub percent: u64,
}

impl Stats {
    pub(super) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request that goes on; what does not was counted with its answer.
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

    /// Counts a request by a User-Agent that many people share, if it says nothing of them.
    fn count_shared(&self, shared: &Listed<'_>) {
        // A CDN puts one fixed text in place of every User-Agent; a translator adds its name to the
        // visitor's, which is still there.
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

    /// Returns how many requests of suspects had each reason.
    pub fn by_reason(&self) -> impl Iterator<Item = (Reason, u64)> {
        let counters = self.by_reason.iter();
        let counts = counters.map(|counter| counter.load(Ordering::Relaxed));
        Reason::ALL.iter().copied().zip(counts)
    }

    /// Returns how many requests were counted.
    pub fn requests(&self) -> u64 {
        let robots = self.robots.iter().map(|(_, counter)| counter);
        let all = [&self.people, &self.nameless_passed].into_iter();
        let all = all.chain(robots);
        all.map(|counter| counter.load(Ordering::Relaxed)).sum()
    }

    /// Returns the front that hides the visitors, where a fifth of a hundred requests or more came by one.
    #[must_use]
    pub fn front(&self) -> Option<Front> {
        let all = self.requests();
        let behind_front = self.behind_front.load(Ordering::Relaxed);
        let percent = (behind_front.saturating_mul(100) / all.max(1)).min(100);
        let record = Arc::clone(self.front.get()?);
        (all >= MIN_REQUESTS && percent >= MIN_PERCENT).then_some(Front { record, percent })
    }
}

/// Shows what hides the visitors, and what to do.
impl fmt::Display for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { record, percent } = self;
        let (id, name) = (&*record.id, &*record.name);
        write!(
            f,
            "{percent} % of the requests came with the User-Agent of {name}, which stands before the site and hides who asks: robots among them are taken for people; "
        )?;
        match id {
            "amazon-cloudfront" => f.write_str(
                "give the distribution an origin request policy that includes the header User-Agent, such as Managed-UserAgentRefererHeaders",
            ),
            _ => write!(f, "have {name} forward the User-Agent of the visitor"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Source;

    #[test]
    fn a_front_hides_the_visitors_of_much_of_the_traffic() {
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
        assert!(stats.front().is_none(), "what names a browser hides none");
        come(PatternKind::Exact, 49);
        assert!(stats.front().is_none(), "fewer than a fifth");
        come(PatternKind::Exact, 1);
        let front = stats.front().unwrap();
        assert_eq!(front.percent, 20);
        let text = front.to_string();
        assert!(text.starts_with("20 % of the requests"), "{text}");
        assert!(text.contains("an origin request policy"), "{text}");
    }
}
