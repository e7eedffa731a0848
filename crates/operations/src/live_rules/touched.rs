//! What a rule would have touched, from the traffic that is kept.

use std::collections::{HashMap, HashSet};

use robot_detection_layer::detect::{Detector, Kind, NAMELESS, Verdict};
use robot_detection_layer::policy::PassReason;
use robot_detection_layer::registry::Robot;
use robot_detection_store::store::{TrafficKey, TrafficSum};

use schemars::JsonSchema;
use serde::Serialize;

use super::{About, LiveAction, LiveRule};

/// Requests of the last hours that a rule would have matched.
#[derive(Clone, Debug, Default, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(rename = "MatchedRequests")]
pub struct Touched {
    /// Hours counted.
    pub hours: u32,
    /// Requests.
    pub requests: u64,
    /// Robots by their names; all that are unlisted count as one, but for those that sign.
    pub robots: usize,
    /// Requests of people.
    pub people: u64,
    /// The figures as a sentence.
    #[serde(rename = "text")]
    pub told: String,
    /// What the figures leave out or add, as sentences.
    pub notes: Vec<&'static str>,
}

/// Counts the requests that a rule would have touched.
pub(super) fn touched(rule: &LiveRule, sums: &[TrafficSum], detector: &Detector) -> Touched {
    let records: HashMap<&str, &Robot> = detector
        .robots()
        .iter()
        .map(|robot| (&*robot.id, &**robot))
        .collect();
    let mut robots = HashSet::new();
    let mut touched = Touched::default();
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

impl Touched {
    fn sentence(&self) -> String {
        let counted = |number: u64, one: &str, many: &str| {
            format!("{number} {}", if number == 1 { one } else { many })
        };
        let requests = counted(self.requests, "request", "requests");
        let robots = counted(self.robots as u64, "robot", "robots");
        match self.people {
            0 => format!(
                "In the last 24 hours this would have touched {requests} of {robots} and no person."
            ),
            people => format!(
                "In the last 24 hours this would have touched {requests}, {people} of them people's, the others of {robots}."
            ),
        }
    }
}

fn is_touched(rule: &LiveRule, key: &TrafficKey, records: &HashMap<&str, &Robot>) -> bool {
    // What is open to every robot is not touched by any rule.
    let is_open = [PassReason::NeverFiltered, PassReason::Heaven]
        .iter()
        .any(|reason| reason.as_str() == key.cause);
    let is_verified = key.verdict == Verdict::Verified.as_str();
    let is_impostor = key.verdict == Verdict::Spoofed.as_str();
    let lets_pass = rule.action == LiveAction::Pass;
    if !rule.is_of_site(&key.site)
        || is_open
        || (rule.is_for_verified && !is_verified)
        // A rule that lets a robot pass is not about who only says that it is this robot.
        || (lets_pass && is_impostor)
    {
        return false;
    }
    let is_listed = key.kind == Kind::Listed.as_str();
    let is_unlisted = key.kind == Kind::Unlisted.as_str();
    match &rule.about {
        About::Unlisted => is_unlisted,
        About::Nameless => key.robot == NAMELESS,
        About::People => is_of_people(key),
        About::Everybody => true,
        // An unlisted robot that signs has the name of its host.
        About::Robot(id) => (is_listed || is_unlisted) && key.robot == *id,
        about => {
            let record = records.get(&*key.robot).filter(|_| is_listed);
            record.is_some_and(|robot| about.is_about(robot))
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
        "Traffic is kept by robot and site: requests for /robots.txt and other paths that are open to every robot may be among the figure, and are never touched.",
    ];
    if rule.path.is_some() {
        notes.push(
            "Paths are not kept: the figure is of all paths, and the rule touches at most as many.",
        );
    }
    if rule.addresses.is_some() || rule.user_agent.is_some() {
        notes.push(
            "Addresses and User-Agents are not kept: the figure is of all of them, and the rule touches at most as many.",
        );
    }
    if rule.touches_people() && !rule.is_for_people {
        notes.push("It is about people too: it only notes what it would do, until that is confirmed (people).");
    }
    match rule.action {
        LiveAction::Slow { .. } => {
            notes.push("Within the pace requests pass: only those beyond it are slowed down.");
        }
        LiveAction::Redirect => {
            notes.push("Only methods that are redirected count, which are GET and HEAD by default; methods are not kept.");
        }
        LiveAction::Pass if rule.is_for_verified => {
            notes
                .push("Only verified robots pass by it, as the registry says how they are proven.");
        }
        LiveAction::Pass if rule.addresses.is_none() => {
            notes.push("Nobody can prove who they are: whoever says so passes by it.");
        }
        LiveAction::Pass | LiveAction::Refuse { .. } => {}
    }
    if let About::Purpose(_) = rule.about {
        notes.push("Unlisted robots of that purpose are touched too, and not counted: their purpose is not kept.");
    }
    notes
}
