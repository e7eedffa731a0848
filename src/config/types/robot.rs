//! Types of settings for the site robot.

use std::fmt;

use crate::config::{
    Kind, Value,
    setting::{Item, Setting},
};
use crate::filter::CommandLine;
use crate::site_robot::source::Credentials;

/// The maximum number of links to follow from a starting point.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Depth(Option<u32>);

impl Depth {
    /// Returns the maximum number of links; `None` means no limit.
    #[must_use]
    pub fn links(self) -> Option<u32> {
        self.0
    }
}

/// A negative depth means no limit.
impl Setting for Depth {
    const KIND: Kind = Kind::Integer {
        min: -1,
        max: 0xffff_ffff,
    };

    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Integer(-1) => Ok(Self(None)),
            value => u32::read(value).map(|links| Self(Some(links))),
        }
    }
}

/// Settings in robot.conf syntax, one per line.
#[derive(Clone, Debug)]
pub struct RobotLines(String);

impl RobotLines {
    /// Returns the settings in the format of a robot.conf file.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }
}

/// Passwords in the settings are not shown.
impl Setting for RobotLines {
    const KIND: Kind = Kind::List;

    fn read(value: &Value) -> Result<Self, String> {
        Ok(Self(value.items()?.join("\n")))
    }

    fn shown(value: &Value) -> String {
        let line = |line: &String| match line.split_once('=') {
            Some((key, _)) if key.trim().eq_ignore_ascii_case("password") => {
                "password=***".to_owned()
            }
            _ => line.clone(),
        };
        let lines = value.items().unwrap_or_default().iter().map(line);
        lines.collect::<Vec<_>>().join(", ")
    }

    fn absent() -> Option<Self> {
        Some(Self(String::new()))
    }
}

/// Form fields with their values, as `NAME=VALUE`.
#[derive(Clone, Default)]
pub struct FormFields(Vec<(String, String)>);

impl FormFields {
    /// Returns the names and values of the form fields, in order.
    #[must_use]
    pub fn pairs(&self) -> &[(String, String)] {
        &self.0
    }
}

/// Values of form fields may be secret and are not shown.
impl Setting for FormFields {
    const KIND: Kind = Kind::List;

    fn read(value: &Value) -> Result<Self, String> {
        let pair = |line: &String| {
            let (name, value) = line.split_once('=')?;
            let name = name.trim();
            (!name.is_empty()).then(|| (name.to_owned(), value.trim().to_owned()))
        };
        let pairs: Option<Vec<_>> = value.items()?.iter().map(pair).collect();
        let example = "write a field as NAME=VALUE, such as user=site-robot";
        pairs.map(Self).ok_or_else(|| example.to_owned())
    }

    fn shown(value: &Value) -> String {
        let name = |line: &String| {
            line.split_once('=')
                .map_or("***".to_owned(), |(name, _)| format!("{name}=***"))
        };
        let names = value.items().unwrap_or_default().iter().map(name);
        names.collect::<Vec<_>>().join(", ")
    }

    fn absent() -> Option<Self> {
        Some(Self::default())
    }
}

impl fmt::Debug for FormFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|(name, _)| name))
            .finish()
    }
}

/// Hosts whose robots.txt is always obeyed, never obeyed, or obeyed according to the general
/// setting.
#[derive(Clone, Debug, Default)]
pub struct HostRobots(Vec<(String, Option<bool>)>);

impl HostRobots {
    /// Returns the hosts that have their own setting, each with `true` if its robots.txt is obeyed.
    #[must_use]
    pub fn obeyed(&self) -> Vec<(String, bool)> {
        let said = self.0.iter();
        said.filter_map(|(host, obeys)| Some((host.clone(), (*obeys)?)))
            .collect()
    }
}

impl Setting for HostRobots {
    const KIND: Kind = Kind::List;

    fn read(value: &Value) -> Result<Self, String> {
        let one = |line: &String| {
            let (host, word) = line.split_once('=')?;
            let obeys = match word.trim() {
                "inherit" => None,
                "always" => Some(true),
                "never" => Some(false),
                _ => return None,
            };
            let host = host.trim();
            (!host.is_empty()).then(|| (host.to_ascii_lowercase(), obeys))
        };
        let hosts: Option<Vec<_>> = value.items()?.iter().map(one).collect();
        let example =
            "write HOST=inherit, HOST=always or HOST=never, such as www.example.com=always";
        hosts.map(Self).ok_or_else(|| example.to_owned())
    }

