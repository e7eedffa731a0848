//! Live rules as pages and JSON show them.

use schemars::JsonSchema;
use serde::Serialize;

use super::super::{Moment, state::AdminState};
use robot_detection_layer::registry::Robot;
use robot_detection_operations::live_rules::{About, KeptRule, RuleFields};

/// Live rule in force.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct LiveRuleView {
    pub(crate) id: i64,
    /// Its label in reasons.
    pub(crate) rule: String,
    /// What it does, in words.
    pub(crate) does: String,
    pub(crate) definition: RuleFields,
    /// `None`: it lasts.
    pub(crate) ends: Option<Moment>,
    pub(crate) made: Moment,
    pub(crate) by: String,
    /// What has become of what it names: sentences.
    pub(crate) notes: Vec<String>,
}

impl LiveRuleView {
    /// Returns all, the oldest first.
    pub(crate) fn all(state: &AdminState) -> Vec<Self> {
        Self::some(state, |_| true)
    }

    /// Returns those that are about a robot, by name or with others.
    pub(crate) fn about(state: &AdminState, robot: &Robot) -> Vec<Self> {
        Self::some(state, |about| about.is_about(robot))
    }

    fn some(state: &AdminState, is_asked: impl Fn(&About) -> bool) -> Vec<Self> {
        let set = state.operations().live_rules.load();
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
    let detector = state.operations().detector.load();
    let about = &kept.rule.about;
    let is_named = matches!(about, About::Robot(_) | About::Operator(_));
    if is_named && !detector.robots().iter().any(|robot| about.is_about(robot)) {
        notes.push("No registry lists what it is about any more.".to_owned());
    }
    let sites = state.operations().site_policies();
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
