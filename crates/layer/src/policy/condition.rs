//! The conditions of a rule on the robot.

use std::collections::HashSet;

use crate::detect::{Claim, Kind, NAMELESS, SigningHost, UNLISTED, Verdict};
use crate::registry::{Purpose, Source};

use super::{
    Places, Visitor, decision::NormalizedRequest, decision::quoted, sender::SenderMismatch,
};

/// The conditions of a rule on the robot, all of which must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Conditions {
    pub(super) robots: Option<RobotSet>,
    pub(super) purposes: Option<Vec<Purpose>>,
    pub(super) operators: Option<NameSet>,
    pub(super) sources: Option<Vec<Source>>,
    /// The kinds of visitors; `None` stands for robots, and for nameless visitors if `robots`
    /// includes nameless visitors.
    pub(super) visitors: Option<Vec<Kind>>,
    pub(super) verdicts: Option<Vec<Verdict>>,
}

/// The condition of a rule that does not hold for a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Mismatch {
    Path,
    Method,
    Host,
    Query,
    Person,
    Robot,
    Purpose,
    Operator,
    Source,
    Kind,
    Sender(SenderMismatch),
    /// All conditions hold except the condition on the verdict.
    Verdict,
    /// All conditions hold, but the claim is spoofed and the rule does not apply to spoofed claims.
    Spoofed,
    /// All conditions hold, but the site's load is below the threshold of the rule.
    Load,
}

impl Conditions {
    /// Returns the first condition that does not hold for the visitor, if any.
    pub(super) fn mismatch(&self, visitor: Visitor<'_>) -> Option<Mismatch> {
        let Visitor { claim, verdict, .. } = visitor;
        let robot = claim.robot();
        let fails = |holds: bool, mismatch| (!holds).then_some(mismatch);
        fails(self.is_about(visitor.kind()), Mismatch::Kind)
            .or_else(|| fails(self.robots.as_ref()?.contains(claim), Mismatch::Robot))
            .or_else(|| {
                let holds = self.purposes.as_ref()?.contains(&visitor.purpose());
                fails(holds, Mismatch::Purpose)
            })
            .or_else(|| {
                let operators = self.operators.as_ref()?;
                let operator = robot.and_then(|robot| robot.operator.as_deref());
                let holds = operator.is_some_and(|operator| operators.contains(operator));
                fails(holds, Mismatch::Operator)
            })
            .or_else(|| {
                let sources = self.sources.as_ref()?;
                let holds = robot.is_some_and(|robot| sources.contains(&robot.source));
                fails(holds, Mismatch::Source)
            })
            .or_else(|| {
                // The verdict is checked last, so that a mismatch of the verdict means that
                // everything else matches. Only then does a request wait for a verdict.
                let verdicts = self.verdicts.as_ref()?;
                let holds = !visitor.claims_nothing() && verdicts.contains(&verdict);
                fails(holds, Mismatch::Verdict)
            })
    }

    /// Returns `true` if the conditions can match visitors of the given kind.
    ///
    /// Nameless and shared visitors match only if the rule explicitly includes these visitors,
    /// because a rule about robots does not cover them.
    pub(super) fn is_about(&self, kind: Kind) -> bool {
        match (&self.visitors, &self.robots) {
            (Some(kinds), _) => kinds.contains(&kind),
            (None, Some(robots)) if kind == Kind::Nameless => robots.nameless,
            (None, _) => matches!(kind, Kind::Listed | Kind::Unlisted),
        }
    }

    /// Returns `true` if the conditions match all robots.
    pub(super) fn is_empty(&self) -> bool {
        self.name_no_robots() && self.visitors.is_none()
    }

    /// Returns `true` if there are no conditions other than on the kind of visitor.
    fn name_no_robots(&self) -> bool {
        self.robots.is_none()
            && self.purposes.is_none()
            && self.operators.is_none()
            && self.sources.is_none()
            && self.verdicts.is_none()
    }

