//! Filters for traffic figures.

use std::ops::Range;

use super::{
    Class, Moment,
    figures::{KnownRobots, names_robot, status_word},
};
use robot_detection_layer::{
    detect::{Kind, Verdict},
    policy::Action,
};
use robot_detection_store::store::{Store, StoreError, TrafficKey, TrafficSpan};

/// The word for an unknown operator or purpose.
pub const NONE_KNOWN: &str = "-";

/// The word for all decisions that keep a request from reaching the upstream.
pub const KEPT_FROM_UPSTREAM: &str = "spared";

/// The words for groups of visitors, each with the kinds of visitors in the group.
pub const VISITORS: &[(&str, &[Kind])] = &[
    ("people", Kind::PEOPLE),
    ("robots", Kind::ROBOTS),
    ("person", &[Kind::Person]),
    ("shared", &[Kind::Shared]),
    ("listed", &[Kind::Listed]),
    ("unlisted", &[Kind::Unlisted]),
    ("nameless", &[Kind::Nameless]),
];

/// Conditions that requests must meet; a condition of `None` matches all requests.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TrafficFilter {
    /// Kinds of visitors, specified by a word from [`VISITORS`].
    pub visitors: Option<String>,
    /// Class of the requests, specified by a word of [`Class`].
    pub class: Option<String>,
    /// Name of the site.
    pub site: Option<String>,
    /// ID of the robot.
    pub robot: Option<String>,
    /// Operator of the robot, which is a company or project.
    pub operator: Option<String>,
    /// Purpose of the robot.
    pub purpose: Option<String>,
    /// Verdict on the robot's claim.
    pub verdict: Option<String>,
    /// Decision on the request, or [`KEPT_FROM_UPSTREAM`].
    pub decision: Option<String>,
    /// Cause of the decision.
    pub cause: Option<String>,
    /// Status class, such as `2xx`.
    pub status: Option<String>,
}

impl TrafficFilter {
    /// Returns `true` if the filter matches all requests.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn matches(&self, key: &TrafficKey, robots: &KnownRobots<'_>) -> bool {
        let is = |wanted: &Option<String>, found: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == found)
        };
        // Only listed and unlisted robots have an operator and a purpose, which may be unknown.
        let is_of = |wanted: &Option<String>, found: Option<&str>| {
            let found = found.unwrap_or(NONE_KNOWN);
            wanted.is_none() || (names_robot(key) && is(wanted, found))
        };
        let robot = robots.for_key(key);
        let class = || Class::for_key(key, robots).as_str();
        self.matches_visitors(&key.kind)
            && (self.class.is_none() || is(&self.class, class()))
            && is(&self.site, &key.site)
            && is(&self.robot, &key.robot)
            && is(&self.verdict, &key.verdict)
            && self.matches_decision(&key.decision)
            && is(&self.cause, &key.cause)
            && is(&self.status, status_word(key.status))
            && is_of(
                &self.operator,
                robot.and_then(|robot| robot.operator.as_deref()),
            )
            && is_of(&self.purpose, robot.map(|robot| robot.purpose.as_str()))
    }

    fn matches_decision(&self, decision: &str) -> bool {
        match self.decision.as_deref() {
            None => true,
            Some(KEPT_FROM_UPSTREAM) => is_spared(decision),
            Some(wanted) => wanted == decision,
        }
    }

    fn matches_visitors(&self, kind: &str) -> bool {
        let Some(wanted) = &self.visitors else {
            return true;
        };
        let found = VISITORS.iter().find(|(word, _)| word == wanted);
        found.is_some_and(|(_, kinds)| kinds.iter().any(|of| of.as_str() == kind))
    }
}

/// Returns `true` if a decision kept requests from reaching the upstream; `false` for dry-run
/// decisions.
pub fn is_spared(decision: &str) -> bool {
    let mut others = Action::ALL.iter().filter(|action| **action != Action::Pass);
    others.any(|action| action.as_str() == decision)
}

/// Returns all words for verdicts, including `none`.
pub fn verdict_words() -> Vec<&'static str> {
    let words = Verdict::ALL.iter().map(|verdict| verdict.as_str());
    // This word stands for requests without a claim or without verification.
    words.chain(["none"]).collect()
}

/// Returns all words for decisions, including dry-run decisions and [`KEPT_FROM_UPSTREAM`].
pub fn decision_words() -> Vec<&'static str> {
    let done = Action::ALL.iter().map(|action| action.words().word);
    let would = Action::ALL.iter().filter(|action| **action != Action::Pass);
    let words = done.chain(would.map(|action| action.words().would));
    words.chain([KEPT_FROM_UPSTREAM]).collect()
}

const MINUTE_MS: i64 = 60_000;

/// The start and end of the reported period.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TimeRange {
    /// Start of the period.
    pub since: Moment,
    /// End of the period, exclusive; `None` means now.
    pub until: Option<Moment>,
}

/// The error for an invalid period.
#[derive(Debug, thiserror::Error)]
pub enum TimesError {
    /// The end of the period is before its start.
    #[error("--since must not be later than --until")]
    Backwards,
    /// The database query failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl TimeRange {
    /// Returns the period in minutes since 1970, limited to the time for which counts are stored.
    ///
    /// # Errors
    ///
    /// Returns an error if the end is before the start, or if the database query fails.
    pub async fn minutes(self, store: &Store, now_ms: i64) -> Result<Range<i64>, TimesError> {
        let first = store.traffic().first_day().await?;
        self.within(first, now_ms).ok_or(TimesError::Backwards)
    }

    /// Returns the period in minutes since 1970; `first` is the first day that has counts. Returns
    /// `None` if `since` is later than `until`.
    pub fn within(self, first: Option<i64>, now_ms: i64) -> Option<Range<i64>> {
        // The current minute is included.
        let now = now_ms.div_euclid(MINUTE_MS) + 1;
        let first = first.unwrap_or(now);
        let until = self.until.map_or(now, |until| until.minute(now, first));
        let since = self.since.minute(now, first.min(until));
        // The period is limited to minutes that have counts, so that a period since 1970 is not
        // slow.
        let bounded = |minute: i64| minute.clamp(first.min(now), now);
        (since <= until).then(|| bounded(since)..bounded(until))
    }
}

/// Returns the reported period, extended to whole hours or days if counts are stored only by hour
/// or day.
pub fn reported_range(minutes: &Range<i64>, now_ms: i64) -> Range<i64> {
    let pieces = TrafficSpan::cover(minutes.clone(), now_ms.div_euclid(MINUTE_MS));
    TrafficSpan::covered(&pieces).unwrap_or(minutes.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use robot_detection_layer::detect::Detector;

    #[test]
    fn people_have_no_operator_not_even_an_unknown_one() {
        let detector = Detector::new([]).unwrap();
        let robots = KnownRobots::new(&detector);
        let key = |kind: Kind| TrafficKey {
            kind: kind.as_str().to_owned(),
            status: 2,
            ..TrafficKey::default()
        };
        let unknown = TrafficFilter {
            operator: Some(NONE_KNOWN.to_owned()),
            ..TrafficFilter::default()
        };
        assert!(unknown.matches(&key(Kind::Unlisted), &robots));
        assert!(!unknown.matches(&key(Kind::Person), &robots));
        let people = TrafficFilter {
            visitors: Some("people".to_owned()),
            ..TrafficFilter::default()
        };
        assert!(people.matches(&key(Kind::Shared), &robots));
        assert!(!people.matches(&key(Kind::Nameless), &robots));
        assert!(TrafficFilter::default().matches(&key(Kind::Nameless), &robots));
    }
}
