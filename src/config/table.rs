//! Declares a table that can stand several times: its keys and what they become, at one place.

use std::collections::BTreeMap;

use super::{
    ConfigError, ConfigErrors, Key, Value,
    file::Table,
    setting::{Section, Setting},
};

/// Declares the struct of a table that can stand several times, and its keys beside it.
///
/// Its fields are written as those of a [`section!`](super::section::section), without defaults:
/// one whose type has nothing for what is not set is required, and `needs` is what to say without
/// it. `with` names a struct of further keys, which other tables share.
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
                /// What other tables can say as well.
                pub $part: $Part,
            )?
            place: $crate::config::table::Place,
        }

        #[doc = concat!("Keys of [`", stringify!($Table), "`], each called as the field is.")]
        #[derive(Clone, Copy, Debug)]
        #[non_exhaustive]
        pub struct $Keys {
            $(
                #[doc = concat!("`", $name, ".", $crate::config::section::key_name!($field $($key)?), "`")]
                pub $field: $crate::config::Key,
            )+
        }

        impl $Table {
            /// Its keys.
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

            /// Reads what stands in the file; what is wrong is added to the errors.
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

            /// Returns where it stands.
            #[must_use]
            pub fn origin(&self) -> &str {
                &self.place.origin
            }

            /// Returns where a key stands, if it was set.
            #[must_use]
            pub fn origin_of(&self, key: &$crate::config::Key) -> Option<&str> {
                self.place.of(key.short_name)
            }

            /// Creates the error of a value that turned out wrong later.
            #[must_use]
            pub fn wrong(
                &self,
                key: &$crate::config::Key,
                reason: impl std::fmt::Display,
            ) -> $crate::config::ConfigErrors {
                self.wrong_by_name(key.short_name, reason)
            }

            /// Creates the same of a key whose name the error knows.
            #[must_use]
            pub fn wrong_by_name(
                &self,
                key: &str,
                reason: impl std::fmt::Display,
            ) -> $crate::config::ConfigErrors {
                self.place.wrong($name, key, &reason)
            }
        }
    };
}

pub(super) use table;

/// Where a table and its keys stand.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    pub(super) origin: String,
    pub(super) origins: BTreeMap<&'static str, String>,
}

impl Place {
    /// Returns where a key stands, if it was set.
    pub(super) fn of(&self, key: &str) -> Option<&str> {
        self.origins.get(key).map(String::as_str)
    }

    pub(super) fn wrong(
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

    /// Creates the error of a table that is wrong as a whole.
    pub(super) fn wrong_whole(&self, table: &str, reason: &dyn std::fmt::Display) -> ConfigErrors {
        ConfigErrors::from(ConfigError {
            origin: self.origin.clone(),
            message: format!("{table}: {reason}"),
        })
    }
}

/// Two tables are the same wherever they stand.
impl PartialEq for Place {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Reads one table.
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

    /// Gives a key that is not set a value, which stands where the table does.
    pub(super) fn suggest(&mut self, key: &'static Key, value: Value) {
        let values = &mut self.table.values;
        if values.iter().all(|(set, ..)| set.name != key.name) {
            // Its place is the table's, which is where the preset stands that is at fault if it is
            // wrong.
            values.push((key, value, self.table.line));
        }
    }

    /// Reads the value of a key, if it is set to one.
    pub(super) fn value<T: Setting>(&mut self, key: &Key) -> Option<T> {
        let mut entries = self.table.values.iter();
        let (_, value, line) = entries.find(|(set, ..)| set.name == key.name)?;
        let line = *line;
        // An empty text takes a key back, as in a section.
        if !T::MAY_BE_EMPTY && value.text().is_ok_and(str::is_empty) {
            return None;
        }
        let read = T::read(value);
        read.map_err(|reason| self.wrong(key.short_name, line, &reason))
            .ok()
    }

    /// Reads the keys that several tables have.
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

    /// Returns a value, or what stands where nothing is set; `needs` is said if there is neither.
    pub(super) fn or_absent<T: Setting>(&mut self, value: Option<T>, needs: &str) -> Option<T> {
        let value = value.or_else(T::absent);
        if value.is_none() {
            self.needs(needs);
        }
        value
    }

    /// Reports what the table needs, unless something else is wrong with it.
    pub(super) fn needs(&mut self, needs: &str) {
        // A key with a wrong value reads as one that is missing: it would be told twice.
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
