//! `[[source]]`, `[[rule]]` and `[[x_robots_tag]]` as typed values.

use std::collections::BTreeMap;

use robot_detection_site_robot::spelling::unknown;

use super::{ConfigError, ConfigErrors, Value, file::Table};

/// Registry that is published at a place which is known.
#[derive(Debug)]
struct Preset {
    /// Its name, that of its format too.
    name: &'static str,
    url: &'static str,
    interval_days: u32,
}

/// Every preset of a `[[source]]`.
const PRESETS: &[Preset] = &[
    Preset {
        name: "crawler-user-agents",
        url: "https://raw.githubusercontent.com/monperrus/crawler-user-agents/master/crawler-user-agents.json",
        interval_days: 7,
    },
    Preset {
        name: "ai-robots-txt",
        url: "https://raw.githubusercontent.com/ai-robots-txt/ai.robots.txt/main/robots.json",
        interval_days: 7,
    },
];

/// One `[[source]]`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SourceSettings {
    /// Name, unique.
    pub name: String,
    /// URL or path.
    pub url: String,
    /// Word for the format; empty: that of the Web Robots Database.
    pub format: String,
    /// Days between two refreshes; `None`: `refresh_interval_days`.
    pub interval_days: Option<u32>,
    /// Where it stands, for errors.
    pub origin: String,
}

/// Conditions of a `[[rule]]` or `[[x_robots_tag]]`; a list that is `None` was not set.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct WhenSettings {
    /// Globs of paths.
    pub paths: Option<Vec<String>>,
    /// Names of methods.
    pub methods: Option<Vec<String>>,
    /// Names of hosts.
    pub hosts: Option<Vec<String>>,
    /// Ids of robots.
    pub robots: Option<Vec<String>>,
    /// Words for purposes.
    pub purposes: Option<Vec<String>>,
    /// Names of operators.
    pub operators: Option<Vec<String>>,
    /// Names of registries.
    pub sources: Option<Vec<String>>,
    /// Unlisted robots only, or listed ones only.
    pub unlisted: Option<bool>,
    /// Words for kinds of visitors.
    pub visitors: Option<Vec<String>>,
    /// Words for verdicts.
    pub verdicts: Option<Vec<String>>,
}

/// One `[[rule]]`; what is `None` was not set.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RuleSettings {
    /// Name; empty: none.
    pub name: String,
    /// Conditions.
    pub when: WhenSettings,
    /// Word for the action.
    pub action: String,
    /// Where robots are sent, or the page that is served in place.
    pub redirect_url: Option<String>,
    /// Status of a refusal.
    pub status: Option<u16>,
    /// Text for whom is refused or slowed down.
    pub text: Option<String>,
    /// Requests that are let through in a period.
    pub requests: Option<u32>,
    /// Seconds of the period.
    pub per_seconds: Option<u32>,
    /// Requests that may come at once.
    pub burst: Option<u32>,
    /// Milliseconds that it waits for a verdict.
    pub wait_milliseconds: Option<u32>,
    /// Where it stands, for errors and reasons.
    pub origin: String,
    /// Where each of its keys stands.
    origins: BTreeMap<&'static str, String>,
}

/// One `[[x_robots_tag]]`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TagSettings {
    /// Value of the header.
    pub value: String,
    /// Conditions.
    pub when: WhenSettings,
    /// Where it stands, for errors and reasons.
    pub origin: String,
    /// Where each of its keys stands.
    origins: BTreeMap<&'static str, String>,
}

impl SourceSettings {
    pub(super) fn new(file: &str, table: &Table) -> Result<Self, ConfigError> {
        let mut source = Self {
            origin: format!("{file}:{}", table.line),
            ..Self::default()
        };
        for (name, value, line) in &table.values {
            if let ("preset", Value::Text(word)) = (*name, value) {
                source.preset(word).map_err(|message| ConfigError {
                    origin: format!("{file}:{line}"),
                    message,
                })?;
            }
        }
        for (name, value, _) in &table.values {
            match (*name, value) {
                ("name", Value::Text(text)) => source.name.clone_from(text),
                ("url", Value::Text(text)) => source.url.clone_from(text),
                ("format", Value::Text(text)) => source.format.clone_from(text),
                ("interval_days", Value::Integer(days)) => {
                    source.interval_days = u32::try_from(*days).ok();
                }
                _ => {}
            }
        }
        if source.name.is_empty() || source.url.is_empty() {
            return Err(ConfigError {
                origin: source.origin,
                message: "a [[source]] needs a name and a url, or a preset such as \"crawler-user-agents\"".to_owned(),
            });
        }
        Ok(source)
    }

