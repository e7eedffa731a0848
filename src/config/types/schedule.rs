//! Times by a cron expression.

use std::fmt;

use chrono::{DateTime, Utc};
use croner::Cron;

use crate::config::{Kind, Value, setting::Setting};

/// When a site robot runs: a cron expression, in UTC.
#[derive(Clone, Debug)]
pub struct Schedule {
    cron: Cron,
    text: String,
}

impl Schedule {
    /// Reads five fields, or six with seconds before them.
    ///
    /// # Errors
    ///
    /// Fails with what would be right.
    pub fn parse(text: &str) -> Result<Self, String> {
        let example = "write such as 30 3 * * * for half past three, UTC";
        let wrong = |error| format!("{text:?} is no cron expression: {error}; {example}");
        let text = text.trim();
        let cron: Cron = text.parse().map_err(wrong)?;
        let text = text.to_owned();
        Ok(Self { cron, text })
    }

    /// Returns the first time behind a moment.
    #[must_use]
    pub fn next_ms(&self, after_ms: i64) -> Option<i64> {
        let after: DateTime<Utc> = DateTime::from_timestamp_millis(after_ms)?;
        let next = self.cron.find_next_occurrence(&after, false).ok()?;
        // What is less than a second of the moment is carried over to the time found.
        Some(next.timestamp().saturating_mul(1_000))
    }
}

/// Writes it as it was read.
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
