//! A preview, based on stored traffic, of the requests that a rule would have affected.

use std::collections::{HashMap, HashSet};

use robot_detection_layer::detect::{Detector, Kind, NAMELESS, Verdict};
use robot_detection_layer::policy::PassReason;
use robot_detection_layer::registry::Robot;
use robot_detection_store::store::{TrafficKey, TrafficSum};

use schemars::JsonSchema;
use serde::Serialize;

use super::{LiveAction, LiveRule, RuleTarget};

/// The numbers of recent requests that a rule would have matched.
#[derive(Clone, Debug, Default, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(rename = "MatchedRequests")]
pub struct AffectedRequests {
    /// Number of hours that were examined.
    pub hours: u32,
    /// Number of requests that the rule would have affected.
    pub requests: u64,
    /// Number of affected robots; all unlisted robots that do not sign their requests count as a
    /// single robot.
    pub robots: usize,
    /// Number of affected requests from people.
    pub people: u64,
    /// Sentence that states the numbers.
    #[serde(rename = "text")]
    pub told: String,
    /// Limitations of the numbers, as sentences.
    pub notes: Vec<&'static str>,
}

/// Counts the requests that a rule would have affected.
pub(super) fn affected_requests(
    rule: &LiveRule,
    sums: &[TrafficSum],
    detector: &Detector,
) -> AffectedRequests {
    let records: HashMap<&str, &Robot> = detector
        .robots()
        .iter()
        .map(|robot| (&*robot.id, &**robot))
        .collect();
    let mut robots = HashSet::new();
    let mut touched = AffectedRequests::default();
    for sum in sums {
        if is_touched(rule, &sum.key, &records) {
            touched.requests = touched.requests.saturating_add(sum.count.requests);
            if is_of_people(&sum.key) {
                touched.people = touched.people.saturating_add(sum.count.requests);
            } else {
                robots.insert(&sum.key.robot);
            }
        }
    }
    touched.robots = robots.len();
    touched.notes = notes(rule);
    touched.hours = 24;
    touched.told = touched.sentence();
    touched
}

impl AffectedRequests {
    fn sentence(&self) -> String {
        let counted = |number: u64, one: &str, many: &str| {
            format!("{number} {}", if number == 1 { one } else { many })
        };
        let requests = counted(self.requests, "request", "requests");
        let robots = counted(self.robots as u64, "robot", "robots");
        match self.people {
            0 => format!(
                "In the last 24 hours, the rule would have affected {requests} from {robots} and none from people."
            ),
            people => format!(
                "In the last 24 hours, the rule would have affected {requests}: {people} from people and the rest from {robots}."
            ),
        }
    }
}

fn is_touched(rule: &LiveRule, key: &TrafficKey, records: &HashMap<&str, &Robot>) -> bool {
    // No rule affects paths that are open to every robot.
    let is_open = [PassReason::NeverFiltered, PassReason::Heaven]
        .iter()
        .any(|reason| reason.as_str() == key.cause);
    let is_verified = key.verdict == Verdict::Verified.as_str();
    let is_impostor = key.verdict == Verdict::Spoofed.as_str();
    let lets_pass = rule.action == LiveAction::Pass;
    if !rule.is_for_site(&key.site)
        || is_open
        || (rule.is_for_verified && !is_verified)
        // A pass rule does not apply to impostors of the robot that the rule selects.
        || (lets_pass && is_impostor)
    {
        return false;
    }
    let is_listed = key.kind == Kind::Listed.as_str();
    let is_unlisted = key.kind == Kind::Unlisted.as_str();
    match &rule.about {
        RuleTarget::Unlisted => is_unlisted,
        RuleTarget::Nameless => key.robot == NAMELESS,
        RuleTarget::People => is_of_people(key),
        RuleTarget::Everybody => true,
        // An unlisted robot that signs its requests is identified by its host.
        RuleTarget::Robot(id) => (is_listed || is_unlisted) && key.robot == *id,
        about => {
            let record = records.get(&*key.robot).filter(|_| is_listed);
            record.is_some_and(|robot| about.includes(robot))
        }
    }
}

fn is_of_people(key: &TrafficKey) -> bool {
    [Kind::Person, Kind::Shared]
        .iter()
        .any(|kind| kind.as_str() == key.kind)
}

fn notes(rule: &LiveRule) -> Vec<&'static str> {
    let mut notes = vec![
        "Traffic is stored by robot and site: the number may include requests for /robots.txt and other paths that are open to every robot and never affected.",
    ];
    if rule.path.is_some() || rule.query.is_some() {
        notes.push(
            "These totals are stored without paths and queries: the number covers all of them and is a maximum.",
        );
    }
    if rule.addresses.is_some() || rule.user_agent.is_some() {
        notes.push(
            "Addresses and User-Agents are not stored: the number covers all of them and is a maximum.",
        );
    }
    if rule.affects_people() && !rule.is_for_people {
        notes.push("The rule matches people: unless you confirm it by setting people, it only records its decisions.");
    }
    match rule.action {
        LiveAction::Slow { .. } => {
            notes.push("Requests within the rate limit pass; only requests beyond the limit are slowed down.");
        }
        LiveAction::Redirect => {
            notes.push("Only some methods are redirected, by default GET and HEAD; methods are not stored, so the number covers all methods.");
        }
        LiveAction::Pass if rule.is_for_verified => {
            notes
                .push("The rule allows only verified robots, because the registry contains the data to verify them.");
        }
        LiveAction::Pass if rule.addresses.is_none() => {
            notes.push("These robots cannot be verified: every request that claims to come from one of them passes.");
        }
        LiveAction::Pass | LiveAction::Refuse { .. } => {}
    }
    if let RuleTarget::Purpose(_) = rule.about {
        notes.push("Unlisted robots with this purpose are also affected, but are not counted, because their purpose is not stored.");
    }
    notes
}
