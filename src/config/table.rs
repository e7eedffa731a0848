//! A macro that declares a repeatable table, with its keys and settings.

use std::collections::BTreeMap;

use super::{
    ConfigError, ConfigErrors, Key, Value,
    file::Table,
    setting::{Section, Setting},
};

/// Declares a struct for the settings of a repeatable table, and a struct for its keys.
///
/// The syntax is the same as for [`section!`](super::section::section), without defaults. A field
/// whose type has no value for an unset key is required; if the key is missing, the error is
/// `needs`. `with` specifies a struct of additional keys that several tables share.
macro_rules! table {
    (
        $(#[$attribute:meta])*
        pub struct $Table:ident, $Keys:ident = $name:literal
            $(with $part:ident: $Part:ident)? needs $needs:expr;
        $(
            $(#[doc = $help:literal])+
            $field:ident $(as $key:literal)?: $type:ty $(, $min:literal ..= $max:literal)?;
        )+
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub struct $Table {
            $(
                #[doc = concat!("`", $name, ".", $crate::config::section::key_name!($field $($key)?), "`")]
                #[doc = concat!("```text", $("\n", $help,)+ "\n```")]
                pub $field: $type,
            )+
            $(
                /// Keys shared with other tables.
                pub $part: $Part,
            )?
            place: $crate::config::table::Place,
        }

        #[doc = concat!("Keys of [`", stringify!($Table), "`], one per field.")]
        #[derive(Clone, Copy, Debug)]
        #[non_exhaustive]
        pub struct $Keys {
            $(
                #[doc = concat!("`", $name, ".", $crate::config::section::key_name!($field $($key)?), "`")]
                pub $field: $crate::config::Key,
            )+
        }

        impl $Table {
            /// The keys of the table.
            pub const KEY: $Keys = $Keys {
                $($field: $crate::config::Key {
                    help: concat!($($help),+).trim_ascii_start(),
                    is_secret: <$type as $crate::config::setting::Setting>::IS_SECRET,
                    ..$crate::config::Key::new(
                        concat!($name, "."),
                        concat!($name, ".", $crate::config::section::key_name!($field $($key)?)),
                        <$type as $crate::config::setting::Setting>::KIND $(.within($min, $max))?,
                        $crate::config::key::Reach::Process,
                    )
                },)+
            };

            pub(in crate::config) const KIND: $crate::config::TableKind =
                $crate::config::TableKind {
                    name: $name,
                    keys: &[
                        &[$(Self::KEY.$field),+],
                        $(<$Part as $crate::config::setting::Section>::KEYS,)?
                    ],
                };

            /// Reads a table from the file and adds its errors to `errors`.
            pub(in crate::config) fn read(
                reader: &mut $crate::config::table::Reader<'_>,
            ) -> Option<Self> {
                $(let $field = reader.value(&Self::KEY.$field);)+
                $(let $part = reader.part();)?
                Some(Self {
                    $($field: reader.or_absent($field, $needs)?,)+
                    $($part,)?
                    place: reader.place(),
                })
            }

            /// Returns the place of the table in the file.
            #[must_use]
            pub fn origin(&self) -> &str {
                &self.place.origin
            }

            /// Returns the place of a key, if the key is set.
            #[must_use]
            pub fn origin_of(&self, key: &$crate::config::Key) -> Option<&str> {
                self.place.of(key.short_name)
            }

            /// Creates an error for a value that was found to be invalid after loading.
            #[must_use]
            pub fn wrong(
                &self,
                key: &$crate::config::Key,
                reason: impl std::fmt::Display,
            ) -> $crate::config::ConfigErrors {
                self.invalid_named_value(key.short_name, reason)
            }

            /// Creates an error for the key that `error` refers to.
            #[must_use]
            pub fn invalid_named_value(
                &self,
                key: &str,
                reason: impl std::fmt::Display,
            ) -> $crate::config::ConfigErrors {
                self.place.invalid($name, key, &reason)
            }
        }
    };
}

pub(super) use table;

/// The places of a table and its keys in the file.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    pub(super) origin: String,
    pub(super) origins: BTreeMap<&'static str, String>,
}

impl Place {
    /// Returns the place of a key, if the key is set.
    pub(super) fn of(&self, key: &str) -> Option<&str> {
        self.origins.get(key).map(String::as_str)
    }

    pub(super) fn invalid(
        &self,
        table: &str,
        key: &str,
        reason: &dyn std::fmt::Display,
    ) -> ConfigErrors {
        ConfigErrors::from(ConfigError {
            origin: self.of(key).unwrap_or(&self.origin).to_owned(),
            message: format!("{table}.{key}: {reason}"),
        })
    }

    /// Creates an error for the table as a whole.
    pub(super) fn wrong_whole(&self, table: &str, reason: &dyn std::fmt::Display) -> ConfigErrors {
        ConfigErrors::from(ConfigError {
            origin: self.origin.clone(),
            message: format!("{table}: {reason}"),
        })
    }
}

/// Tables are equal if their contents are equal, wherever they are in the file.
impl PartialEq for Place {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A reader for the keys of one table.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    file: &'a str,
    table: Table,
    errors: &'a mut Vec<ConfigError>,
    is_wrong: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(file: &'a str, table: &Table, errors: &'a mut Vec<ConfigError>) -> Self {
        Self {
            file,
            table: table.clone(),
            errors,
            is_wrong: false,
        }
    }

    /// Sets a default for an unset key; the table's place is used as the place of the default.
    pub(super) fn suggest(&mut self, key: &'static Key, value: Value) {
        let values = &mut self.table.values;
        if values.iter().all(|(set, ..)| set.name != key.name) {
            // The table's place is used, because an invalid default comes from its preset.
            values.push((key, value, self.table.line));
        }
    }

    /// Reads the value of a key, if the key is set.
    pub(super) fn value<T: Setting>(&mut self, key: &Key) -> Option<T> {
        let mut entries = self.table.values.iter();
        let (_, value, line) = entries.find(|(set, ..)| set.name == key.name)?;
        let line = *line;
        // An empty string unsets a key, as in a section.
        if !T::MAY_BE_EMPTY && value.text().is_ok_and(str::is_empty) {
            return None;
        }
        let read = T::read(value);
        read.map_err(|reason| self.wrong(key.short_name, line, &reason))
            .ok()
    }

    /// Reads the keys that several tables share.
    pub(super) fn part<T: Section>(&mut self) -> T {
        let mut part = T::default();
        for (key, value, line) in self.table.values.clone() {
            if key.prefix() == T::PREFIX
                && let Err(reason) = part.set(key.short_name, &value)
            {
                self.wrong(key.short_name, line, &reason);
            }
        }
        part
    }

    /// Returns the value, or the type's value for an unset key; reports `needs` if neither exists.
    pub(super) fn or_absent<T: Setting>(&mut self, value: Option<T>, needs: &str) -> Option<T> {
        let value = value.or_else(T::absent);
        if value.is_none() {
            self.needs(needs);
        }
        value
    }

    /// Reports a missing key, unless the table has another error.
    pub(super) fn needs(&mut self, needs: &str) {
        // An invalid value counts as missing, and would otherwise be reported twice.
        if !self.is_wrong {
            self.errors.push(ConfigError {
                origin: self.at(self.table.line),
                message: needs.to_owned(),
            });
        }
    }

    pub(super) fn place(&self) -> Place {
        let values = self.table.values.iter();
        Place {
            origin: self.at(self.table.line),
            origins: values
                .map(|(key, _, line)| (key.short_name, self.at(*line)))
                .collect(),
        }
    }

    fn at(&self, line: usize) -> String {
        format!("{}:{line}", self.file)
    }

    fn wrong(&mut self, key: &str, line: usize, reason: &str) {
        let table = self.table.kind.name;
        self.is_wrong = true;
        self.errors.push(ConfigError {
            origin: self.at(line),
            message: format!("{table}.{key}: {reason}"),
        });
    }
}