    /// Takes all that a preset says; keys that are set count before it.
    fn preset(&mut self, word: &str) -> Result<(), String> {
        let preset = PRESETS.iter().find(|preset| preset.name == word.trim());
        let preset = preset.ok_or_else(|| {
            let names = PRESETS.iter().map(|preset| preset.name);
            unknown("preset of a [[source]]", word, names)
        })?;
        preset.name.clone_into(&mut self.name);
        preset.url.clone_into(&mut self.url);
        preset.name.clone_into(&mut self.format);
        self.interval_days = Some(preset.interval_days);
        Ok(())
    }

    /// Returns `true` if both are the same, wherever they stand.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let what = |source: &Self| {
            let Self {
                name, url, format, ..
            } = source.clone();
            (name, url, format, source.interval_days)
        };
        what(self) == what(other)
    }
}

impl WhenSettings {
    /// Takes the value of a condition.
    fn set(&mut self, name: &str, value: Value) {
        match (name, value) {
            ("path", Value::List(items)) => self.paths = Some(items),
            ("methods", Value::List(items)) => self.methods = Some(items),
            ("hosts", Value::List(items)) => self.hosts = Some(items),
            ("robots", Value::List(items)) => self.robots = Some(items),
            ("purposes", Value::List(items)) => self.purposes = Some(items),
            ("operators", Value::List(items)) => self.operators = Some(items),
            ("sources", Value::List(items)) => self.sources = Some(items),
            ("unlisted", Value::Bool(unlisted)) => self.unlisted = Some(unlisted),
            ("visitors", Value::List(items)) => self.visitors = Some(items),
            ("verdicts", Value::List(items)) => self.verdicts = Some(items),
            _ => {}
        }
    }
}

impl RuleSettings {
    pub(super) fn new(file: &str, table: &Table) -> Result<Self, ConfigError> {
        let mut rule = Self {
            origin: format!("{file}:{}", table.line),
            ..Self::default()
        };
        for (name, value, line) in &table.values {
            rule.origins.insert(name, format!("{file}:{line}"));
            match (*name, value.clone()) {
                ("name", Value::Text(text)) => rule.name = text,
                ("action", Value::Text(text)) => rule.action = text,
                ("redirect_url", Value::Text(text)) => rule.redirect_url = Some(text),
                ("status", Value::Integer(status)) => rule.status = u16::try_from(status).ok(),
                ("text", Value::Text(text)) => rule.text = Some(text),
                ("requests", Value::Integer(number)) => rule.requests = number.try_into().ok(),
                ("per_seconds", Value::Integer(number)) => {
                    rule.per_seconds = number.try_into().ok();
                }
                ("burst", Value::Integer(number)) => rule.burst = number.try_into().ok(),
                ("wait_milliseconds", Value::Integer(number)) => {
                    rule.wait_milliseconds = number.try_into().ok();
                }
                (name, value) => rule.when.set(name, value),
            }
        }
        if rule.action.is_empty() {
            return Err(ConfigError {
                origin: rule.origin,
                message: "a [[rule]] needs an action, such as action = \"pass\"".to_owned(),
            });
        }
        Ok(rule)
    }

    /// Creates the error of a value that turned out wrong later.
    #[must_use]
    pub fn wrong(&self, key: &str, reason: impl std::fmt::Display) -> ConfigErrors {
        ConfigErrors::from(ConfigError {
            origin: self.origins.get(key).unwrap_or(&self.origin).clone(),
            message: format!("rule.{key}: {reason}"),
        })
    }
}

impl TagSettings {
    pub(super) fn new(file: &str, table: &Table) -> Result<Self, ConfigError> {
        let mut tag = Self {
            origin: format!("{file}:{}", table.line),
            ..Self::default()
        };
        for (name, value, line) in &table.values {
            tag.origins.insert(name, format!("{file}:{line}"));
            match (*name, value.clone()) {
                ("value", Value::Text(text)) => tag.value = text,
                (name, value) => tag.when.set(name, value),
            }
        }
        if tag.value.is_empty() {
            return Err(ConfigError {
                origin: tag.origin,
                message: "an [[x_robots_tag]] needs a value, such as value = \"noindex\""
                    .to_owned(),
            });
        }
        Ok(tag)
    }

    /// Creates the error of a value that turned out wrong later.
    #[must_use]
    pub fn wrong(&self, key: &str, reason: impl std::fmt::Display) -> ConfigErrors {
        ConfigErrors::from(ConfigError {
            origin: self.origins.get(key).unwrap_or(&self.origin).clone(),
            message: format!("x_robots_tag.{key}: {reason}"),
        })
    }
}
