//! Which requests figures are about.

use robot_detection_layer::detect::{Kind, Verdict};
use robot_detection_layer::policy::Action;
use robot_detection_store::store::TrafficKey;

use super::figures::{KnownRobots, names_robot, status_word};

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
    #[must_use]
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
#[must_use]
pub fn is_spared(decision: &str) -> bool {
    let mut others = Action::ALL.iter().filter(|action| **action != Action::Pass);
    others.any(|action| action.as_str() == decision)
}

/// Returns every word for a verdict.
#[must_use]
pub fn verdict_words() -> Vec<&'static str> {
    let words = Verdict::ALL.iter().map(|verdict| verdict.as_str());
    // Where nothing is claimed, or nobody proves claims.
    words.chain(["none"]).collect()
}

/// Returns every word for what was done, or would have been, and the one for all that spares.
#[must_use]
pub fn decision_words() -> Vec<&'static str> {
    let done = Action::ALL.iter().map(|action| action.words().word);
    let would = Action::ALL.iter().filter(|action| **action != Action::Pass);
    let words = done.chain(would.map(|action| action.words().would));
    words.chain([SPARED]).collect()
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
