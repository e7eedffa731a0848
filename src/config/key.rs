//! What a key of the configuration is.

use std::fmt;

use super::{Value, sections::KEYS};

/// Key: what it is called, what it may be, what it is without being set.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Key {
    /// Name in the file, with its table; a dot stands between table and key.
    pub name: &'static str,
    /// Name in its table.
    pub short_name: &'static str,
    /// Name in the original package, accepted as well.
    pub old_name: Option<&'static str>,
    /// What its value may be.
    pub kind: Kind,
    /// Default, as an environment variable would spell it.
    pub default: &'static str,
    /// Meaning, with units.
    pub help: &'static str,
    /// Where it may be set, and when it is taken over.
    pub reach: Reach,
    /// Writes a value as people read it, without passwords.
    pub shown: fn(&Value) -> String,
    /// Whether the value is a secret, which a file named by `KEY_file` may hold as well.
    pub is_secret: bool,
}

/// Where a key may be set, and when a change of it is taken over.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reach {
    /// It is one for the whole process, which takes it over when it starts.
    Process,
    /// It is one for the whole process, and a reload takes it over.
    Live,
    /// A `[[site]]` may set it for itself, and a reload takes it over.
    Site,
}

impl Key {
    /// Creates a key of a table; `prefix` stands before its name.
    pub(super) const fn new(
        prefix: &'static str,
        name: &'static str,
        kind: Kind,
        reach: Reach,
    ) -> Self {
        // At compile time: a prefix that is not one cannot reach a running program.
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

    /// Returns what stands before the name in its table: the table with a dot, or nothing.
    pub(super) fn prefix(&self) -> &'static str {
        self.name.strip_suffix(self.short_name).unwrap_or_default()
    }

    /// Returns the environment variable that sets it.
    #[must_use]
    pub fn variable(&self) -> String {
        let name = self.name.replace('.', "_").to_ascii_uppercase();
        format!("ROBOT_DETECTION_{name}")
    }

    /// Returns the key of that name or old name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        KEYS.iter()
            .find(|key| key.name == name || key.old_name == Some(name))
    }

    /// Returns the key of the secret that the file of a `KEY_file` holds, found by `find`.
    pub(super) fn of_file(
        name: &str,
        suffix: &str,
        find: impl FnOnce(&str) -> Option<&'static Self>,
    ) -> Option<&'static Self> {
        find(name.strip_suffix(suffix)?).filter(|key| key.is_secret)
    }

    /// Returns `true` if a `[[site]]` may set it for itself.
    #[must_use]
    pub fn is_per_site(&self) -> bool {
        self.reach == Reach::Site
    }

    /// Returns `true` if a running process takes over a change of it.
    #[must_use]
    pub fn is_reloaded(&self) -> bool {
        self.reach != Reach::Process
    }
}

/// Words that a value may be, in the order of the documentation.
pub type Words = fn() -> Vec<&'static str>;

/// Kind of a value.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// Text.
    Text,
    /// One of several words.
    Word(Words),
    /// Whole number in a range.
    Integer {
        /// Smallest.
        min: i64,
        /// Largest.
        max: i64,
    },
    /// `true` or `false`.
    Bool,
    /// List of texts, or one text with commas.
    List,
    /// List of words, or one text with commas.
    Words(Words),
    /// List of whole numbers, or one of them.
    Numbers,
    /// List of texts, or one text: a comma is part of it.
    Lines,
    /// Names, each with a text or a list of texts; in tables that can stand several times.
    Map,
}

impl Kind {
    /// Returns words for an error: "is not …".
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Text | Self::Word(_) => "a text in quotes",
            Self::Integer { .. } => "a whole number",
            Self::Bool => "true or false",
            Self::List | Self::Words(_) => "a list of texts, or one text with commas",
            Self::Numbers => "a list of whole numbers, or one of them",
            Self::Lines => "a text in quotes, or a list of texts",
            Self::Map => "a table of names and texts, such as { \"Link\" = \"…\" }",
        }
    }

    /// Returns the words that the value, or each item of it, is one of.
    #[must_use]
    pub fn words(self) -> Option<Vec<&'static str>> {
        match self {
            Self::Word(words) | Self::Words(words) => Some(words()),
            _ => None,
        }
    }

    /// Narrows a number to a range.
    pub(super) const fn within(self, min: i64, max: i64) -> Self {
        match self {
            Self::Integer { .. } => Self::Integer { min, max },
            other => other,
        }
    }
}

/// Errors that are listed at once.
pub const MOST_ERRORS: usize = 20;

/// One thing that is wrong, and where it stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConfigError {
    /// `robot-detection.toml:7`, `environment variable …`, `--listen`.
    pub origin: String,
    /// What is wrong and what would be right.
    pub message: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.message)
    }
}

impl std::error::Error for ConfigError {}

/// All that is wrong with a configuration, one line each.
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
