//! Rules and headers, as the pages and their JSON show them.

use serde::Serialize;

use crate::policy::{Policy, Rule, TagRule};

/// Rule in force.
#[derive(Clone, Debug, Serialize)]
pub(super) struct RuleView {
    /// What reasons call it: `rule "its name"`, or `rule 2`.
    pub(super) rule: String,
    /// All of these have to hold; none: every robot on a filtered path.
    pub(super) conditions: Vec<String>,
    /// "pass" or "redirect".
    pub(super) action: &'static str,
    pub(super) location: Option<String>,
    /// Place in the configuration; empty: set by the program.
    pub(super) origin: String,
}

impl RuleView {
    /// Returns the rules in the order in which they are asked.
    pub(super) fn all(policy: &Policy) -> Vec<Self> {
        policy.rules().map(Self::new).collect()
    }

    fn new(rule: &Rule) -> Self {
        let redirect = rule.redirect();
        Self {
            rule: rule.label().to_owned(),
            conditions: rule.conditions().map(str::to_owned).collect(),
            action: rule.action().as_str(),
            location: redirect.map(|redirect| redirect.location.clone()),
            origin: rule.origin().to_owned(),
        }
    }
}

/// `X-Robots-Tag` header in force.
#[derive(Clone, Debug, Serialize)]
pub(super) struct TagRuleView {
    pub(super) value: String,
    /// All of these have to hold; none: every response.
    pub(super) conditions: Vec<String>,
    /// Place in the configuration; empty: set by the program.
    pub(super) origin: String,
}

impl TagRuleView {
    /// Returns the headers in the order of the settings.
    pub(super) fn all(policy: &Policy) -> Vec<Self> {
        policy.tag_rules().map(Self::new).collect()
    }

    fn new(rule: &TagRule) -> Self {
        Self {
            value: rule.value().to_owned(),
            conditions: rule.conditions().map(str::to_owned).collect(),
            origin: rule.origin().to_owned(),
        }
    }
}
