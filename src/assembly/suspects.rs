//! From `[suspects]` to the rule behind all others.

use std::time::Duration;

use crate::config::{Key, Loaded, SuspectAction, SuspectsSection};
use crate::policy::{Action, RateKey, Rule, RuleBuilder};

/// What reasons, logs and bans call the rule.
const LABEL: &str = "suspects";

/// Returns `true` if suspects are looked for among people.
pub(crate) fn finds_suspects(loaded: &Loaded) -> bool {
    loaded.settings().suspects.action != SuspectAction::Off
}

/// Returns the rule about suspects that are left when no other has decided, if there is to be one.
pub(super) fn suspects_rule(loaded: &Loaded) -> Option<RuleBuilder> {
    let SuspectsSection {
        action,
        requests,
        per_seconds,
        load_requests,
        load_milliseconds,
        ..
    } = loaded.settings().suspects;
    let mut rule = Rule::builder(match action {
        SuspectAction::Off | SuspectAction::Report => return None,
        SuspectAction::Heaven => Action::Serve,
        SuspectAction::Slow => Action::Slow,
        SuspectAction::Refuse => Action::Refuse,
    });
    let key = SuspectsSection::KEY;
    let is_slow = action == SuspectAction::Slow;
    // Of another action the policy refuses what is set all the same, and says why.
    if is_slow || loaded.is_set(&key.requests) {
        rule = rule.requests(requests);
    }
    if is_slow || loaded.is_set(&key.per_seconds) {
        rule = rule.per(Duration::from_secs(per_seconds.into()));
    }
    if is_slow {
        rule = rule.rate_key(RateKey::Address);
    }
    if load_requests > 0 {
        rule = rule.load_requests(load_requests);
    }
    if load_milliseconds > 0 {
        rule = rule.load_time(load_milliseconds);
    }
    let origin = loaded.origin(&SuspectsSection::KEY.action);
    // Whoever sets the action has thought of people: there are no other suspects.
    let rule = rule.label(LABEL).origin(origin).paths(["/*"]);
    Some(rule.suspect(true).people(true))
}

/// Returns the setting that a wrong key of that rule comes from.
pub(super) fn key_of(name: &str) -> &'static Key {
    let key = Key::find(&format!("suspects.{name}"));
    key.unwrap_or(&SuspectsSection::KEY.action)
}