    /// Returns `true` if the conditions match all visitors, including human and nameless visitors.
    pub(super) fn matches_all_visitors(&self) -> bool {
        self.name_no_robots() && Kind::ALL.iter().all(|kind| self.is_about(*kind))
    }

    /// Returns `true` if every visitor that matches `other` also matches these conditions.
    pub(super) fn include(&self, other: &Self) -> bool {
        includes(
            self.robots.as_ref(),
            other.robots.as_ref(),
            RobotSet::includes,
        ) && includes(self.purposes.as_deref(), other.purposes.as_deref(), has_all)
            && includes(
                self.operators.as_ref(),
                other.operators.as_ref(),
                NameSet::includes,
            )
            && includes(self.sources.as_deref(), other.sources.as_deref(), has_all)
            && Kind::ALL
                .iter()
                .all(|kind| self.is_about(*kind) || !other.is_about(*kind))
            && includes(self.verdicts.as_deref(), other.verdicts.as_deref(), has_all)
    }

    /// Returns `true` if the conditions select robots without considering the verdict.
    pub(super) fn ignore_verdicts(&self) -> bool {
        !self.is_empty() && self.verdicts.is_none()
    }

    /// Returns the key of a condition that contradicts another condition, with the reason.
    pub(super) fn contradiction(&self) -> Option<(&'static str, &'static str)> {
        let robots = self.robots.as_ref();
        let named =
            |kind: &Kind| self.is_about(*kind) && robots.is_none_or(|robots| robots.may_be(*kind));
        let kinds = Kind::ALL.iter().copied();
        let is_about_people = named(&Kind::Person);
        let mut named = kinds.filter(|kind| *kind != Kind::Person && named(kind));
        let (first, has_more) = (named.next(), named.next().is_some());
        if first.is_none() && is_about_people {
            return self.claimless_contradiction();
        }
        if first.is_none() && self.visitors.is_some() {
            return Some((
                "visitors",
                "the robots setting lists no robot of these kinds",
            ));
        }
        if matches!(first, Some(Kind::Nameless | Kind::Shared)) {
            // Only these two kinds remain.
            return self.claimless_contradiction();
        }
        let are_unlisted = robots.is_some_and(|robots| robots.ids.is_empty())
            || first == Some(Kind::Unlisted) && !has_more;
        if !are_unlisted {
            None
        } else if self
            .verdicts
            .as_ref()
            .is_some_and(|verdicts| !verdicts.contains(&Verdict::Unverifiable))
        {
            Some(("verdicts", "an unlisted robot is always unverifiable"))
        } else if self.operators.is_some() {
            Some(("operators", "the operator of an unlisted robot is unknown"))
        } else if self.sources.is_some() {
            Some(("sources", "an unlisted robot has no source"))
        } else {
            None
        }
    }
}

impl Conditions {
    /// Returns a condition that never holds for visitors without a claim, with the reason.
    fn claimless_contradiction(&self) -> Option<(&'static str, &'static str)> {
        let is_about_people = self.is_about(Kind::Shared) || self.is_about(Kind::Person);
        if self.verdicts.is_some() {
            let reason = "human and nameless visitors have no claim to verify";
            Some(("verdicts", reason))
        } else if self.operators.is_some() {
            let reason = "human and nameless visitors have no operator";
            Some(("operators", reason))
        } else if self.sources.is_some() {
            Some(("sources", "human and nameless visitors have no source"))
        } else if self.purposes.is_some() && is_about_people && !self.is_about(Kind::Nameless) {
            Some(("purposes", "human visitors have no purpose"))
        } else {
            None
        }
    }
}

