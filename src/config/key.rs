//! Definition of a configuration key.

use std::fmt;

use super::{Value, sections::KEYS};

/// A configuration key, with its name, kind of value, default and help text.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Key {
    /// The name of the key in the file, including its table and a dot.
    pub name: &'static str,
    /// The name of the key without its table.
    pub short_name: &'static str,
    /// The name of the key in the original package, which is also accepted.
    pub old_name: Option<&'static str>,
    /// The kind of value that the key accepts.
    pub kind: Kind,
    /// The default value, written as in an environment variable.
    pub default: &'static str,
    /// The help text, including units.
    pub help: &'static str,
    /// Places where the key may be set, and how a change takes effect.
    pub reach: Reach,
    /// A function that formats a value for display, without passwords.
    pub shown: fn(&Value) -> String,
    /// Whether the value is a secret, which `KEY_file` can instead read from a file.
    pub is_secret: bool,
}

/// The places where a key may be set, and how a change takes effect.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reach {
    /// A process-wide setting; a change takes effect at the next start.
    Process,
    /// A process-wide setting; a change takes effect on reload.
    Live,
    /// A setting that a `[[site]]` may override; a change takes effect on reload.
    Site,
}

impl Key {
    /// Creates a key in the table whose name is the given prefix.
    pub(super) const fn new(
        prefix: &'static str,
        name: &'static str,
        kind: Kind,
        reach: Reach,
    ) -> Self {
        // Evaluated at compile time, so an invalid prefix cannot occur at run time.
        let (_, short_name) = name.split_at(prefix.len());
        Self {
            name,
            short_name,
            old_name: None,
            kind,
            default: "",
            help: "",
            reach,
            shown: Value::plain,
            is_secret: false,
        }
    }

    /// Returns the name of the key's table with a final dot; empty for a key outside any table.
    pub(super) fn prefix(&self) -> &'static str {
        self.name.strip_suffix(self.short_name).unwrap_or_default()
    }

    /// Returns the name of the environment variable that sets the key.
    #[must_use]
    pub fn variable(&self) -> String {
        let name = self.name.replace('.', "_").to_ascii_uppercase();
        format!("ROBOT_DETECTION_{name}")
    }

    /// Returns the key with the given name, or with this name in the original package.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        KEYS.iter()
            .find(|key| key.name == name || key.old_name == Some(name))
    }

    /// Returns the key `KEY`, whose value is a secret, for a name of the form `KEY_file`.
    pub(super) fn find_secret(
        name: &str,
        suffix: &str,
        find: impl FnOnce(&str) -> Option<&'static Self>,
    ) -> Option<&'static Self> {
        find(name.strip_suffix(suffix)?).filter(|key| key.is_secret)
    }

    /// Returns `true` if a `[[site]]` may override the key.
    #[must_use]
    pub fn is_per_site(&self) -> bool {
        self.reach == Reach::Site
    }

    /// Returns `true` if a change of the key's value takes effect on reload.
    #[must_use]
    pub fn is_reloaded(&self) -> bool {
        self.reach != Reach::Process
    }
}

/// A function that returns the words allowed as a value, in the order used in the documentation.
pub type Words = fn() -> Vec<&'static str>;

/// The kind of value that a key accepts.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// A string.
    Text,
    /// One of several allowed words.
    Word(Words),
    /// A whole number in a range.
    Integer {
        /// The smallest valid number.
        min: i64,
        /// The largest valid number.
        max: i64,
    },
    /// `true` or `false`.
    Bool,
    /// A list of strings, or one comma-separated string.
    List,
    /// A list of words, or one comma-separated string.
    Words(Words),
    /// A list of whole numbers, or a single number.
    Numbers,
    /// A list of strings, or one string in which a comma is part of the text.
    Lines,
    /// A map from names to a string or a list of strings; only in repeatable tables.
    Map,
}

impl Kind {
    /// Returns a description of the kind, for errors of the form "VALUE is not KIND".
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Text | Self::Word(_) => "a string in quotes",
            Self::Integer { .. } => "a whole number",
            Self::Bool => "true or false",
            Self::List | Self::Words(_) => "a list of strings, or one comma-separated string",
            Self::Numbers => "a list of whole numbers, or a single number",
            Self::Lines => "a string in quotes, or a list of strings",
            Self::Map => "a table of names and strings, such as { \"Link\" = \"…\" }",
        }
    }

    /// Returns the words allowed for the value, or for each item of a list.
    #[must_use]
    pub fn words(self) -> Option<Vec<&'static str>> {
        match self {
            Self::Word(words) | Self::Words(words) => Some(words()),
            _ => None,
        }
    }

    /// Returns a value kind for whole numbers within the given range.
    pub(super) const fn within(self, min: i64, max: i64) -> Self {
        match self {
            Self::Integer { .. } => Self::Integer { min, max },
            other => other,
        }
    }
}

/// The maximum number of configuration errors shown at once.
pub const MOST_ERRORS: usize = 20;

/// A configuration error and its place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConfigError {
    /// The place of the error, such as `robot-detection.toml:7`, `environment variable …`,
    /// `--listen`.
    pub origin: String,
    /// The description of the error and of how to correct it.
    pub message: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.message)
    }
}

impl std::error::Error for ConfigError {}

/// All errors in a configuration, one per line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().take(MOST_ERRORS).enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        match self.0.len().saturating_sub(MOST_ERRORS) {
            0 => Ok(()),
            more => write!(f, "\nand {more} more errors"),
        }
    }
}

impl std::error::Error for ConfigErrors {}

impl From<ConfigError> for ConfigErrors {
    fn from(error: ConfigError) -> Self {
        Self(vec![error])
    }
}
