//! From settings to a rule.

use std::sync::Arc;

use crate::registry::{Purpose, Source};

use super::{
    Action, PolicyError, Rule,
    condition::{Conditions, NameSet, RobotSet},
    glob::{FilterPattern, parse_patterns},
    heaven::Heaven,
    rule::Outcome,
};

/// Values of a condition that are shown; of others, how many there are.
const SHOWN: usize = 8;

/// Builder of a [`Rule`]; nothing is checked before the policy is built.
///
/// Each condition is a list of which one value has to fit; all conditions that
/// are set have to hold. An empty list is an error, as the rule would never match.
#[derive(Clone, Debug)]
#[must_use]
pub struct RuleBuilder {
    action: Action,
    name: String,
    origin: String,
    redirect_url: Option<String>,
    paths: Option<Vec<String>>,
    robots: Option<Vec<String>>,
    purposes: Option<Vec<Purpose>>,
    operators: Option<Vec<String>>,
    sources: Option<Vec<Source>>,
    unlisted: Option<bool>,
}

impl RuleBuilder {
    pub(super) fn new(action: Action) -> Self {
        Self {
            action,
            name: String::new(),
            origin: String::new(),
            redirect_url: None,
            paths: None,
            robots: None,
            purposes: None,
            operators: None,
            sources: None,
            unlisted: None,
        }
    }

    /// Names the rule in reasons; by default it is called by its number.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Says where it was set, for reasons; such as `robot-detection.toml:12`.
    pub fn origin(mut self, origin: impl Into<String>) -> Self {
        self.origin = origin.into();
        self
    }

    /// Sets the paths: globs as filter patterns are; by default the filter patterns.
    ///
    /// These paths stand for themselves: they need not be filtered otherwise.
    pub fn paths<S: AsRef<str>>(mut self, patterns: impl IntoIterator<Item = S>) -> Self {
        self.paths = Some(owned(patterns));
        self
    }

    /// Sets the robots by their ids; `unlisted` stands for all that are not listed.
    ///
    /// An id that no registry has is no error: a refresh may bring it.
    pub fn robots<S: AsRef<str>>(mut self, ids: impl IntoIterator<Item = S>) -> Self {
        self.robots = Some(owned(ids));
        self
    }

    /// Sets what the robots are for.
    pub fn purposes(mut self, purposes: impl IntoIterator<Item = Purpose>) -> Self {
        self.purposes = Some(purposes.into_iter().collect());
        self
    }

    /// Sets who operates the robots, in upper or lower case.
    pub fn operators<S: AsRef<str>>(mut self, operators: impl IntoIterator<Item = S>) -> Self {
        self.operators = Some(owned(operators));
        self
    }

    /// Sets the registries that the robots come from.
    pub fn sources(mut self, sources: impl IntoIterator<Item = Source>) -> Self {
        self.sources = Some(sources.into_iter().collect());
        self
    }

    /// Sets that only unlisted robots match, or with `false` only listed ones.
    pub fn unlisted(mut self, unlisted: bool) -> Self {
        self.unlisted = Some(unlisted);
        self
    }

    /// Sets where a rule that redirects sends robots; by default where the policy does.
    ///
    /// What is refused there is refused here; see
    /// [`PolicyBuilder::redirect_url`](super::PolicyBuilder::redirect_url).
    pub fn redirect_url(mut self, url: impl Into<String>) -> Self {
        self.redirect_url = Some(url.into());
        self
    }

