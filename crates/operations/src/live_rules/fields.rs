//! The fields of a live rule in forms, in JSON and in the database.

use clap::Args;
use robot_detection_site_robot::spelling::nearest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use robot_detection_layer::detect::{Kind, NAMELESS, UNLISTED};
use robot_detection_layer::policy::{Action, Policy, PolicyError};
use robot_detection_layer::registry::Purpose;

use crate::Invalid;

use super::definition::{
    ALL_WORD, EVERY_PATH, LiveAction, LiveRule, Networks, PEOPLE_WORD, RuleTarget,
};

/// Maximum number of characters in a text field.
const MAX_CHARS: usize = 200;

/// Maximum number of characters in the list of addresses; longer lists belong in a `[[list]]`.
const MAX_ADDRESSES_CHARS: usize = 2_000;

/// Maximum length of a live rule's name in bytes.
const MAX_NAME_BYTES: usize = 64;

/// Words for visitors that a live rule can select.
const VISITORS: [&str; 4] = [UNLISTED, NAMELESS, PEOPLE_WORD, ALL_WORD];

/// Actions available to a live rule; actions that serve another page exist only in the
/// configuration.
const ACTIONS: [&str; 4] = ["pass", "redirect", "refuse", "slow"];

/// Default number of requests per period, and default period in seconds, of a slow-down rule.
const REQUESTS: u32 = 10;
const PER_SECONDS: u32 = 60;

/// Maximum values of the numeric fields, as in the configuration.
const MAX_REQUESTS: u32 = 1_000_000;
const MAX_SECONDS: u32 = 86_400;

/// The fields of a live rule before validation; a missing field is `None`.
#[derive(Args, Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RuleFields {
    /// Action: pass, redirect (to `redirect_url`), refuse or slow (429 beyond a rate)
    #[arg(value_parser = ACTIONS)]
    #[schemars(extend("enum" = ACTIONS))]
    pub action: String,
    /// Unique name: lowercase letters, digits, `-` and `_`
    #[arg(long, value_name = "NAME")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// ID of a robot, or host of an unlisted robot that signs its requests
    #[arg(long, value_name = "ID", group = "about")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub robot: Option<String>,
    /// All robots of this operator
    #[arg(long, value_name = "NAME", group = "about")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<String>,
    /// All robots with this purpose
    #[arg(long, value_name = "PURPOSE", group = "about")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// Visitors: unlisted (robots), nameless (no User-Agent), people or all
    #[arg(long, value_name = "KIND", group = "about")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visitors: Option<String>,
    /// Comma-separated addresses and networks from which the visitors send requests
    #[arg(long, value_name = "NETWORKS")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addresses: Option<String>,
    /// Glob pattern for the User-Agent
    #[arg(long, value_name = "GLOB")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
    /// Path pattern, like a filter pattern [default: all paths]
    #[arg(long, value_name = "PATTERN")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Conditions on the parameters of the query, separated by blanks: page, !page, sort=price*
    #[arg(long, value_name = "ITEMS")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// Site to which the rule is limited [default: all sites]
    #[arg(long, value_name = "NAME")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// HTTP status for refused requests [default: 403]
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Number of requests that a slow-down rule allows per period [default: 10]
    #[arg(long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u32>,
    /// Period of a slow-down rule in seconds [default: 60]
    #[arg(long, value_name = "S")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_seconds: Option<u32>,
    /// Apply the rule only to verified robots
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verified: bool,
    /// Apply the rule to people too; otherwise, it only records its decisions about people
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub people: bool,
    /// Expiry: a duration such as 12h or 7d, a UTC time such as 2026-12-01T08:00Z, or never
    /// [default: 7d]
    #[arg(long, value_name = "WHEN")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<String>,
}

