//! Dates of pages.

use std::time::{Duration, UNIX_EPOCH};

use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use crate::document::Moment;
use robot_detection_store::description::{ResourceDescription, name};

/// A point in time, in whole seconds since 1970.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Date {
    seconds: u64,
    is_day: bool,
}

impl Date {
    /// 1970-01-01, which is used if a date is required but unknown.
    pub(super) const EPOCH: Self = Self {
        seconds: 0,
        is_day: false,
    };

    /// Returns the modification date of a page, or else the publication date.
    pub(super) fn from_description(description: &ResourceDescription) -> Option<Self> {
        Self::modified(description).or_else(|| Self::published(description))
    }

    /// Returns the modification date that the server sent, which changes whenever the page is
    /// modified.
    pub(super) fn from_server(description: &ResourceDescription) -> Option<Self> {
        Self::parse(description.value(name::LAST_MODIFIED)?)
    }

    /// Returns the modification date stated on the page, or else the date sent by the server.
    pub(super) fn modified(description: &ResourceDescription) -> Option<Self> {
        let own = description.value(name::MODIFIED).and_then(Self::parse);
        own.or_else(|| Self::from_server(description))
    }

    /// Returns the publication date stated on the page.
    pub(super) fn published(description: &ResourceDescription) -> Option<Self> {
        Self::parse(description.value(name::PUBLISHED)?)
    }

    fn parse(text: &str) -> Option<Self> {
        if let Some(Moment { seconds, is_day }) = Moment::read(text) {
            return Some(Self { seconds, is_day });
        }
        let at = httpdate::parse_http_date(text.trim()).ok()?;
        let seconds = at.duration_since(UNIX_EPOCH).ok()?.as_secs();
        let is_day = false;
        Some(Self { seconds, is_day })
    }

    /// Formats the date and time as RFC 3339 in UTC: `2026-03-01T12:30:00Z`.
    pub(super) fn iso(self) -> String {
        self.moment().format(&Rfc3339).unwrap_or_default()
    }

    /// Formats the date and time as RFC 3339, or only the date if the time is unknown.
    pub(super) fn to_text(self) -> String {
        if self.is_day { self.day() } else { self.iso() }
    }

    /// Formats the date without a time: `2026-03-01`.
    pub(super) fn day(self) -> String {
        self.moment().date().to_string()
    }

    /// Formats the year and month: `2026-03`.
    pub(super) fn month(self) -> String {
        let at = self.moment();
        format!("{:04}-{:02}", at.year(), u8::from(at.month()))
    }

    /// Formats the date as an HTTP date.
    pub(super) fn http(self) -> String {
        httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(self.seconds))
    }

    /// Returns `true` if an HTTP date is the same as or later than this date.
    pub(super) fn is_known_by(self, http: &str) -> bool {
        Self::parse(http).is_some_and(|known| known >= self)
    }

    /// Converts the date; this cannot fail, because HTTP dates end with the year 9999.
    fn moment(self) -> OffsetDateTime {
        let seconds = i64::try_from(self.seconds).unwrap_or_default();
        OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_on_the_page_takes_precedence_over_the_server() {
        let header = "Sun, 01 Mar 2026 12:30:05 GMT";
        let date = |told: &[(&str, &str)]| {
            let mut description = ResourceDescription::new("https://www.example.com/");
            description.set(name::RD_LAST_MODIFIED, "Mon, 02 Mar 2026 00:00:00 GMT");
            for (name, value) in told {
                description.set(name, *value);
            }
            Date::from_description(&description).map(Date::to_text)
        };
        assert_eq!(
            date(&[("last-modified", header)]).unwrap(),
            "2026-03-01T12:30:05Z"
        );
        let both = [("last-modified", header), ("modified", "2026-02-01")];
        assert_eq!(date(&both).unwrap(), "2026-02-01");
        assert_eq!(date(&[("published", "2026-01-01")]).unwrap(), "2026-01-01");
        assert_eq!(date(&[("last-modified", "yesterday")]), None);
        assert_eq!(date(&[]), None);
    }

    #[test]
    fn dates_are_formatted_for_each_use() {
        let date = Date::parse("Sun, 01 Mar 2026 12:30:05 GMT").unwrap();
        assert_eq!(date.day(), "2026-03-01");
        assert_eq!(date.month(), "2026-03");
        assert_eq!(date.http(), "Sun, 01 Mar 2026 12:30:05 GMT");
        assert!(date.is_known_by("Sun, 01 Mar 2026 12:30:05 GMT"));
        assert!(!date.is_known_by("Sun, 01 Mar 2026 12:30:04 GMT"));
        assert!(!date.is_known_by("never"));
    }
}
