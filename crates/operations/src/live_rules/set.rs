//! A snapshot of the live rules.

use robot_detection_layer::policy::Overlay;
use robot_detection_store::store::{StoredLiveRule, StoredLiveRules, StoredPause};

use super::{LiveRule, RuleFields};

/// The live rules in force, and the pause of enforcement.
#[derive(Clone, Debug, Default)]
pub struct LiveRuleSet {
    /// Version of the rules in the database; negative if no rules have been loaded yet.
    pub version: i64,
    /// Live rules, oldest first.
    pub rules: Vec<StoredRule>,
    /// IDs of the rules that cannot be read, each with the reason.
    pub unreadable: Vec<(i64, String)>,
    /// The pause of all enforcement.
    pub pause: Option<StoredPause>,
}

/// A live rule as stored in the database.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StoredRule {
    /// ID of the live rule in the database.
    pub id: i64,
    /// Name of the live rule, if any.
    pub name: Option<String>,
    /// Visitors, action and scope of the live rule.
    pub rule: LiveRule,
    /// Creation time in milliseconds since 1970.
    pub created_ms: i64,
    /// Name of the user or program that created the rule.
    pub created_by: String,
    /// Expiry of the rule; `None` if the rule does not expire.
    pub ends_ms: Option<i64>,
}

impl LiveRuleSet {
    /// Parses stored rules and skips rules that cannot be read.
    pub fn read(stored: StoredLiveRules) -> Self {
        let mut set = Self {
            version: stored.version,
            pause: stored.pause,
            ..Self::default()
        };
        for stored in stored.rules {
            let id = stored.id;
            match StoredRule::read(stored) {
                Ok(rule) => set.rules.push(rule),
                Err(reason) => set.unreadable.push((id, reason)),
            }
        }
        set
    }

    /// Removes expired rules and an expired pause; returns `true` if anything was removed.
    pub(super) fn remove_ended(&mut self, now_ms: i64) -> bool {
        let rules = self.rules.len();
        self.rules.retain(|rule| !rule.is_over(now_ms));
        let is_over = |pause: &StoredPause| pause.ends_ms <= now_ms;
        let ended = self.pause.take_if(|pause| is_over(pause)).is_some();
        ended || self.rules.len() < rules
    }

    /// Returns the earliest time at which a rule or the pause expires.
    pub(super) fn next_end_ms(&self) -> Option<i64> {
        let pause = self.pause.as_ref().map(|pause| pause.ends_ms);
        let rules = self.rules.iter().filter_map(|rule| rule.ends_ms);
        rules.chain(pause).min()
    }

    /// Returns the overlay of live rules for a site's policy.
    pub fn overlay(&self, site: &str) -> Overlay {
        let rules = self.rules.iter().filter(|kept| kept.rule.is_for_site(site));
        let overlay = Overlay::new().paused(self.pause.is_some());
        rules.fold(overlay, |overlay, kept| {
            let rule = kept.rule.builder().label(kept.label());
            overlay.rule(rule.origin(kept.origin()))
        })
    }
}

impl StoredRule {
    fn read(stored: StoredLiveRule) -> Result<Self, String> {
        let fields: RuleFields = serde_json::from_str(&stored.definition)
            .map_err(|error| format!("cannot read the rule: {error}"))?;
        let rule = fields.rule().map_err(|wrong| wrong.to_string())?;
        Ok(Self {
            id: stored.id,
            name: stored.name,
            rule,
            created_ms: stored.created_ms,
            created_by: stored.created_by,
            ends_ms: stored.ends_ms,
        })
    }

    /// Returns the label of the rule, as used in reasons, logs and counts.
    pub fn label(&self) -> String {
        format!("live rule {}", self.id)
    }

    /// Returns a text that names the rule's creator and its creation date.
    pub fn origin(&self) -> String {
        let made = day(self.created_ms);
        match &*self.created_by {
            "command line" => format!("created on the command line on {made}"),
            by => format!("created by {by} on {made}"),
        }
    }

    fn is_over(&self, now_ms: i64) -> bool {
        self.ends_ms.is_some_and(|ends_ms| ends_ms <= now_ms)
    }
}