impl RuleFields {
    /// Validates the fields and returns the rule; an empty text is treated as missing.
    ///
    /// # Errors
    ///
    /// Returns an error that names the first invalid field and contains a hint.
    pub fn rule(&self) -> Result<LiveRule, Invalid> {
        let rule = LiveRule {
            action: self.action()?,
            about: self.about()?,
            path: text("path", self.path.as_deref())?.filter(|path| path != EVERY_PATH),
            query: text("query", self.query.as_deref())?,
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
            let reason = "visitors without a name cannot be verified";
            return Err(Invalid::new("verified", reason));
        }
        // Checks that a policy accepts the rule; for validated fields, the check never fails.
        let policy = Policy::builder().rule(rule.builder()).build();
        match policy {
            Err(PolicyError::Rule { key, reason, .. }) => {
                let fields = [
                    ("status", "status"),
                    ("user_agents", "user_agent"),
                    ("people", "people"),
                    ("query", "query"),
                ];
                let field = fields.iter().find(|(of_rule, _)| *of_rule == key);
                field.map_or(Ok(rule), |(_, field)| Err(Invalid::new(field, reason)))
            }
            _ => Ok(rule),
        }
    }

    /// Returns the name of the live rule, if it has one.
    pub(super) fn name(&self) -> Result<Option<&str>, Invalid> {
        let Some(name) = self.name.as_deref().filter(|name| !name.is_empty()) else {
            return Ok(None);
        };
        let is_word = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
        // A name that starts with a digit could be mistaken for an ID.
        if name.len() <= MAX_NAME_BYTES
            && name.starts_with(|first: char| first.is_ascii_lowercase())
            && name.bytes().all(is_word)
        {
            return Ok(Some(name));
        }
        let message = format!(
            "use at most {MAX_NAME_BYTES} lowercase letters, digits, - and _, starting with a letter"
        );
        Err(Invalid::new("name", message))
    }

    fn addresses(&self) -> Result<Option<Networks>, Invalid> {
        let text = text_of("addresses", self.addresses.as_deref(), MAX_ADDRESSES_CHARS)?;
        let Some(text) = text else {
            return Ok(None);
        };
        let wrong = |part: &str| {
            let reason = format!(
                "{part:?} is neither an address nor a network; use 192.0.2.1, 2001:db8::1 or 10.0.0.0/8, separated by commas"
            );
            Invalid::new("addresses", reason)
        };
        Networks::read(&text).map(Some).map_err(wrong)
    }

