//! Live rules as pages and JSON show them.

use serde::Serialize;

use super::super::{moment::Moment, state::AdminState};
use crate::live_rules::{About, KeptRule, RuleFields};
use crate::registry::Robot;

/// Live rule in force.
#[derive(Clone, Debug, Serialize)]
pub(in crate::admin) struct LiveRuleView {
    pub(in crate::admin) id: i64,
    /// Its label in reasons.
    pub(in crate::admin) rule: String,
    /// What it does, in words.
    pub(in crate::admin) does: String,
    pub(in crate::admin) definition: RuleFields,
    /// `None`: it lasts.
    pub(in crate::admin) ends: Option<Moment>,
    pub(in crate::admin) made: Moment,
    pub(in crate::admin) by: String,
    /// What has become of what it names: sentences.
    pub(in crate::admin) notes: Vec<String>,
}

impl LiveRuleView {
    /// Returns all, the oldest first.
    pub(in crate::admin) fn all(state: &AdminState) -> Vec<Self> {
        Self::some(state, |_| true)
    }

    /// Returns those that are about a robot, by name or with others.
    pub(in crate::admin) fn about(state: &AdminState, robot: &Robot) -> Vec<Self> {
        Self::some(state, |about| about.is_about(robot))
    }

    fn some(state: &AdminState, is_asked: impl Fn(&About) -> bool) -> Vec<Self> {
        let set = state.admin().live_rules.load();
        let asked = set.rules.iter().filter(|kept| is_asked(&kept.rule.about));
        asked.map(|kept| Self::new(kept, state)).collect()
    }

    fn new(kept: &KeptRule, state: &AdminState) -> Self {
        let now_ms = state.now_ms();
        Self {
            id: kept.id,
            rule: kept.label(),
            does: kept.rule.to_string(),
            definition: RuleFields::from(&kept.rule),
            ends: kept.ends_ms.map(|ends_ms| Moment::new(ends_ms, now_ms)),
            made: Moment::new(kept.created_ms, now_ms),
            by: kept.created_by.clone(),
            notes: notes(kept, state),
        }
    }
}

/// Returns why a rule does less than it says.
fn notes(kept: &KeptRule, state: &AdminState) -> Vec<String> {
    let mut notes = Vec::new();
    let detector = state.admin().detector.load();
    let about = &kept.rule.about;
    let is_named = matches!(about, About::Robot(_) | About::Operator(_));
    if is_named && !detector.robots().iter().any(|robot| about.is_about(robot)) {
        notes.push("No registry lists what it is about any more.".to_owned());
    }
    let sites = state.site_policies();
    if let Some(site) = &kept.rule.site
        && !sites.iter().any(|(name, _)| name == site)
    {
        notes.push("There is no such site any more: it is judged nowhere.".to_owned());
    }
    let label = kept.label();
    for (site, policy) in sites {
        let policy = policy.load();
        let left_out = policy.left_out().iter();
        for left in left_out.filter(|left| left.label == label) {
            notes.push(format!("Left out on the site {site}: {}.", left.reason));
        }
    }
    notes
}
