//! What a key of robot.conf is.

use crate::filter::boolean;
use crate::spelling::{nearest, quoted};

use super::KEYS;

/// Key of robot.conf: what it is called, what it may be, what it is without being set.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct RobotKey {
    /// Name, as the reference writes it; upper and lower case are the same.
    pub name: &'static str,
    /// Another name for it in the reference.
    pub alias: Option<&'static str>,
    /// Kind of its values.
    pub kind: RobotKeyKind,
    /// Default; empty for none.
    pub default: &'static str,
    /// Meaning, with units.
    pub help: &'static str,
}

/// Kind of a key's values.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum RobotKeyKind {
    /// Text.
    Text,
    /// Text that is never shown.
    Secret,
    /// Whole number in a range.
    Integer(i64, i64),
    /// Seconds from 0 on, with decimals.
    Seconds,
    /// `true`, `yes`, `false` or `no`.
    Boolean,
    /// One of several words.
    Choice(&'static [&'static str]),
}

use RobotKeyKind::{Boolean, Choice, Integer, Seconds, Secret, Text};

impl RobotKey {
    pub(super) const fn new(
        name: &'static str,
        kind: RobotKeyKind,
        default: &'static str,
        help: &'static str,
    ) -> Self {
        Self {
            name,
            alias: None,
            kind,
            default,
            help,
        }
    }

    /// Returns the key of that name or alias; `_` is `-`, upper and lower case are the same.
    pub fn find(name: &str) -> Option<&'static Self> {
        let name = name.replace('_', "-");
        let same = |known: &str| known.eq_ignore_ascii_case(&name);
        KEYS.iter()
            .find(|key| same(key.name) || key.alias.is_some_and(same))
    }

    /// Returns what to say of a name that is no key.
    pub(super) fn unknown(name: &str) -> String {
        let name_shown = quoted(name);
        match nearest(name, KEYS.iter().map(|key| key.name).chain(["seed"])) {
            Some(near) => format!("{name_shown} is no key of robot.conf; did you mean {near:?}?"),
            None => format!("{name_shown} is no key of robot.conf"),
        }
    }

    /// Returns a value in its normal form.
    ///
    /// # Errors
    ///
    /// Fails where the key may not have the value.
    pub fn normalise(&self, value: &str) -> Result<String, String> {
        let value = value.trim();
        let found = match self.kind {
            Text | Secret => Some(value.to_owned()),
            Integer(min, max) => value
                .parse::<i64>()
                .ok()
                .filter(|number| (min..=max).contains(number))
                .map(|number| number.to_string()),
            Seconds => value
                .parse::<f64>()
                .ok()
                .filter(|seconds| (0.0..=86_400.0).contains(seconds))
                .map(|seconds| seconds.to_string()),
            Boolean => boolean(value).map(|value| value.to_string()),
            Choice(words) => words
                .iter()
                .find(|word| word.eq_ignore_ascii_case(value))
                .map(|word| (*word).to_owned()),
        };
        found.ok_or_else(|| {
            format!(
                "{}={} is not {}",
                self.name,
                quoted(value),
                self.kind.text()
            )
        })
    }
}

impl RobotKeyKind {
    fn text(self) -> String {
        match self {
            Text | Secret => "a text".to_owned(),
            Integer(min, max) => format!("a whole number from {min} to {max}"),
            Seconds => "a number of seconds from 0 to 86400".to_owned(),
            Boolean => "true, yes, false or no".to_owned(),
            Choice(words) => format!("one of {}", words.join(", ")),
        }
    }
}
