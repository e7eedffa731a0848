//! From `[suspects]` to the rule behind all others.

use std::time::Duration;

use crate::config::{Key, Loaded, SuspectAction, SuspectsSection};
use crate::policy::{Action, RateKey, Rule, RuleBuilder};

/// What reasons, logs and bans call the rule.
const LABEL: &str = "suspects";

/// Requests of a suspect's address in a period, where nothing else is set.
const REQUESTS: u32 = 30;

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
        SuspectAction::Slow => Action::Slow,
        SuspectAction::Refuse => Action::Refuse,
    });
    if action == SuspectAction::Slow {
        let requests = requests.unwrap_or(REQUESTS);
        rule = rule.rate_key(RateKey::Address).requests(requests);
    } else if let Some(requests) = requests {
        // The policy refuses it, and says why.
        rule = rule.requests(requests);
    }
    if let Some(seconds) = per_seconds {
        rule = rule.per(Duration::from_secs(seconds.into()));
    }
    if let Some(requests) = load_requests {
        rule = rule.load_requests(requests);
    }
    if let Some(milliseconds) = load_milliseconds {
        rule = rule.load_time(milliseconds);
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
