//! Counters of requests: relaxed atomics in arrays, so that no request waits for another.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::detect::{Kind, Verdict};
use crate::layer::Outcome;
use crate::policy::Action;
use crate::registry::RobotMap;
use crate::telemetry::Histogram;

/// Most sites that are counted apart: each label value is a time series in Prometheus.
const MAX_SITES: usize = 1_000;
/// Site under which further sites are counted.
const OTHER_SITES: &str = "other";

/// Most robots that are counted apart.
// Each is one time series for every decision that was ever made about it.
const MAX_ROBOTS: usize = 200;
/// Most signing hosts of unlisted robots that are counted apart, and one name for the rest.
const MAX_SIGNERS: usize = 201;
/// Robot under which further robots are counted.
const OTHER_ROBOTS: &str = "other";

/// Number of the kinds of visitors.
const VISITORS: usize = Kind::ALL.len();

/// Number of the words for what was done: every action, and in a dry run each but the first.
const DECISIONS: usize = 2 * Action::ALL.len() - 1;

// `Labels::default` relies on the first place of both lists.
const _: () = assert!(matches!(
    (Kind::ALL, Action::ALL),
    ([Kind::Person, ..], [Action::Pass, ..])
));

/// Visitor and decision, as indexes into the lists of words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Labels {
    /// `None` for a request that is no visit, which is not counted.
    visitor: Option<usize>,
    decision: usize,
}

/// Word for the visitor where there is none.
const NOBODY: &str = "-";

/// Numbers by decision.
pub(super) type ByDecision = [AtomicU64; DECISIONS];

/// Classes of statuses.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// Numbers by class of the status, those of no class last.
type ByStatus = [AtomicU64; CLASSES.len() + 1];

/// Numbers by verdict, in the order of its list.
pub(super) type ByVerdict = [AtomicU64; Verdict::ALL.len()];

/// Metrics of the whole program.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    sites: Mutex<BTreeMap<String, Arc<SiteMetrics>>>,
    pub(super) robots: RobotCounts<ByDecision>,
    pub(super) signers: Signers,
    pub(crate) first_byte: Histogram,
    pub(crate) reloads_done: AtomicU64,
    pub(crate) reloads_failed: AtomicU64,
}

/// Numbers of the robots that sign, and that no registry lists, by their hosts.
#[derive(Debug)]
pub(super) struct Signers(pub(super) RobotCounts<ByDecision>);

impl Default for Signers {
    fn default() -> Self {
        Self(RobotCounts::of_signers())
    }
}

/// Metrics of one site.
#[derive(Debug, Default)]
pub(crate) struct SiteMetrics {
    pub(crate) name: String,
    /// One counter for each visitor, decision and class, so that a request increments only one.
    requests: [[ByStatus; DECISIONS]; VISITORS],
    verdicts: RobotCounts<ByVerdict>,
    pub(crate) durations: Histogram,
}

impl Labels {
    pub(super) fn new(outcome: Option<&Outcome>) -> Self {
        let Some(outcome) = outcome else {
            return Self::default();
        };
        let position = |kind| Kind::ALL.iter().position(|known| *known == kind);
        let visitor = outcome.kind().and_then(position);
        let action = Action::ALL
            .iter()
            .position(|action| *action == outcome.decision())
            .unwrap_or_default();
        // What passes in a dry run passes without one too: there is no word for "would pass".
        let dry = if outcome.is_dry_run() && action > 0 {
            Action::ALL.len() - 1
        } else {
            0
        };
        Self {
            visitor,
            decision: action + dry,
        }
    }