    fn absent() -> Option<Self> {
        Some(Self::default())
    }
}

/// Media type of documents, and the program that converts them to HTML.
impl Item for (String, CommandLine) {
    fn read_item(line: &str) -> Result<Self, String> {
        let read = || {
            // Words are split only at spaces: no shell parses the line, so quotes have no special
            // meaning.
            let (media_type, command) = line.split_once('=')?;
            let mut words = command.split_whitespace();
            let program = CommandLine::new(words.next()?);
            let command = words.fold(program, CommandLine::argument);
            Some((media_type.trim().to_ascii_lowercase(), command))
        };
        let example = "write a converter such as application/pdf=pdftohtml -stdout -i - -";
        read().ok_or_else(|| example.to_owned())
    }
}

/// Login of the site robot: `bearer TOKEN`, `cookie NAME=VALUE` or `basic NAME:PASSWORD`.
///
/// Errors describe the valid values and never contain the secret.
impl Setting for Credentials {
    const KIND: Kind = Kind::Text;
    const IS_SECRET: bool = true;

    fn read(value: &Value) -> Result<Self, String> {
        let text = value.text()?;
        let (kind, secret) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let secret = secret.trim();
        let credentials = match kind.to_ascii_lowercase().as_str() {
            "bearer" if !secret.is_empty() => Some(Self::Bearer(secret.to_owned())),
            "cookie" if secret.contains('=') => Some(Self::Cookie(secret.to_owned())),
            // A password may contain a colon, but a user name may not (RFC 7617 §2).
            "basic" => secret
                .split_once(':')
                .map(|(username, password)| Self::Basic {
                    username: username.to_owned(),
                    password: password.to_owned(),
                }),
            _ => None,
        };
        credentials.ok_or_else(|| {
            "the login is neither bearer TOKEN, nor cookie NAME=VALUE, nor basic NAME:PASSWORD"
                .to_owned()
        })
    }

    fn shown(value: &Value) -> String {
        let kind = value.text().unwrap_or_default().split_whitespace().next();
        // Settings appear on the admin page and in the output of commands.
        kind.map_or_else(String::new, |kind| format!("{kind} ***"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(text: &str) -> Result<Option<Credentials>, String> {
        Setting::read(&Value::Text(text.to_owned()))
    }

    #[test]
    fn three_kinds_of_login_are_parsed() {
        let kind = |text: &str| login(text).map(|found| found.map(|found| format!("{found:?}")));
        assert_eq!(kind(" ").unwrap(), None);
        assert_eq!(kind("bearer t0ken").unwrap().unwrap(), "Bearer(..)");
        assert_eq!(kind("Cookie a=b; c=d").unwrap().unwrap(), "Cookie(..)");
        assert_eq!(kind("basic me:a:b").unwrap().unwrap(), "Basic { .. }");
    }

    #[test]
    fn form_fields_are_parsed_and_only_names_are_shown() {
        let value = Value::List(vec!["user=a=b".to_owned(), "pin= 17".to_owned()]);
        let fields = FormFields::read(&value).unwrap();
        let pairs = [("user", "a=b"), ("pin", "17")].map(|(n, v)| (n.to_owned(), v.to_owned()));
        assert_eq!(fields.pairs(), pairs);
        assert_eq!(FormFields::shown(&value), "user=***, pin=***");
        assert_eq!(format!("{fields:?}"), "[\"user\", \"pin\"]");
        let error = FormFields::read(&Value::List(vec!["geheim".to_owned()])).unwrap_err();
        assert!(
            error.contains("NAME=VALUE") && !error.contains("geheim"),
            "{error}"
        );
    }

    #[test]
    fn invalid_login_is_refused_without_revealing_it() {
        for text in ["bearer", "cookie geheim", "basic geheim", "geheim"] {
            let error = login(text).unwrap_err();
            assert!(!error.contains("geheim"), "{error}");
        }
    }
}
