//! A live rule as people and programs write it: in a form, as JSON, in the database.

use robot_detection_site_robot::spelling::nearest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use robot_detection_layer::detect::{Kind, NAMELESS, UNLISTED};
use robot_detection_layer::policy::{Action, Policy, PolicyError};
use robot_detection_layer::registry::Purpose;

use super::definition::{ALL_WORD, About, EVERY_PATH, LiveAction, LiveRule, Networks, PEOPLE_WORD};

/// Characters of a text, at most.
const MAX_CHARS: usize = 200;

/// Characters of all addresses, at most: more are for a `[[list]]`.
const MAX_ADDRESSES_CHARS: usize = 2_000;

/// Visitors that a live rule may be about.
const VISITORS: [&str; 4] = [UNLISTED, NAMELESS, PEOPLE_WORD, ALL_WORD];

/// Actions of a live rule; whatever serves another page is for the configuration.
const ACTIONS: [&str; 4] = ["pass", "redirect", "refuse", "slow"];

/// Requests, and seconds, of a rule that slows down and names none.
const REQUESTS: u32 = 10;
const PER_SECONDS: u32 = 60;

/// Largest numbers, as the configuration has them.
const MAX_REQUESTS: u32 = 1_000_000;
const MAX_SECONDS: u32 = 86_400;

/// Fields of a live rule, not judged yet; what is `None` was not written.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RuleFields {
    /// Action.
    pub action: String,
    /// Id of a robot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub robot: Option<String>,
    /// Company or project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<String>,
    /// Word of a purpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// `unlisted`, `nameless`, `people` or `all`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visitors: Option<String>,
    /// Addresses and networks, with commas between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addresses: Option<String>,
    /// Glob of the User-Agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
    /// Pattern of paths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Site name; all sites by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// Status of a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Requests allowed per period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u32>,
    /// Length of the period in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_seconds: Option<u32>,
    /// Only robots that are verified.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verified: bool,
    /// It may touch people.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub people: bool,
}

/// What is wrong with a field.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FieldProblem {
    /// Name of the field.
    pub field: &'static str,
    /// Error.
    pub reason: String,
}

impl FieldProblem {
    /// Creates the problem of a field.
    pub fn new(field: &'static str, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self { field, reason }
    }
}

impl RuleFields {
    /// Reads the rule; blank texts count as not written.
    ///
    /// # Errors
    ///
    /// Fails on the first field that is wrong, saying what to write.
    pub fn rule(&self) -> Result<LiveRule, FieldProblem> {
        let rule = LiveRule {
            action: self.action()?,
            about: self.about()?,
            path: text("path", self.path.as_deref())?.filter(|path| path != EVERY_PATH),
            site: text("site", self.site.as_deref())?,
            addresses: self.addresses()?,
            user_agent: text("user_agent", self.user_agent.as_deref())?,
            is_for_verified: self.verified,
            is_for_people: self.people,
        };
        if let Some(path) = &rule.path {
            check_path(path)?;
        }
        let (_, about) = rule.about.key();
        if rule.is_for_verified && VISITORS.contains(&about) {
            let reason = "nobody proves a visitor that has no name";
            return Err(FieldProblem::new("verified", reason));
        }
        // The rest of what a policy asks of a rule: it never fails for one that is read here.
        let policy = Policy::builder().rule(rule.builder()).build();
        match policy {
            Err(PolicyError::Rule { key, reason, .. }) => {
                let fields = [
                    ("status", "status"),
                    ("user_agents", "user_agent"),
                    ("people", "people"),
                ];
                let field = fields.iter().find(|(of_rule, _)| *of_rule == key);
                field.map_or(Ok(rule), |(_, field)| Err(FieldProblem::new(field, reason)))
            }
            _ => Ok(rule),
        }
    }

    fn addresses(&self) -> Result<Option<Networks>, FieldProblem> {
        let text = text_of("addresses", self.addresses.as_deref(), MAX_ADDRESSES_CHARS)?;
        let Some(text) = text else {
            return Ok(None);
        };
        let wrong = |part: &str| {
            let reason = format!(
                "{part:?} is neither an address nor a network; write 192.0.2.1, 2001:db8::1 or 10.0.0.0/8, with commas between"
            );
            FieldProblem::new("addresses", reason)
        };
        Networks::read(&text).map(Some).map_err(wrong)
    }

    fn action(&self) -> Result<LiveAction, FieldProblem> {
        let word = self.action.trim();
        let action = Action::from_word(word).filter(|_| ACTIONS.contains(&word));
        let Some(action) = action else {
            let known = ACTIONS.join(", ");
            return Err(FieldProblem::new(
                "action",
                match nearest(word, ACTIONS) {
                    Some(near) => format!("{word:?} is no action; did you mean {near}?"),
                    None => format!("use one of {known}"),
                },
            ));
        };
        for (field, is_set, owner) in [
            ("status", self.status.is_some(), Action::Refuse),
            ("requests", self.requests.is_some(), Action::Slow),
            ("per_seconds", self.per_seconds.is_some(), Action::Slow),
        ] {
            if is_set && action != owner {
                let reason = format!("the action {action} has none; leave it out, or use {owner}");
                return Err(FieldProblem::new(field, reason));
            }
        }
        Ok(match action {
            Action::Redirect => LiveAction::Redirect,
            Action::Refuse => LiveAction::Refuse {
                status: self.status.unwrap_or(403),
            },
            Action::Slow => LiveAction::Slow {
                requests: number("requests", self.requests, REQUESTS, MAX_REQUESTS)?,
                per_seconds: number("per_seconds", self.per_seconds, PER_SECONDS, MAX_SECONDS)?,
            },
            _ => LiveAction::Pass,
        })
    }

