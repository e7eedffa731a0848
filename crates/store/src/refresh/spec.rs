//! Sources to refresh, triggers and options.

use crate::fetch::{Conditions, FetchResponse, Fetcher, Origin, shown_url};
use robot_detection_layer::registry::{Format, Source};

/// A source of registry data to be refreshed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SourceSpec {
    /// The name of the source; must not be `manual` or `bundled`.
    pub source: Source,
    /// The URL (`http:`, `https:` or `file:`) or path of the document (`WebRobotsDB`).
    pub url: String,
    /// The format of the document.
    pub format: Format,
    /// The interval between refreshes in days, at least 1 (`RefreshIntervalDays`).
    pub interval_days: u32,
}

impl SourceSpec {
    /// Creates the source for the Web Robots Database.
    pub fn web_robots_db(url: impl Into<String>, interval_days: u32) -> Self {
        Self {
            source: Source::web_robots_db(),
            url: url.into(),
            format: Format::WebRobotsDb,
            interval_days,
        }
    }

    /// Checks whether refreshes support this kind of URL, without accessing the URL.
    ///
    /// # Errors
    ///
    /// Returns an error message, without any password, if the URL is not supported.
    pub fn check_url(&self) -> Result<(), String> {
        Origin::parse(&self.url).map(|_| ())
    }

    /// Downloads the source without storing anything.
    ///
    /// Returns a short text that contains the URL and the size, without any password.
    ///
    /// # Errors
    ///
    /// Returns an error message if the source cannot be read.
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
    /// The cause of a refresh.
    pub enum Trigger {
        /// The source was due at a scheduled check.
        Schedule = "schedule",
        /// The source was due at program start.
        Start = "start",
        /// An administrator ran the refresh command.
        Command = "command",
        /// An administrator clicked the refresh button in the console.
        Admin = "admin",
    }
}

/// Options that an administrator sets for a single refresh.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RefreshOptions {
    /// Whether to accept a document that would otherwise be held for review.
    ///
    /// Even an unchanged document is downloaded and parsed. An empty document is still rejected.
    pub force: bool,
    /// The SHA-256 hash, in hexadecimal, of the document held for review that is to be accepted.
    ///
    /// Any other document is checked as usual. [`Refresher::held`](super::Refresher::held) returns
    /// the held document.
    pub accept: Option<String>,
}
