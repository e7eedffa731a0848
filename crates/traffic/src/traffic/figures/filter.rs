//! Which requests figures are about.

use std::ops::Range;

use super::{
    Moment,
    figures::{KnownRobots, names_robot, status_word},
};
use robot_detection_layer::{
    detect::{Kind, Verdict},
    policy::Action,
};
use robot_detection_store::store::{Store, StoreError, TrafficKey, TrafficSpan};

/// Word for robots whose operator or purpose is not known.
pub const NONE_KNOWN: &str = "-";

/// Word for whatever was done with requests so that the server behind did not see them.
pub const SPARED: &str = "spared";

/// Words for visitors, and the kinds that each stands for.
pub const VISITORS: &[(&str, &[Kind])] = &[
    ("people", Kind::PEOPLE),
    ("robots", Kind::ROBOTS),
    ("person", &[Kind::Person]),
    ("shared", &[Kind::Shared]),
    ("listed", &[Kind::Listed]),
    ("unlisted", &[Kind::Unlisted]),
    ("nameless", &[Kind::Nameless]),
];

/// What requests have to have in common; of what is `None`, anything.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TrafficFilter {
    /// One of [`VISITORS`].
    pub visitors: Option<String>,
    /// Name of a site.
    pub site: Option<String>,
    /// Id of the robot.
    pub robot: Option<String>,
    /// Company or project.
    pub operator: Option<String>,
    /// Word of a purpose.
    pub purpose: Option<String>,
    /// Word of a verdict.
    pub verdict: Option<String>,
    /// Word of a decision.
    pub decision: Option<String>,
    /// Cause of the decision.
    pub cause: Option<String>,
    /// Class of the status, such as `2xx`.
    pub status: Option<String>,
}

impl TrafficFilter {
    /// Returns `true` if nothing is left out.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn matches(&self, key: &TrafficKey, robots: &KnownRobots<'_>) -> bool {
        let is = |wanted: &Option<String>, found: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == found)
        };
        // Only a robot with a name has an operator or a purpose, be it one that is not known.
        let is_of = |wanted: &Option<String>, found: Option<&str>| {
            let found = found.unwrap_or(NONE_KNOWN);
            wanted.is_none() || (names_robot(key) && is(wanted, found))
        };
        let robot = robots.of(key);
        self.matches_visitors(&key.kind)
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
            Some(SPARED) => is_spared(decision),
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

/// Returns `true` if a request was not passed on: what would have been done in a dry run was not.
pub fn is_spared(decision: &str) -> bool {
    let mut others = Action::ALL.iter().filter(|action| **action != Action::Pass);
    others.any(|action| action.as_str() == decision)
}

/// Returns every word for a verdict.
pub fn verdict_words() -> Vec<&'static str> {
    let words = Verdict::ALL.iter().map(|verdict| verdict.as_str());
    // Where nothing is claimed, or nobody proves claims.
    words.chain(["none"]).collect()
}

/// Returns every word for what was done, or would have been, and the one for all that spares.
pub fn decision_words() -> Vec<&'static str> {
    let done = Action::ALL.iter().map(|action| action.words().word);
    let would = Action::ALL.iter().filter(|action| **action != Action::Pass);
    let words = done.chain(would.map(|action| action.words().would));
    words.chain([SPARED]).collect()
}

const MINUTE_MS: i64 = 60_000;

/// Time that is asked about: since when, and until when if not now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Times {
    /// Start.
    pub since: Moment,
    /// End, exclusive; `None` means now.
    pub until: Option<Moment>,
}

/// Reason why a time has no minutes.
#[derive(Debug, thiserror::Error)]
pub enum TimesError {
    /// The end is before the beginning.
    #[error("since is later than until: nothing is between them")]
    Backwards,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Times {
    /// Returns the minutes since 1970, as far as anything was counted of them.
    ///
    /// # Errors
    ///
    /// Fails if the end is before the beginning, or if the database does.
    pub async fn minutes(self, store: &Store, now_ms: i64) -> Result<Range<i64>, TimesError> {
        let first = store.traffic().first_day().await?;
        self.within(first, now_ms).ok_or(TimesError::Backwards)
    }

    /// Returns them where the first day of which anything was counted is known; `None` where
    /// since is later than until.
    pub fn within(self, first: Option<i64>, now_ms: i64) -> Option<Range<i64>> {
        // The minute that has begun is counted too.
        let now = now_ms.div_euclid(MINUTE_MS) + 1;
        let first = first.unwrap_or(now);
        let until = self.until.map_or(now, |until| until.minute(now, first));
        let since = self.since.minute(now, first.min(until));
        // Nothing was counted before; who asks for the year 1970 waits for no half a million pieces.
        let bounded = |minute: i64| minute.clamp(first.min(now), now);
        (since <= until).then(|| bounded(since)..bounded(until))
    }
}

/// Returns the minutes that are told of, which grow where only whole hours or days are kept.
pub fn told(minutes: &Range<i64>, now_ms: i64) -> Range<i64> {
    let pieces = TrafficSpan::cover(minutes.clone(), now_ms.div_euclid(MINUTE_MS));
    TrafficSpan::covered(&pieces).unwrap_or(minutes.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use robot_detection_layer::detect::Detector;

    #[test]
    fn people_have_no_operator_be_it_an_unknown_one() {
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
