//! What to refresh, and on whose behalf.

use crate::registry::{Format, Source};

use super::origin::Origin;

/// Registry that is refreshed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SourceSpec {
    /// Name of the source; neither `manual` nor `bundled`.
    pub source: Source,
    /// `http:` or `https:` URL, `file:` URL or path (`WebRobotsDB`).
    pub url: String,
    /// Format of what is found there.
    pub format: Format,
    /// Days between refreshes, 0 counting as 1 (`RefreshIntervalDays`).
    pub interval_days: u32,
}

impl SourceSpec {
    /// Proves that the URL is of a kind that a refresh can read, and reads nothing.
    ///
    /// # Errors
    ///
    /// Fails with what is wrong, the password left out.
    pub fn check_url(&self) -> Result<(), String> {
        Origin::parse(&self.url).map(|_| ())
    }
}

/// Cause of a refresh.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Trigger {
    /// The source was due.
    Schedule,
    /// The source was due when the program started.
    Start,
    /// Somebody typed the command.
    Command,
    /// Somebody pressed the button.
    Admin,
}

impl Trigger {
    /// Returns the word that the history uses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::Start => "start",
            Self::Command => "command",
            Self::Admin => "admin",
        }
    }
}

/// Exceptions that a person makes for one refresh.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RefreshOptions {
    /// Accepts fewer than 10 records, or under half of the previous count.
    ///
    /// It also reads and parses again what did not change. An empty source is
    /// refused all the same.
    pub force: bool,
}
