//! Sources to refresh, triggers and options.

use crate::fetch::{Conditions, FetchResponse, Fetcher, Origin, shown_url};
use robot_detection_layer::registry::{Format, Source};

/// Source of registry data to refresh.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SourceSpec {
    /// Name of the source; neither `manual` nor `bundled`.
    pub source: Source,
    /// `http:`, `https:` or `file:` URL, or path (`WebRobotsDB`).
    pub url: String,
    /// Format of the document.
    pub format: Format,
    /// Days between refreshes, at least 1 (`RefreshIntervalDays`).
    pub interval_days: u32,
}

impl SourceSpec {
    /// Creates the source of the Web Robots Database.
    pub fn web_robots_db(url: impl Into<String>, interval_days: u32) -> Self {
        Self {
            source: Source::web_robots_db(),
            url: url.into(),
            format: Format::WebRobotsDb,
            interval_days,
        }
    }

    /// Checks whether a refresh can read URLs of this kind, without reading the URL.
    ///
    /// # Errors
    ///
    /// Returns a message without the password if the URL is not supported.
    pub fn check_url(&self) -> Result<(), String> {
        Origin::parse(&self.url).map(|_| ())
    }

    /// Downloads the source without storing anything.
    ///
    /// Returns a short text with URL and size, without the password.
    ///
    /// # Errors
    ///
    /// Returns a message if the source cannot be read.
    pub async fn probe(&self, fetcher: &Fetcher) -> Result<String, String> {
        let origin = Origin::parse(&self.url)?;
        let conditions = Conditions::default();
        let read = origin.read(fetcher, &conditions, &|_, _| {}).await?;
        let place = shown_url(&self.url);
        Ok(match read {
            FetchResponse::Body { bytes, .. } => format!("{place}, {} bytes", bytes.len()),
            FetchResponse::NotModified => format!("{place} is reachable"),
        })
    }
}

robot_detection_layer::words! {
    /// Cause of a refresh.
    pub enum Trigger {
        /// The source was due.
        Schedule = "schedule",
        /// The source was due at program start.
        Start = "start",
        /// An administrator ran the command.
        Command = "command",
        /// An administrator clicked the button in the console.
        Admin = "admin",
    }
}

/// Exceptions that an administrator makes for one refresh.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RefreshOptions {
    /// Accepts a document that would be held for review.
    ///
    /// Also downloads and parses an unchanged document. An empty document is rejected all the same.
    pub force: bool,
    /// Accepts the document with this SHA-256, in hexadecimal, that is held for review.
    ///
    /// Another document is checked as usual. [`Refresher::held`](super::Refresher::held) returns
    /// the held document.
    pub accept: Option<String>,
}