    /// Builds the rule; `place` finds the heaven of a URL, or of none the policy's.
    pub(super) fn build(
        self,
        number: usize,
        place: impl FnOnce(Option<&str>) -> Result<Arc<Heaven>, String>,
    ) -> Result<Rule, PolicyError> {
        let refuse = |key, reason| PolicyError::Rule {
            number,
            key,
            reason,
        };
        let paths = self
            .paths
            .as_deref()
            .map(parse_patterns)
            .transpose()
            .map_err(|(pattern, reason)| refuse("path", format!("{pattern:?}: {reason}")))?;
        let conditions = Conditions {
            robots: self.robots.as_deref().map(RobotSet::new),
            purposes: self.purposes.clone(),
            operators: self.operators.as_deref().map(NameSet::new),
            sources: self.sources.clone(),
            unlisted: self.unlisted,
        };
        if let Some(key) = empty_list(paths.as_deref(), &conditions) {
            let reason =
                "the list is empty, so that the rule never matches; name some or leave it out";
            return Err(refuse(key, reason.to_owned()));
        }
        if let Some((key, reason)) = conditions.contradiction() {
            return Err(refuse(
                key,
                format!("{reason}, so that the rule never matches"),
            ));
        }
        let outcome = match (self.action, self.redirect_url.as_deref()) {
            (Action::Pass, None) => Outcome::Pass,
            (Action::Pass, Some(_)) => {
                let reason =
                    "the action is pass, so that nobody is sent there; leave it out or redirect";
                return Err(refuse("redirect_url", reason.to_owned()));
            }
            (Action::Redirect, url) => {
                Outcome::Redirect(place(url).map_err(|reason| refuse("redirect_url", reason))?)
            }
        };
        Ok(Rule {
            label: self.label(number),
            shown: self.shown(paths.as_deref()),
            origin: self.origin,
            outcome,
            paths,
            conditions,
        })
    }

    /// Returns its name, if it has one.
    pub(super) fn own_name(&self) -> Option<&str> {
        Some(self.name.trim()).filter(|name| !name.is_empty())
    }

    fn label(&self, number: usize) -> String {
        match self.own_name() {
            Some(name) => format!("rule {name:?}"),
            None => format!("rule {number}"),
        }
    }

    fn shown(&self, paths: Option<&[FilterPattern]>) -> Vec<String> {
        let paths = paths.map(|paths| paths.iter().map(FilterPattern::as_str));
        let purposes = self
            .purposes
            .iter()
            .flatten()
            .map(|purpose| purpose.as_str());
        let sources = self.sources.iter().flatten().map(Source::as_str);
        let unlisted = self.unlisted.map(|unlisted| {
            let which = if unlisted { "unlisted" } else { "listed" };
            format!("{which} robots only")
        });
        [
            listed("path", paths.into_iter().flatten()),
            listed("robots", texts(self.robots.as_ref())),
            listed("purposes", purposes),
            listed("operators", texts(self.operators.as_ref())),
            listed("sources", sources),
            unlisted,
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

pub(super) fn owned<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> Vec<String> {
    items
        .into_iter()
        .map(|item| item.as_ref().to_owned())
        .collect()
}

pub(super) fn texts(items: Option<&Vec<String>>) -> impl Iterator<Item = &str> {
    items
        .into_iter()
        .flatten()
        .map(|item| item.trim())
        .filter(|item| !item.is_empty())
}

/// Returns the key of a condition whose list is empty.
pub(super) fn empty_list(
    paths: Option<&[FilterPattern]>,
    conditions: &Conditions,
) -> Option<&'static str> {
    let Conditions {
        robots,
        purposes,
        operators,
        sources,
        unlisted: _,
    } = conditions;
    [
        ("path", paths.is_some_and(<[_]>::is_empty)),
        ("robots", robots.as_ref().is_some_and(RobotSet::is_empty)),
        ("purposes", purposes.as_ref().is_some_and(Vec::is_empty)),
        (
            "operators",
            operators.as_ref().is_some_and(NameSet::is_empty),
        ),
        ("sources", sources.as_ref().is_some_and(Vec::is_empty)),
    ]
    .into_iter()
    .find_map(|(key, is_empty)| is_empty.then_some(key))
}

/// Returns "robots a, b and 9 more", nothing for an empty list.
pub(super) fn listed<'i>(what: &str, items: impl Iterator<Item = &'i str>) -> Option<String> {
    let mut items = items.peekable();
    items.peek()?;
    let first: Vec<_> = items.by_ref().take(SHOWN).collect();
    let first = first.join(", ");
    Some(match items.count() {
        0 => format!("{what} {first}"),
        more => format!("{what} {first} and {more} more"),
    })
}
