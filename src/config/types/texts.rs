//! Types of validated strings.

use std::fmt;
use std::ops::Deref;

use chrono::{DateTime, Utc};
use chrono_tz::{TZ_VARIANTS, Tz};
use croner::Cron;

use crate::config::setting::Setting;
use crate::config::{Kind, Value};
use crate::fetch::shown_url;
use crate::store::Store;
use crate::telemetry::check_log_filter;
use robot_detection_site_robot::spelling::nearest;

macro_rules! texts {
    ($($(#[doc = $doc:literal])+ $Text:ident $(: $check:expr)? $(, shown by $shown:expr)?;)*) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, Debug, Eq, PartialEq)]
        pub struct $Text(String);

        impl Setting for $Text {
            const KIND: Kind = Kind::Text;
            const MAY_BE_EMPTY: bool = true;

            fn read(value: &Value) -> Result<Self, String> {
                let text = value.text()?;
                $($check(text)?;)?
                Ok(Self(text.to_owned()))
            }

            $(
                // The value may contain a password, which is not shown.
                const IS_SECRET: bool = true;

                fn shown(value: &Value) -> String {
                    value.text().map_or_else(|_| value.to_string(), $shown)
                }
            )?
        }

        impl Deref for $Text {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $Text {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

texts! {
    /// A URL path that this program serves itself, such as `/robot-heaven/`.
    OwnPath: check_path;
    /// A log level or log filter.
    LogFilter: |text| check_log_filter(text).map_err(|error| error.to_string());
    /// The URL of the database.
    DatabaseUrl, shown by Store::shown_url;
    /// The URL or path of a registry, or an empty string.
    RegistryUrl, shown by shown_url;
}

fn check_path(path: &str) -> Result<(), String> {
    // `/` alone would replace every page of the site.
    if path.starts_with('/') && !path.trim_matches('/').is_empty() && !path.contains("//") {
        return Ok(());
    }
    Err(format!("{path:?} is not a path such as /robot-heaven/"))
}

/// A string, including surrounding white space.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Verbatim(String);

impl Setting for Verbatim {
    const KIND: Kind = Kind::Text;
    const MAY_BE_EMPTY: bool = true;

    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Text(text) => Ok(Self(text.clone())),
            other => other.text().map(|text| Self(text.to_owned())),
        }
    }
}

impl Deref for Verbatim {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// A list of strings, one per line, in which commas have no special meaning.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Lines(Vec<String>);

impl Setting for Lines {
    const KIND: Kind = Kind::Lines;

    fn read(value: &Value) -> Result<Self, String> {
        let lines = value.items()?.iter().map(|line| line.trim().to_owned());
        Ok(Self(lines.filter(|line| !line.is_empty()).collect()))
    }

    fn absent() -> Option<Self> {
        Some(Self::default())
    }
}

impl Deref for Lines {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.0
    }
}

/// A time zone, specified by its name in the IANA database.
impl Setting for Tz {
    const KIND: Kind = Kind::Text;

    fn read(value: &Value) -> Result<Self, String> {
        let name = value.text()?;
        let names = TZ_VARIANTS.iter().map(|zone| zone.name());
        name.parse().map_err(|_| match nearest(name, names) {
            Some(near) => format!("{name:?} is not a time zone; did you mean {near:?}?"),
            None => {
                format!("{name:?} is not a time zone; write a name such as UTC or Europe/Berlin")
            }
        })
    }
}

/// The schedule of site robot runs, as a cron expression in UTC.
#[derive(Clone, Debug)]
pub struct Schedule {
    cron: Cron,
    text: String,
}

impl Schedule {
    /// Parses a cron expression of five fields, or of six fields that begin with seconds.
    ///
    /// # Errors
    ///
    /// Returns an error that describes the valid values.
    pub fn parse(text: &str) -> Result<Self, String> {
        let example = "write a schedule such as 30 3 * * * for 03:30 UTC";
        let wrong = |error| format!("{text:?} is not a cron expression: {error}; {example}");
        let text = text.trim();
        let cron: Cron = text.parse().map_err(wrong)?;
        let text = text.to_owned();
        Ok(Self { cron, text })
    }

    /// Returns the first scheduled time after a given time.
    #[must_use]
    pub fn next_ms(&self, after_ms: i64) -> Option<i64> {
        let after: DateTime<Utc> = DateTime::from_timestamp_millis(after_ms)?;
        let next = self.cron.find_next_occurrence(&after, false).ok()?;
        // The milliseconds of the given time are added to the scheduled time.
        Some(next.timestamp().saturating_mul(1_000))
    }
}

/// Formats the schedule as written in the configuration.
impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

impl Setting for Schedule {
    const KIND: Kind = Kind::Text;

    fn read(value: &Value) -> Result<Self, String> {
        Self::parse(value.text()?)
    }
}