    fn action(&self) -> Result<LiveAction, Invalid> {
        let word = self.action.trim();
        let action = Action::from_word(word).filter(|_| ACTIONS.contains(&word));
        let Some(action) = action else {
            let known = ACTIONS.join(", ");
            return Err(Invalid::new(
                "action",
                match nearest(word, ACTIONS) {
                    Some(near) => format!("unknown action {word:?}; did you mean {near}?"),
                    None => format!("must be one of {known}"),
                },
            ));
        };
        for (field, is_set, owner) in [
            ("status", self.status.is_some(), Action::Refuse),
            ("requests", self.requests.is_some(), Action::Slow),
            ("per_seconds", self.per_seconds.is_some(), Action::Slow),
        ] {
            if is_set && action != owner {
                let reason =
                    format!("not supported by the action {action}; omit it, or use {owner}");
                return Err(Invalid::new(field, reason));
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

    fn about(&self) -> Result<RuleTarget, Invalid> {
        let named = [
            text("robot", self.robot.as_deref())?.map(|id| match &*id {
                // Accepted here too, as in the setting `robots` of a configured rule.
                UNLISTED => Ok(RuleTarget::Unlisted),
                NAMELESS => Ok(RuleTarget::Nameless),
                _ => Ok(RuleTarget::Robot(id)),
            }),
            text("operator", self.operator.as_deref())?.map(|name| Ok(RuleTarget::Operator(name))),
            text("purpose", self.purpose.as_deref())?.map(|word| purpose(&word)),
            text("visitors", self.visitors.as_deref())?.map(|word| visitors(&word)),
        ];
        let mut named = named.into_iter().flatten();
        match (named.next(), named.next()) {
            (Some(about), None) => about,
            // Selects visitors from these addresses or with this User-Agent.
            (None, _) if is_set(self.addresses.as_ref()) || is_set(self.user_agent.as_ref()) => {
                Ok(RuleTarget::Everybody)
            }
            (None, _) => Err(Invalid::new(
                "robot",
                "select visitors by robot, operator, purpose, visitors, addresses or User-Agent",
            )),
            (Some(_), Some(_)) => Err(Invalid::new(
                "robot",
                "set only one of robot, operator, purpose and visitors; add a separate rule for each",
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
            name: None,
            ends: None,
            action: rule.action.action().as_str().to_owned(),
            robot: named("robot"),
            operator: named("operator"),
            purpose: named("purpose"),
            visitors: named("visitors"),
            addresses: rule.addresses.as_ref().map(|all| all.as_str().to_owned()),
            user_agent: rule.user_agent.clone(),
            path: rule.path.clone(),
            query: rule.query.clone(),
            site: rule.site.clone(),
            status,
            requests,
            per_seconds,
            verified: rule.is_for_verified,
            people: rule.is_for_people,
        }
    }
}

fn purpose(word: &str) -> Result<RuleTarget, Invalid> {
    let purpose = Purpose::from_word(word).filter(|purpose| Purpose::ROBOTS.contains(purpose));
    let words = || Purpose::ROBOTS.iter().map(|purpose| purpose.as_str());
    purpose.map(RuleTarget::Purpose).ok_or_else(|| {
        let hint = match nearest(word, words()) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("must be one of {}", words().collect::<Vec<_>>().join(", ")),
        };
        Invalid::new("purpose", format!("unknown purpose {word:?}; {hint}"))
    })
}

fn visitors(word: &str) -> Result<RuleTarget, Invalid> {
    match word {
        _ if word == Kind::Unlisted.as_str() => Ok(RuleTarget::Unlisted),
        _ if word == Kind::Nameless.as_str() => Ok(RuleTarget::Nameless),
        PEOPLE_WORD => Ok(RuleTarget::People),
        ALL_WORD => Ok(RuleTarget::Everybody),
        _ => Err(Invalid::new(
            "visitors",
            match nearest(word, VISITORS) {
                Some(near) => format!("{word:?}: did you mean {near}?"),
                None => format!("{word:?}: must be one of {}", VISITORS.join(", ")),
            },
        )),
    }
}

fn is_set(value: Option<&String>) -> bool {
    value.is_some_and(|value| !value.trim().is_empty())
}

/// Returns the trimmed text; `None` if nothing remains.
fn text(field: &'static str, value: Option<&str>) -> Result<Option<String>, Invalid> {
    text_of(field, value, MAX_CHARS)
}

fn text_of(
    field: &'static str,
    value: Option<&str>,
    max_chars: usize,
) -> Result<Option<String>, Invalid> {
    let Some(value) = value.map(str::trim).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    if value.chars().count() > max_chars {
        let reason = format!("longer than {max_chars} characters");
        Err(Invalid::new(field, reason))
    } else if value.chars().any(char::is_control) {
        Err(Invalid::new(field, "contains a control character"))
    } else {
        Ok(Some(value.to_owned()))
    }
}

fn number(field: &'static str, value: Option<u32>, default: u32, max: u32) -> Result<u32, Invalid> {
    let value = value.unwrap_or(default);
    if (1..=max).contains(&value) {
        Ok(value)
    } else {
        Err(Invalid::new(
            field,
            format!("must be a number from 1 to {max}"),
        ))
    }
}

fn check_path(path: &str) -> Result<(), Invalid> {
    let policy = Policy::builder().filter_patterns([path]).redirect_url("");
    match policy.build() {
        Ok(policy) if policy.filter_patterns().next().is_some() => Ok(()),
        Ok(_) => Err(Invalid::new("path", "must be a path pattern such as /a/*")),
        Err(PolicyError::FilterPattern { reason, .. }) => Err(Invalid::new("path", reason)),
        Err(other) => Err(Invalid::new("path", other.to_string())),
    }
}
