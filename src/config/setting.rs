//! Conversion of values into the types of settings.

use std::{path::PathBuf, time::Duration};

use super::{Key, Kind, Value, key::Words};

/// A Rust type for the value of a setting.
pub(super) trait Setting: Sized {
    /// The kind of the setting's value.
    const KIND: Kind;

    /// Whether an empty string is a valid value, rather than unsetting the key.
    const MAY_BE_EMPTY: bool = false;

    /// Whether the value is a secret, which `KEY_file` can instead read from a file.
    const IS_SECRET: bool = false;

    /// Converts a value of the right kind to this type.
    ///
    /// # Errors
    ///
    /// Returns an error that describes the valid values.
    fn read(value: &Value) -> Result<Self, String>;

    /// Formats a value for display, without passwords.
    fn shown(value: &Value) -> String {
        value.plain()
    }

    /// Returns the value that represents an unset key, if the type has such a value.
    fn absent() -> Option<Self> {
        None
    }
}

/// A Rust type for a string value, which is used alone or in a list.
pub(super) trait Item: Sized {
    /// The allowed words, if other strings are not allowed.
    const WORDS: Option<Words> = None;

    /// Converts an item of a list to this type.
    ///
    /// # Errors
    ///
    /// Returns an error that describes the valid values.
    fn read_item(text: &str) -> Result<Self, String>;
}

/// The settings of a table in the configuration file.
pub(super) trait Section: Default {
    /// The name of the table with a final dot; empty for keys outside any table.
    const PREFIX: &'static str;

    /// Keys of the table, in the order used in the documentation.
    const KEYS: &'static [Key];

    /// Sets the field for the key `name`; returns `true` if the field exists.
    ///
    /// # Errors
    ///
    /// Returns an error that describes the valid values.
    fn set(&mut self, name: &str, value: &Value) -> Result<bool, String>;

    /// Copies the field for a key from `other`, if the field exists.
    fn take(&mut self, name: &str, other: &Self);
}

/// Returns the default value of a key.
pub(super) fn default_value<T: Setting>(key: &Key) -> T {
    Value::parse(key.kind, key.default)
        .and_then(|value| T::read(&value))
        .expect("every default should have the right kind, as tested in `config`")
}

/// Returns the value of an unset key.
pub(super) fn unset_value<T: Setting>() -> T {
    T::absent().expect(
        "a key without a default should be a string, a list or optional, as tested in `config`",
    )
}

impl Value {
    /// Formats the value for display.
    pub(super) fn plain(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::List(items) => items.join(", "),
            other => other.to_string(),
        }
    }

    /// Returns the string without surrounding white space.
    pub(super) fn text(&self) -> Result<&str, String> {
        match self {
            Self::Text(text) => Ok(text.trim()),
            other => Err(not_a(other, Kind::Text)),
        }
    }

    /// Returns the items of a list unchanged.
    pub(super) fn items(&self) -> Result<&[String], String> {
        match self {
            Self::List(items) => Ok(items),
            other => Err(not_a(other, Kind::List)),
        }
    }
}

fn not_a(value: &Value, kind: Kind) -> String {
    format!("{value} is not {}", kind.describe())
}

impl Setting for String {
    const KIND: Kind = Kind::Text;
    const MAY_BE_EMPTY: bool = true;

    fn read(value: &Value) -> Result<Self, String> {
        value.text().map(str::to_owned)
    }

    fn absent() -> Option<Self> {
        Some(Self::new())
    }
}

impl Setting for PathBuf {
    const KIND: Kind = Kind::Text;

    fn read(value: &Value) -> Result<Self, String> {
        value.text().map(Self::from)
    }
}

impl Setting for bool {
    const KIND: Kind = Kind::Bool;

    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Bool(flag) => Ok(*flag),
            other => Err(not_a(other, Self::KIND)),
        }
    }
}

macro_rules! numbers {
    ($($type:ty: $max:expr;)*) => {$(
        impl Setting for $type {
            const KIND: Kind = Kind::Integer { min: 0, max: $max };

            fn read(value: &Value) -> Result<Self, String> {
                let number = match value {
                    Value::Integer(number) => Self::try_from(*number).ok(),
                    _ => None,
                };
                number.ok_or_else(|| not_a(value, Self::KIND))
            }
        }
    )*};
}

// A TOML integer is a signed 64-bit number (TOML v1.0.0, Integer), so no value is larger.
numbers! {
    u16: 0xffff;
    u32: 0xffff_ffff;
    u64: i64::MAX;
    usize: i64::MAX;
}

/// Durations in seconds, from one second to one day unless the key sets other limits.
impl Setting for Duration {
    const KIND: Kind = Kind::Integer {
        min: 1,
        max: 86_400,
    };

    fn read(value: &Value) -> Result<Self, String> {
        u64::read(value).map(Self::from_secs)
    }
}

/// An empty string means `None`, unless the type accepts an empty string.
impl<T: Setting> Setting for Option<T> {
    const KIND: Kind = T::KIND;
    const IS_SECRET: bool = T::IS_SECRET;

    fn read(value: &Value) -> Result<Self, String> {
        match value {
            // An environment variable can thereby reset a value set in the file.
            Value::Text(text) if !T::MAY_BE_EMPTY && text.trim().is_empty() => Ok(None),
            value => T::read(value).map(Some),
        }
    }

    fn shown(value: &Value) -> String {
        T::shown(value)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: Item> Setting for Vec<T> {
    const KIND: Kind = match T::WORDS {
        Some(words) => Kind::Words(words),
        None => Kind::List,
    };

    fn read(value: &Value) -> Result<Self, String> {
        value
            .items()?
            .iter()
            .map(|item| T::read_item(item))
            .collect()
    }

    fn absent() -> Option<Self> {
        Some(Self::new())
    }
}

/// Reads a map as pairs of a name and a string.
impl Setting for Vec<(String, String)> {
    const KIND: Kind = Kind::Map;

    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Map(items) => Ok(items.clone()),
            other => Err(not_a(other, Self::KIND)),
        }
    }

    fn absent() -> Option<Self> {
        Some(Self::new())
    }
}

impl Item for String {
    fn read_item(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }
}
