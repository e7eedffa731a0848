//! From `[suspects]` to the rule behind all others.

use crate::config::{Loaded, SuspectAction, SuspectsSection};
use crate::policy::{Action, Rule, RuleBuilder};

/// What reasons, logs and bans call the rule.
const LABEL: &str = "suspects";

/// Returns `true` if suspects are looked for among people.
pub(crate) fn finds_suspects(loaded: &Loaded) -> bool {
    loaded.settings().suspects.action != SuspectAction::Off
}

/// Returns the rule about suspects that are left when no other has decided, if there is to be one.
pub(super) fn suspects_rule(loaded: &Loaded) -> Option<RuleBuilder> {
    let rule = Rule::builder(match loaded.settings().suspects.action {
        SuspectAction::Off | SuspectAction::Report => return None,
        SuspectAction::Heaven => Action::Serve,
        SuspectAction::Refuse => Action::Refuse,
    });
    let origin = loaded.origin(&SuspectsSection::KEY.action);
    // Whoever sets the action has thought of people: there are no other suspects.
    let rule = rule.label(LABEL).origin(origin).paths(["/*"]);
    Some(rule.suspect(true).people(true))
}
