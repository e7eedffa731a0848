//! What a setting is.

use super::keys::KEYS;

/// Setting: what it is called, what it may be, what it is without being set.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Name in the file; a dot stands between table and key.
    pub name: &'static str,
    /// Name in the original package, accepted as well.
    pub old_name: Option<&'static str>,
    /// What its value may be.
    pub kind: Kind,
    /// Default, as an environment variable would spell it.
    pub default: &'static str,
    /// Meaning, with units.
    pub help: &'static str,
}

impl Key {
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
}

/// Kind of a value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// Text.
    Text,
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
}

impl Kind {
    /// Returns words for an error: "is not …".
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Text => "a text in quotes",
            Self::Integer { .. } => "a whole number",
            Self::Bool => "true or false",
            Self::List => "a list of texts, or one text with commas",
        }
    }
}

pub(super) const SECONDS: Kind = Kind::Integer {
    min: 1,
    max: 86_400,
};

pub(super) const fn key(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    help: &'static str,
) -> Key {
    Key {
        name,
        old_name: None,
        kind,
        default,
        help,
    }
}

pub(super) const fn old(old_name: &'static str, key: Key) -> Key {
    Key {
        old_name: Some(old_name),
        ..key
    }
}
