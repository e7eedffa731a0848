//! One rule: which robots on which paths, and what to do with them.

use std::{fmt, sync::Arc};

use crate::detect::Claim;

use super::{
    Redirect, RuleBuilder,
    condition::{Conditions, Mismatch},
    glob::FilterPattern,
    heaven::Heaven,
};

/// What a rule does with a robot.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Action {
    /// The robot's request goes on to the application.
    Pass,
    /// The robot is sent to heaven, or to the rule's own redirect URL.
    Redirect,
}

impl Action {
    /// Every action.
    pub const ALL: &'static [Self] = &[Self::Pass, Self::Redirect];

    /// Returns the word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Redirect => "redirect",
        }
    }

    /// Returns the action that a word names.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|action| action.as_str() == word)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Rule of a [`Policy`](super::Policy): conditions on robot and path, and an action.
///
/// See the [room](super#rules) for how rules, lists and defaults go together.
///
/// # Example
///
/// ```
/// use robot_detection::{
///     policy::{Action, Policy, Rule},
///     registry::Purpose,
/// };
///
/// let policy = Policy::builder()
///     .rule(
///         Rule::builder(Action::Pass)
///             .name("search engines may read the archive")
///             .paths(["/members-only-stuff/archive/*"])
///             .purposes([Purpose::Search]),
///     )
///     .rule(Rule::builder(Action::Redirect).operators(["Example Corp"]))
///     .build()?;
/// let labels: Vec<_> = policy.rules().map(|rule| rule.label()).collect();
/// assert_eq!(labels, [r#"rule "search engines may read the archive""#, "rule 2"]);
/// # Ok::<(), robot_detection::policy::PolicyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rule {
    pub(super) label: String,
    pub(super) origin: String,
    pub(super) outcome: Outcome,
    /// Its own paths; `None`: those of the filter patterns.
    pub(super) paths: Option<Vec<FilterPattern>>,
    pub(super) conditions: Conditions,
    /// The conditions, for people to read.
    pub(super) shown: Vec<String>,
}

/// Action with what it needs.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    Pass,
    Redirect(Arc<Heaven>),
}

impl Rule {
    /// Creates a builder of a rule that matches every robot on a filtered path.
    pub fn builder(action: Action) -> RuleBuilder {
        RuleBuilder::new(action)
    }

    /// Returns what reasons call it: `rule "its name"`, or `rule 2` without one.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Returns where it was set, such as `robot-detection.toml:12`; empty: in the program.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns what it does.
    #[must_use]
    pub fn action(&self) -> Action {
        match self.outcome {
            Outcome::Pass => Action::Pass,
            Outcome::Redirect(_) => Action::Redirect,
        }
    }

    /// Returns where it sends robots, if it sends them anywhere.
    #[must_use]
    pub fn redirect(&self) -> Option<&Redirect> {
        match &self.outcome {
            Outcome::Pass => None,
            Outcome::Redirect(heaven) => Some(&heaven.redirect),
        }
    }

    /// Returns its conditions for people to read; long lists are cut.
    pub fn conditions(&self) -> impl Iterator<Item = &str> {
        self.shown.iter().map(String::as_str)
    }

    /// Tells whether it is about a path in normal form.
    pub(super) fn is_about(&self, path: &[u8], is_filtered: bool) -> bool {
        match &self.paths {
            Some(paths) => paths.iter().any(|pattern| pattern.matches(path)),
            None => is_filtered,
        }
    }

    /// Tells whether it decides about every robot on its paths.
    pub(super) fn is_for_all(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Returns the first condition that does not hold, if any.
    pub(super) fn mismatch(
        &self,
        claim: &Claim<'_>,
        path: &[u8],
        is_filtered: bool,
    ) -> Option<Mismatch> {
        if self.is_about(path, is_filtered) {
            self.conditions.mismatch(claim)
        } else {
            Some(Mismatch::Path)
        }
    }

    /// Tells whether it matches all that `other` would match.
    pub(super) fn includes(&self, other: &Self) -> bool {
        let has_paths = match (&self.paths, &other.paths) {
            (None, None) => true,
            (Some(ours), Some(theirs)) => theirs
                .iter()
                .all(|path| ours.iter().any(|ours| ours.as_str() == path.as_str())),
            _ => false,
        };
        has_paths && self.conditions.include(&other.conditions)
    }
}
