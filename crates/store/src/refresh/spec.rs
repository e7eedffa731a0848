//! What to refresh, and on whose behalf.

use crate::fetch::{Conditions, FetchResponse, Fetcher, Origin, shown_url};
use robot_detection_layer::registry::{Format, Source};

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
    /// Creates that of the Web Robots Database.
    pub fn web_robots_db(url: impl Into<String>, interval_days: u32) -> Self {
        Self {
            source: Source::web_robots_db(),
            url: url.into(),
            format: Format::WebRobotsDb,
            interval_days,
        }
    }

    /// Proves that the URL is of a kind that a refresh can read, and reads nothing.
    ///
    /// # Errors
    ///
    /// Fails with what is wrong, the password left out.
    pub fn check_url(&self) -> Result<(), String> {
        Origin::parse(&self.url).map(|_| ())
    }

    /// Reads the source as a refresh does, and keeps nothing of it.
    ///
    /// Returns its place and size in a few words, the password left out.
    ///
    /// # Errors
    ///
    /// Fails with why it cannot be read.
    pub async fn probe(&self, fetcher: &Fetcher) -> Result<String, String> {
        let origin = Origin::parse(&self.url)?;
        let conditions = Conditions::default();
        let read = origin.read(fetcher, &conditions, &|_, _| {}).await?;
        let place = shown_url(&self.url);
        Ok(match read {
            FetchResponse::Body { bytes, .. } => format!("{place}, {} bytes", bytes.len()),
            FetchResponse::NotModified => format!("{place} answers"),
        })
    }
}

robot_detection_layer::words! {
    /// Cause of a refresh.
    pub enum Trigger {
        /// The source was due.
        Schedule = "schedule",
        /// The source was due when the program started.
        Start = "start",
        /// Somebody typed the command.
        Command = "command",
        /// Somebody pressed the button.
        Admin = "admin",
    }
}

/// Exceptions that a person makes for one refresh.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RefreshOptions {
    /// Accepts what would be held back, whatever it is.
    ///
    /// It also reads and parses again what did not change. An empty source is
    /// refused all the same.
    pub force: bool,
    /// Accepts the document with this SHA-256, in hexadecimal, that was held back.
    ///
    /// Another document is judged as ever. [`Refresher::held`](super::Refresher::held)
    /// tells which one is held back.
    pub accept: Option<String>,
}