/// Returns the date of a time in UTC.
fn day(at_ms: i64) -> String {
    let at = time::OffsetDateTime::from_unix_timestamp(at_ms.div_euclid(1_000));
    at.map_or_else(|_| String::new(), |at| at.date().to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use robot_detection_layer::detect::{Detector, Verdict};
    use robot_detection_layer::policy::{Policy, Request, SharedPolicy, Visitor};
    use robot_detection_layer::registry::{Pattern, PatternKind, Purpose, Robot, Source};

    const ACTIONS: [&str; 4] = ["pass", "redirect", "refuse", "slow"];

    fn detector() -> Detector {
        let robot = |id: &str, token: &str, purpose| {
            let mut robot = Robot::new(id, Source::manual());
            robot.patterns = vec![Pattern::new(PatternKind::Token, token)];
            robot.operator = Some("Acme".to_owned());
            robot.purpose = purpose;
            Arc::new(robot)
        };
        let robots = [
            robot("alpha", "AlphaBot", Purpose::Search),
            robot("translator", "ManyPeople", Purpose::Shared),
        ];
        Detector::new(robots).unwrap()
    }

    fn any_fields() -> impl Strategy<Value = RuleFields> {
        let about = prop_oneof![
            prop::sample::select(vec![
                "alpha",
                "translator",
                "unlisted",
                "nameless",
                "person"
            ])
            .prop_map(|id| ("robot", id)),
            Just(("operator", "ACME")),
            prop::sample::select(Purpose::ALL).prop_map(|purpose| ("purpose", purpose.as_str())),
            prop::sample::select(vec![
                "unlisted", "nameless", "person", "shared", "people", "all"
            ])
            .prop_map(|kind| ("visitors", kind)),
        ];
        let path = prop::sample::select(vec![None, Some("/a/*"), Some("*")]);
        (
            prop::sample::select(&ACTIONS[..]),
            about,
            path,
            any::<bool>(),
        )
            .prop_map(|(action, (key, value), path, verified)| {
                let named = |name| (key == name).then(|| value.to_owned());
                RuleFields {
                    action: action.to_owned(),
                    robot: named("robot"),
                    operator: named("operator"),
                    purpose: named("purpose"),
                    visitors: named("visitors"),
                    path: path.map(str::to_owned),
                    verified,
                    ..RuleFields::default()
                }
            })
    }

    fn set(fields: Vec<RuleFields>) -> LiveRuleSet {
        let stored = fields
            .into_iter()
            .zip(1..)
            .map(|(fields, id)| StoredLiveRule {
                id,
                definition: serde_json::to_string(&fields).unwrap(),
                ..StoredLiveRule::default()
            });
        let mut all = StoredLiveRules::default();
        all.rules = stored.collect();
        LiveRuleSet::read(all)
    }

    proptest! {
        #[test]
        fn live_rules_do_not_affect_people_without_confirmation(fields in prop::collection::vec(any_fields(), 1..6)) {
            let detector = detector();
            let policy = SharedPolicy::new(Policy::builder().build().unwrap());
            policy.set_overlay(set(fields).overlay("default"));
            let policy = policy.load();
            let shared = detector.claim(b"ManyPeople/1.0");
            prop_assert_eq!(shared.as_ref().unwrap().kind().as_str(), "shared");
            for (path, method) in [("/a/b", "GET"), ("/", "POST"), ("/members-only-stuff/a", "GET")] {
                let request = Request { method, host: None, path, query: None };
                for claim in [None, shared.as_ref()] {
                    let visitor = claim.map(|claim| Visitor::new(claim, Verdict::Verified));
                    let judgement = policy.judge(&request, visitor);
                    prop_assert!(judgement.decision.pass_reason().is_some());
                    prop_assert!(judgement.slowed_by.is_none());
                }
            }
        }

        #[test]
        fn rule_survives_writing_and_reading(fields in any_fields()) {
            if let Ok(rule) = fields.rule() {
                prop_assert_eq!(RuleFields::from(&rule).rule().unwrap(), rule);
            }
        }
    }

    #[test]
    fn rule_of_a_newer_version_is_skipped_and_reported() {
        let mut stored = StoredLiveRules::default();
        for definition in [
            r#"{"action":"slow","robot":"alpha"}"#,
            r#"{"action":"slow","robot":"alpha","weekdays":"monday"}"#,
            r#"{"action":"serve","robot":"alpha"}"#,
            "",
        ] {
            stored.rules.push(StoredLiveRule {
                definition: definition.to_owned(),
                ..StoredLiveRule::default()
            });
        }
        let set = LiveRuleSet::read(stored);
        assert_eq!((set.rules.len(), set.unreadable.len()), (1, 3));
    }
}