    pub(super) fn visitor(self) -> &'static str {
        let kind = self.visitor.and_then(|visitor| Kind::ALL.get(visitor));
        kind.map_or(NOBODY, |kind| kind.as_str())
    }

    pub(super) fn decision(self) -> &'static str {
        decision_word(self.decision)
    }

    pub(super) fn count(self, numbers: &ByDecision) {
        if let Some(number) = numbers.get(self.decision) {
            number.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A person's request that passes.
impl Default for Labels {
    fn default() -> Self {
        Self {
            visitor: Some(0),
            decision: 0,
        }
    }
}

impl Metrics {
    /// Returns robot, decision and number of what was counted.
    pub(crate) fn robots(&self) -> Vec<(String, &'static str, u64)> {
        let read = |numbers: &ByDecision| numbers_by_decision(numbers).collect();
        let mut numbers = self.robots.numbers(read);
        numbers.extend(self.signers.0.numbers(read));
        numbers
    }

    /// Counts a request, if it is a robot's.
    pub(super) fn count_robot(&self, outcome: &Outcome, labels: Labels) {
        match (outcome.signer(), outcome.robot()) {
            (Some(signer), _) => labels.count(self.signers.0.of(signer.as_str())),
            (None, Some(robot)) => labels.count(self.robots.of(robot)),
            (None, None) => {}
        }
    }

    /// Returns the metrics of a site, the same ones for the same name.
    pub(super) fn site(&self, name: &str) -> Arc<SiteMetrics> {
        let mut sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = !sites.contains_key(name);
        let name = if is_new && sites.len() >= MAX_SITES {
            OTHER_SITES
        } else {
            name
        };
        let site = sites.entry(name.to_owned()).or_insert_with(|| {
            Arc::new(SiteMetrics {
                name: name.to_owned(),
                ..SiteMetrics::default()
            })
        });
        Arc::clone(site)
    }

    pub(crate) fn sites(&self) -> Vec<Arc<SiteMetrics>> {
        let sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
        sites.values().cloned().collect()
    }

    pub(super) fn reloaded(&self, succeeded: bool) {
        let counter = if succeeded {
            &self.reloads_done
        } else {
            &self.reloads_failed
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

impl SiteMetrics {
    /// Counts a request, if it is a visit.
    pub(super) fn count(&self, labels: Labels, status: u16, duration: Duration) {
        let Some(visitor) = labels.visitor else {
            return;
        };
        let class = usize::from(status / 100).wrapping_sub(1).min(CLASSES.len());
        let of_visitor = self.requests.get(visitor);
        let of_decision = of_visitor.and_then(|numbers| numbers.get(labels.decision));
        if let Some(number) = of_decision.and_then(|numbers| numbers.get(class)) {
            number.fetch_add(1, Ordering::Relaxed);
        }
        self.durations.record(duration);
    }

    /// Counts a verdict on a claim to be a robot, where there is one.
    pub(super) fn count_verdict(&self, robot: &str, verdict: Option<Verdict>) {
        let index = Verdict::ALL
            .iter()
            .position(|known| Some(*known) == verdict);
        let Some(index) = index else { return };
        if let Some(number) = self.verdicts.of(robot).get(index) {
            number.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns robot, verdict and number of what was counted.
    pub(crate) fn verdicts(&self) -> Vec<(String, &'static str, u64)> {
        self.verdicts.numbers(|numbers| {
            let words = Verdict::ALL.iter().map(|verdict| verdict.as_str());
            let numbers = numbers.iter().map(|number| number.load(Ordering::Relaxed));
            words.zip(numbers).collect()
        })
    }

    /// Returns visitor, decision and number of what was counted.
    pub(crate) fn requests(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
        Kind::ALL
            .iter()
            .zip(&self.requests)
            .flat_map(|(visitor, numbers)| {
                let numbers = numbers.iter().map(|classes| classes.iter().map(read).sum());
                let numbers = decision_words().zip(numbers);
                numbers.map(move |(decision, number)| (visitor.as_str(), decision, number))
            })
            .filter(|(.., number)| *number > 0)
    }

    /// Returns class and number of the statuses.
    pub(crate) fn statuses(&self) -> impl Iterator<Item = (&'static str, u64)> {
        CLASSES.into_iter().enumerate().map(|(class, word)| {
            let all = self.requests.iter().flatten();
            let numbers = all.filter_map(|classes| classes.get(class));
            (word, numbers.map(read).sum())
        })
    }
}

/// Returns the word at an index: those of the actions, then those of dry runs.
fn decision_word(index: usize) -> &'static str {
    let word = Action::ALL.get(index).map(|action| action.as_str());
    let would = || Action::ALL.get(index + 1 - Action::ALL.len());
    word.or_else(|| Some(would()?.words().would))
        .unwrap_or_default()
}

fn decision_words() -> impl Iterator<Item = &'static str> {
    (0..DECISIONS).map(decision_word)
}

fn read(number: &AtomicU64) -> u64 {
    number.load(Ordering::Relaxed)
}

/// Returns decision and number of what was counted.
fn numbers_by_decision(numbers: &ByDecision) -> impl Iterator<Item = (&'static str, u64)> {
    decision_words()
        .zip(numbers)
        .map(|(decision, number)| (decision, number.load(Ordering::Relaxed)))
        .filter(|(_, number)| *number > 0)
}

/// Counts of requests by robot, without locks.
#[derive(Debug)]
pub(super) struct RobotCounts<N> {
    robots: RobotMap<N>,
}

impl<N: Default> Default for RobotCounts<N> {
    fn default() -> Self {
        Self {
            robots: RobotMap::new(MAX_ROBOTS),
        }
    }
}

impl<N: Default> RobotCounts<N> {
    /// Creates counts of signing hosts, which take no room from listed robots.
    pub(super) fn of_signers() -> Self {
        Self {
            robots: RobotMap::new(MAX_SIGNERS),
        }
    }

    /// Returns the numbers of a robot, to count something of it.
    pub(super) fn of(&self, robot: &str) -> &N {
        self.robots.of(robot)
    }

    /// Returns robot, word and number of what was counted; `read` reads the numbers of one.
    pub(super) fn numbers(
        &self,
        read: impl Fn(&N) -> Vec<(&'static str, u64)>,
    ) -> Vec<(String, &'static str, u64)> {
        let others = (OTHER_ROBOTS, self.robots.others());
        let all = self.robots.iter().chain([others]);
        all.flat_map(|(robot, numbers)| {
            let numbers = read(numbers).into_iter();
            let counted = numbers.filter(|(_, number)| *number > 0);
            counted.map(|(word, number)| (robot.to_owned(), word, number))
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn numbers(counts: &RobotCounts<AtomicU64>) -> Vec<(String, &'static str, u64)> {
        counts.numbers(|number| vec![("pass", number.load(Ordering::Relaxed))])
    }

    #[test]
    fn robots_beyond_the_first_are_counted_together() {
        let counts = RobotCounts::<AtomicU64>::default();
        for number in 0..MAX_ROBOTS + 3 {
            for _ in 0..2 {
                let number = counts.of(&number.to_string());
                number.fetch_add(1, Ordering::Relaxed);
            }
        }
        let numbers = numbers(&counts);
        assert_eq!(numbers.len(), MAX_ROBOTS + 1);
        let of = |robot: &str| numbers.iter().find(|(name, ..)| name == robot).cloned();
        assert_eq!(of("0"), Some(("0".to_owned(), "pass", 2)));
        assert_eq!(of("other"), Some(("other".to_owned(), "pass", 6)));
    }

    #[test]
    fn every_action_has_its_two_words() {
        for (index, action) in Action::ALL.iter().enumerate() {
            assert_eq!(decision_word(index), action.as_str());
            if index > 0 {
                let would = decision_word(index + Action::ALL.len() - 1);
                assert_eq!(would, format!("would-{action}"));
            }
        }
        assert_eq!(decision_words().count(), 2 * Action::ALL.len() - 1);
    }

    #[test]
    fn every_kind_has_its_word() {
        for (index, kind) in Kind::ALL.iter().enumerate() {
            let labels = Labels {
                visitor: Some(index),
                decision: 0,
            };
            assert_eq!(labels.visitor(), kind.as_str());
        }
        assert_eq!(Labels::default().visitor(), "person");
    }

    #[test]
    fn a_person_is_counted_without_an_outcome() {
        let metrics = Metrics::default();
        let site = metrics.site("a");
        site.count(Labels::new(None), 204, Duration::ZERO);
        site.count(Labels::new(None), 499, Duration::ZERO);
        site.count(Labels::new(None), 700, Duration::ZERO);
        let requests: Vec<_> = metrics.site("a").requests().collect();
        assert_eq!(requests, [("person", "pass", 3)]);
        let statuses: Vec<_> = site.statuses().map(|(_, number)| number).collect();
        assert_eq!(statuses, [0, 1, 0, 1, 0]);
    }

    #[test]
    fn verdicts_are_counted_by_robot_where_there_is_one() {
        let site = SiteMetrics::default();
        for (robot, verdict) in [
            ("a", Some(Verdict::Verified)),
            ("a", Some(Verdict::Verified)),
            ("a", Some(Verdict::Pending)),
            ("a", None),
            ("b", None),
        ] {
            site.count_verdict(robot, verdict);
        }
        let expected = [("a", "verified", 2), ("a", "pending", 1)];
        let found = site.verdicts();
        let found: Vec<_> = found
            .iter()
            .map(|(robot, verdict, number)| (robot.as_str(), *verdict, *number))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn sites_beyond_a_thousand_are_counted_together() {
        let metrics = Metrics::default();
        for number in 0..MAX_SITES + 5 {
            metrics.site(&number.to_string());
        }
        assert_eq!(metrics.sites().len(), MAX_SITES + 1);
        assert_eq!(metrics.site("9999").name, "other");
        assert_eq!(metrics.site("7").name, "7");
    }
}
