//! `[[robots_txt.host]]` as typed values.

use std::{collections::BTreeMap, time::Duration};

use super::{ConfigError, ConfigErrors, Value, file::Table};

/// One `[[robots_txt.host]]`; what is `None` is as in `[robots_txt]`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RobotsTxtHostSettings {
    /// Names of the hosts, with a port that is not the default.
    pub hosts: Vec<String>,
    /// Name of the one that the others mirror.
    pub main_mirror: Option<String>,
    /// Word for what is served.
    pub serve: Option<String>,
    /// File that is served.
    pub file: Option<String>,
    /// Words for purposes of robots that are refused everything.
    pub refuse_purposes: Option<Vec<String>>,
    /// Ids of robots that are refused everything.
    pub refuse_robots: Option<Vec<String>>,
    /// Paths that everybody is refused.
    pub disallow: Option<Vec<String>>,
    /// Paths below these that everybody is allowed.
    pub allow: Option<Vec<String>>,
    /// Pause between two requests.
    pub crawl_delay: Option<Duration>,
    /// URLs of sitemaps.
    pub sitemaps: Option<Vec<String>>,
    /// Value of `Content-Signal`.
    pub content_signal: Option<String>,
    /// Value of `Content-Usage`.
    pub content_usage: Option<String>,
    /// URL of a licence.
    pub license: Option<String>,
    /// Where it stands, for errors and reasons.
    pub origin: String,
    /// Where each of its keys stands.
    origins: BTreeMap<&'static str, String>,
}

impl RobotsTxtHostSettings {
    pub(super) fn new(file: &str, table: &Table) -> Result<Self, ConfigError> {
        let mut host = Self {
            origin: format!("{file}:{}", table.line),
            ..Self::default()
        };
        for (name, value, line) in &table.values {
            host.origins.insert(name, format!("{file}:{line}"));
            match value.clone() {
                Value::Text(text) => host.set_text(name, &text),
                Value::List(items) => host.set_list(name, items),
                Value::Integer(seconds) => {
                    host.crawl_delay = u64::try_from(seconds).ok().map(Duration::from_secs);
                }
                Value::Bool(_) => {}
            }
        }
        if host.hosts.is_empty() {
            return Err(ConfigError {
                origin: host.origin,
                message: "a [[robots_txt.host]] needs hosts, such as hosts = [\"www.example.com\"]"
                    .to_owned(),
            });
        }
        Ok(host)
    }

    fn set_text(&mut self, name: &str, text: &str) {
        let place = match name {
            "main_mirror" => &mut self.main_mirror,
            "serve" => &mut self.serve,
            "file" => &mut self.file,
            "content_signal" => &mut self.content_signal,
            "content_usage" => &mut self.content_usage,
            "license" => &mut self.license,
            _ => return,
        };
        *place = Some(text.trim().to_owned());
    }

    fn set_list(&mut self, name: &str, items: Vec<String>) {
        let place = match name {
            "hosts" => {
                self.hosts = items;
                return;
            }
            "refuse_purposes" => &mut self.refuse_purposes,
            "refuse_robots" => &mut self.refuse_robots,
            "disallow" => &mut self.disallow,
            "allow" => &mut self.allow,
            "sitemaps" => &mut self.sitemaps,
            _ => return,
        };
        *place = Some(items);
    }

    /// Returns where a key stands, if it was set.
    #[must_use]
    pub fn origin_of(&self, key: &str) -> Option<&str> {
        self.origins.get(key).map(String::as_str)
    }

    /// Creates the error of a value that turned out wrong later.
    #[must_use]
    pub fn wrong(&self, key: &str, reason: impl std::fmt::Display) -> ConfigErrors {
        ConfigErrors::from(ConfigError {
            origin: self.origin_of(key).unwrap_or(&self.origin).to_owned(),
            message: format!("robots_txt.host.{key}: {reason}"),
        })
    }
}
