//! Definition of the robot.conf keys.

use crate::filter::boolean;
use crate::spelling::{nearest, quoted};

use super::KEYS;

/// A key of robot.conf, with its name, allowed values and default.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct RobotKey {
    /// Name of the key, as in Sun's reference; case-insensitive.
    pub name: &'static str,
    /// Alternative name of the key in Sun's reference.
    pub alias: Option<&'static str>,
    /// Kind of values that the key accepts.
    pub kind: RobotKeyKind,
    /// Default value; empty if there is none.
    pub default: &'static str,
    /// Description of the key, including units.
    pub help: &'static str,
}

/// Kind of values that a key accepts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum RobotKeyKind {
    /// A text value.
    Text,
    /// A text value that is never displayed.
    Secret,
    /// An integer in a range.
    Integer(i64, i64),
    /// A non-negative number of seconds, which may have decimals.
    Seconds,
    /// One of the words `true`, `yes`, `false` and `no`.
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

    /// Returns the key with the given name or alias; case is ignored, and `_` is equivalent to `-`.
    pub fn find(name: &str) -> Option<&'static Self> {
        let name = name.replace('_', "-");
        let same = |known: &str| known.eq_ignore_ascii_case(&name);
        KEYS.iter()
            .find(|key| same(key.name) || key.alias.is_some_and(same))
    }

    /// Returns the error message for an unknown key.
    pub(super) fn unknown(name: &str) -> String {
        let name_shown = quoted(name);
        match nearest(name, KEYS.iter().map(|key| key.name).chain(["seed"])) {
            Some(near) => {
                format!("{name_shown} is not a key of robot.conf; did you mean {near:?}?")
            }
            None => format!("{name_shown} is not a key of robot.conf"),
        }
    }

    /// Returns a value in its normal form.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not allowed for the key.
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