impl Mismatch {
    /// Returns a clause that explains why the request does not meet the conditions.
    pub(super) fn reason(
        self,
        asked: &NormalizedRequest<'_>,
        visitor: Option<Visitor<'_>>,
        places: &Places,
    ) -> String {
        if let Self::Sender(mismatch) = self {
            return mismatch.reason(visitor.map(|visitor| visitor.sender), places);
        }
        let Some(Visitor { claim, verdict, .. }) = visitor else {
            return self.request_mismatch(asked);
        };
        let robot = claim.robot();
        match self {
            Self::Path
            | Self::Method
            | Self::Host
            | Self::Query
            | Self::Person
            | Self::Sender(_) => self.request_mismatch(asked),
            Self::Robot => format!("the robot is {}", quoted(claim.id().as_bytes())),
            Self::Purpose => format!("the purpose is {}", claim.purpose()),
            Self::Operator => match robot.and_then(|robot| robot.operator.as_deref()) {
                Some(operator) => format!("the operator is {}", quoted(operator.as_bytes())),
                None => "the operator is unknown".to_owned(),
            },
            Self::Source => match robot {
                Some(robot) => format!("the source is {}", robot.source),
                None => "no source lists the robot".to_owned(),
            },
            Self::Kind => match claim.kind() {
                Kind::Person => "the rule does not apply to people".to_owned(),
                kind @ (Kind::Nameless | Kind::Shared) => {
                    format!("the rule does not apply to {kind} visitors")
                }
                kind => format!("the robot is {kind}"),
            },
            Self::Verdict => match claim.kind() {
                kind @ (Kind::Nameless | Kind::Shared) => {
                    format!("a {kind} visitor has no verdict")
                }
                _ => format!("the verdict is {verdict}"),
            },
            Self::Spoofed => {
                "the claim is spoofed, and the rule does not include spoofed claims".to_owned()
            }
            Self::Load => "the site's load is below the rule's threshold".to_owned(),
        }
    }

    fn request_mismatch(self, asked: &NormalizedRequest<'_>) -> String {
        match self {
            Self::Path => "the rule's paths do not match".to_owned(),
            Self::Method => format!("the method is {}", quoted(asked.method.as_bytes())),
            Self::Host => match asked.host {
                Some(host) => format!("the host is {}", quoted(host.as_bytes())),
                None => "the request has no host".to_owned(),
            },
            Self::Query => "the rule's conditions on the query do not hold".to_owned(),
            _ => "the User-Agent does not belong to a known robot".to_owned(),
        }
    }
}

/// A set of robot IDs, optionally including all unlisted robots and nameless visitors.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RobotSet {
    ids: HashSet<Box<str>>,
    unlisted: bool,
    nameless: bool,
}

impl RobotSet {
    /// Creates a set of robots. Spaces around IDs and empty IDs are ignored.
    pub(super) fn new(ids: &[String]) -> Self {
        let ids = ids.iter().map(|id| id.trim());
        let mut ids: HashSet<Box<str>> = ids.filter(|id| !id.is_empty()).map(Box::from).collect();
        // A listed robot with this ID does not count as unlisted.
        let unlisted = ids.remove(UNLISTED);
        let nameless = ids.remove(NAMELESS);
        Self {
            ids,
            unlisted,
            nameless,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ids.is_empty() && !self.unlisted && !self.nameless
    }

    /// Returns the IDs of the listed robots in the set.
    pub(super) fn listed(&self) -> impl Iterator<Item = &str> {
        let ids = self.ids.iter().map(|id| &**id);
        // The host of a robot that signs its requests need not be in the registry.
        ids.filter(|id| SigningHost::new(id).is_none())
    }

    pub(super) fn contains(&self, claim: &Claim<'_>) -> bool {
        match claim {
            Claim::Listed(listed) => self.ids.contains(listed.robot.id.as_str()),
            Claim::Unlisted(_) => self.unlisted,
            Claim::Signed(signed) => {
                let host = signed.signer.as_ref().and_then(SigningHost::host);
                self.unlisted || host.is_some_and(|host| self.ids.contains(host))
            }
            Claim::Nameless => self.nameless,
            // Neither of these visitors is a robot.
            Claim::Shared(_) | Claim::Person => false,
        }
    }

    /// Returns `true` if the set may contain visitors of the given kind.
    fn may_be(&self, kind: Kind) -> bool {
        match kind {
            Kind::Unlisted => self.unlisted || self.names_signers(),
            Kind::Nameless => self.nameless,
            Kind::Person | Kind::Shared => false,
            Kind::Listed => !self.ids.is_empty(),
        }
    }

    /// Returns `true` if any of the IDs may be the host of a robot that signs its requests.
    fn names_signers(&self) -> bool {
        self.ids.iter().any(|id| SigningHost::new(id).is_some())
    }

    fn includes(&self, other: &Self) -> bool {
        self.ids.is_superset(&other.ids)
            && (self.unlisted || !other.unlisted)
            && (self.nameless || !other.nameless)
    }
}

/// A case-insensitive set of names.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct NameSet {
    /// The names in lower case, sorted.
    names: Vec<Box<str>>,
}

