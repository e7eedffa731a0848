//! What only the site robot is told.

use crate::config::{
    Kind, Value,
    setting::{Item, Setting},
};
use crate::filter::CommandLine;
use crate::site_robot::source::Credentials;

/// Number of links that are followed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Depth(Option<u32>);

impl Depth {
    /// Returns the number; `None` is any.
    #[must_use]
    pub fn links(self) -> Option<u32> {
        self.0
    }
}

/// A number below zero stands for any.
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

/// Lines of robot.conf.
#[derive(Clone, Debug)]
pub struct RobotLines(String);

impl RobotLines {
    /// Returns them as a file has them.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }
}

/// A password among them is not shown.
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

/// Media type of documents, and the program that makes HTML of them.
impl Item for (String, CommandLine) {
    fn read_item(line: &str) -> Result<Self, String> {
        let read = || {
            // Words are split at blanks alone: no shell reads the line, so that quotes mean nothing
            // in it.
            let (media_type, command) = line.split_once('=')?;
            let mut words = command.split_whitespace();
            let program = CommandLine::new(words.next()?);
            let command = words.fold(program, CommandLine::argument);
            Some((media_type.trim().to_ascii_lowercase(), command))
        };
        let example = "write such as application/pdf=pdftohtml -stdout -i - -";
        read().ok_or_else(|| example.to_owned())
    }
}

/// How the site robot logs in: `bearer TOKEN`, `cookie NAME=VALUE` or `basic NAME:PASSWORD`.
///
/// An error tells what would be right, never the secret.
impl Setting for Credentials {
    const KIND: Kind = Kind::Text;

    fn read(value: &Value) -> Result<Self, String> {
        let text = value.text()?;
        let (kind, secret) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let secret = secret.trim();
        let credentials = match kind.to_ascii_lowercase().as_str() {
            "bearer" if !secret.is_empty() => Some(Self::Bearer(secret.to_owned())),
            "cookie" if secret.contains('=') => Some(Self::Cookie(secret.to_owned())),
            // A password may have a colon, a name may not (RFC 7617 §2).
            "basic" => secret
                .split_once(':')
                .map(|(username, password)| Self::Basic {
                    username: username.to_owned(),
                    password: password.to_owned(),
                }),
            _ => None,
        };
        credentials.ok_or_else(|| {
            "it is neither bearer TOKEN, nor cookie NAME=VALUE, nor basic NAME:PASSWORD".to_owned()
        })
    }

    fn shown(value: &Value) -> String {
        let kind = value.text().unwrap_or_default().split_whitespace().next();
        // Settings stand on the admin page and in the output of commands.
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
    fn three_kinds_of_login_are_known() {
        let kind = |text: &str| login(text).map(|found| found.map(|found| format!("{found:?}")));
        assert_eq!(kind(" ").unwrap(), None);
        assert_eq!(kind("bearer t0ken").unwrap().unwrap(), "Bearer(..)");
        assert_eq!(kind("Cookie a=b; c=d").unwrap().unwrap(), "Cookie(..)");
        assert_eq!(kind("basic me:a:b").unwrap().unwrap(), "Basic { .. }");
    }

    #[test]
    fn a_wrong_login_is_refused_without_being_told() {
        for text in ["bearer", "cookie geheim", "basic geheim", "geheim"] {
            let error = login(text).unwrap_err();
            assert!(!error.contains("geheim"), "{error}");
        }
    }
}