    fn about(&self) -> Result<About, FieldProblem> {
        let named = [
            text("robot", self.robot.as_deref())?.map(|id| match &*id {
                // As `robots` of a rule in the configuration has it.
                UNLISTED => Ok(About::Unlisted),
                NAMELESS => Ok(About::Nameless),
                _ => Ok(About::Robot(id)),
            }),
            text("operator", self.operator.as_deref())?.map(|name| Ok(About::Operator(name))),
            text("purpose", self.purpose.as_deref())?.map(|word| purpose(&word)),
            text("visitors", self.visitors.as_deref())?.map(|word| visitors(&word)),
        ];
        let mut named = named.into_iter().flatten();
        match (named.next(), named.next()) {
            (Some(about), None) => about,
            // Whoever comes from there, or calls itself so.
            (None, _) if is_set(self.addresses.as_ref()) || is_set(self.user_agent.as_ref()) => {
                Ok(About::Everybody)
            }
            (None, _) => Err(FieldProblem::new(
                "robot",
                "say whom the rule is about: a robot, an operator, a purpose, visitors, addresses, or a User-Agent",
            )),
            (Some(_), Some(_)) => Err(FieldProblem::new(
                "robot",
                "name one of robot, operator, purpose and visitors; make a rule for each",
            )),
        }
    }
}

impl From<&LiveRule> for RuleFields {
    fn from(rule: &LiveRule) -> Self {
        let (key, value) = rule.about.key();
        let named = |name: &str| (key == name).then(|| value.to_owned());
        let (status, requests, per_seconds) = match rule.action {
            LiveAction::Pass | LiveAction::Redirect => (None, None, None),
            LiveAction::Refuse { status } => (Some(status), None, None),
            LiveAction::Slow {
                requests,
                per_seconds,
            } => (None, Some(requests), Some(per_seconds)),
        };
        Self {
            action: rule.action.action().as_str().to_owned(),
            robot: named("robot"),
            operator: named("operator"),
            purpose: named("purpose"),
            visitors: named("visitors"),
            addresses: rule.addresses.as_ref().map(|all| all.written().to_owned()),
            user_agent: rule.user_agent.clone(),
            path: rule.path.clone(),
            site: rule.site.clone(),
            status,
            requests,
            per_seconds,
            verified: rule.is_for_verified,
            people: rule.is_for_people,
        }
    }
}

fn purpose(word: &str) -> Result<About, FieldProblem> {
    let purpose = Purpose::from_word(word).filter(|purpose| Purpose::ROBOTS.contains(purpose));
    let words = || Purpose::ROBOTS.iter().map(|purpose| purpose.as_str());
    purpose.map(About::Purpose).ok_or_else(|| {
        let hint = match nearest(word, words()) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("use one of {}", words().collect::<Vec<_>>().join(", ")),
        };
        FieldProblem::new(
            "purpose",
            format!("{word:?} is no purpose of robots; {hint}"),
        )
    })
}

fn visitors(word: &str) -> Result<About, FieldProblem> {
    match word {
        _ if word == Kind::Unlisted.as_str() => Ok(About::Unlisted),
        _ if word == Kind::Nameless.as_str() => Ok(About::Nameless),
        PEOPLE_WORD => Ok(About::People),
        ALL_WORD => Ok(About::Everybody),
        _ => Err(FieldProblem::new(
            "visitors",
            match nearest(word, VISITORS) {
                Some(near) => format!("{word:?}: did you mean {near}?"),
                None => format!("{word:?}: use one of {}", VISITORS.join(", ")),
            },
        )),
    }
}

fn is_set(value: Option<&String>) -> bool {
    value.is_some_and(|value| !value.trim().is_empty())
}

/// Returns a text without blanks around it, if it is not empty.
fn text(field: &'static str, value: Option<&str>) -> Result<Option<String>, FieldProblem> {
    text_of(field, value, MAX_CHARS)
}

fn text_of(
    field: &'static str,
    value: Option<&str>,
    max_chars: usize,
) -> Result<Option<String>, FieldProblem> {
    let Some(value) = value.map(str::trim).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    if value.chars().count() > max_chars {
        let reason = format!("it is longer than {max_chars} characters");
        Err(FieldProblem::new(field, reason))
    } else if value.chars().any(char::is_control) {
        Err(FieldProblem::new(field, "it holds a control character"))
    } else {
        Ok(Some(value.to_owned()))
    }
}

fn number(
    field: &'static str,
    value: Option<u32>,
    default: u32,
    max: u32,
) -> Result<u32, FieldProblem> {
    let value = value.unwrap_or(default);
    if (1..=max).contains(&value) {
        Ok(value)
    } else {
        Err(FieldProblem::new(
            field,
            format!("use a number from 1 to {max}"),
        ))
    }
}

fn check_path(path: &str) -> Result<(), FieldProblem> {
    let policy = Policy::builder().filter_patterns([path]).redirect_url("");
    match policy.build() {
        Ok(policy) if policy.filter_patterns().next().is_some() => Ok(()),
        Ok(_) => Err(FieldProblem::new(
            "path",
            "it names no path; write such as /a/*",
        )),
        Err(PolicyError::FilterPattern { reason, .. }) => Err(FieldProblem::new("path", reason)),
        Err(other) => Err(FieldProblem::new("path", other.to_string())),
    }
}