impl NameSet {
    /// Creates a set of names. Spaces around names and empty names are ignored.
    pub(super) fn new(names: &[String]) -> Self {
        let names = names.iter().map(|name| name.trim());
        let mut names: Vec<Box<str>> = names
            .filter(|name| !name.is_empty())
            .map(|name| lower(name).collect::<String>().into())
            .collect();
        names.sort_unstable();
        names.dedup();
        Self { names }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns `true` if the set contains a name; does not allocate.
    pub(super) fn contains(&self, name: &str) -> bool {
        self.names
            .binary_search_by(|known| known.chars().cmp(lower(name.trim())))
            .is_ok()
    }

    fn includes(&self, other: &Self) -> bool {
        let mut theirs = other.names.iter();
        theirs.all(|name| self.names.binary_search(name).is_ok())
    }
}

fn lower(name: &str) -> impl Iterator<Item = char> {
    name.chars().flat_map(char::to_lowercase)
}

/// Returns `true` if one condition includes another. An unset condition includes all conditions.
fn includes<T: ?Sized>(
    ours: Option<&T>,
    theirs: Option<&T>,
    holds: impl Fn(&T, &T) -> bool,
) -> bool {
    match (ours, theirs) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(ours), Some(theirs)) => holds(ours, theirs),
    }
}

fn has_all<T: PartialEq>(ours: &[T], theirs: &[T]) -> bool {
    theirs.iter().all(|item| ours.contains(item))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(items: &[&str]) -> Vec<String> {
        items.iter().map(|&item| item.to_owned()).collect()
    }

    #[test]
    fn names_are_found_in_any_case_and_script() {
        let names = NameSet::new(&texts(&["Google ", "ÖKO", "google", "яндекс", " "]));
        for name in ["GOOGLE", "google", "Öko", "öKO", "ЯНДЕКС", " Google"] {
            assert!(names.contains(name), "{name}");
        }
        for name in ["", "Goog", "Google LLC", "oko"] {
            assert!(!names.contains(name), "{name}");
        }
    }

    #[test]
    fn a_set_of_blanks_is_empty() {
        assert!(RobotSet::new(&texts(&["", " "])).is_empty());
        assert!(!RobotSet::new(&texts(&["unlisted"])).is_empty());
        assert!(NameSet::new(&texts(&[" "])).is_empty());
    }

    #[test]
    fn wider_conditions_include_narrower_ones() {
        let robots = |ids: &[&str]| Conditions {
            robots: Some(RobotSet::new(&texts(ids))),
            ..Conditions::default()
        };
        let any = Conditions::default();
        assert!(any.include(&robots(&["a"])));
        assert!(!robots(&["a"]).include(&any));
        assert!(robots(&["a", "b", "unlisted"]).include(&robots(&["b"])));
        assert!(!robots(&["a"]).include(&robots(&["a", "unlisted"])));
        let narrower = Conditions {
            purposes: Some(vec![Purpose::Seo]),
            visitors: Some(vec![Kind::Listed]),
            ..robots(&["a"])
        };
        assert!(robots(&["a"]).include(&narrower));
        assert!(!narrower.include(&robots(&["a"])));
    }
}
