//! Dates of pages.

use std::time::{Duration, UNIX_EPOCH};

use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use robot_detection_store::description::{ResourceDescription, name};

/// Point of time, in whole seconds; those before 1970 are none.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Date {
    seconds: u64,
}

impl Date {
    /// 1970-01-01, for what must have a date and has none.
    pub(super) const EPOCH: Self = Self { seconds: 0 };

    /// Returns when a page was changed: as its server says, else when it was described.
    pub(super) fn of(description: &ResourceDescription) -> Option<Self> {
        let dates = [name::LAST_MODIFIED, name::RD_LAST_MODIFIED];
        dates
            .iter()
            .find_map(|name| Self::parse(description.value(name)?))
    }

    fn parse(text: &str) -> Option<Self> {
        let at = httpdate::parse_http_date(text.trim()).ok()?;
        let seconds = at.duration_since(UNIX_EPOCH).ok()?.as_secs();
        Some(Self { seconds })
    }

    /// Returns RFC 3339 in UTC: `2026-03-01T12:30:00Z`.
    pub(super) fn iso(self) -> String {
        self.moment().format(&Rfc3339).unwrap_or_default()
    }

    /// Returns `2026-03-01`.
    pub(super) fn day(self) -> String {
        self.moment().date().to_string()
    }

    /// Returns `2026-03`.
    pub(super) fn month(self) -> String {
        let at = self.moment();
        format!("{:04}-{:02}", at.year(), u8::from(at.month()))
    }

    /// Returns the date as HTTP spells it.
    pub(super) fn http(self) -> String {
        httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(self.seconds))
    }

    /// Returns `true` if a date of HTTP is this one or later.
    pub(super) fn is_known_by(self, http: &str) -> bool {
        Self::parse(http).is_some_and(|known| known >= self)
    }

    /// HTTP dates end with the year 9999.
    fn moment(self) -> OffsetDateTime {
        let seconds = i64::try_from(self.seconds).unwrap_or_default();
        OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(modified: &str, described: &str) -> Option<String> {
        let mut description = ResourceDescription::new("https://www.example.com/");
        description.set(name::LAST_MODIFIED, modified);
        description.set(name::RD_LAST_MODIFIED, described);
        Date::of(&description).map(Date::iso)
    }

    #[test]
    fn the_server_knows_best_when_a_page_was_changed() {
        let modified = "Sun, 01 Mar 2026 12:30:05 GMT";
        let described = "Mon, 02 Mar 2026 00:00:00 GMT";
        assert_eq!(of(modified, described).unwrap(), "2026-03-01T12:30:05Z");
        assert_eq!(of("yesterday", described).unwrap(), "2026-03-02T00:00:00Z");
        assert_eq!(of("", "0"), None);
    }

    #[test]
    fn a_date_is_spelt_for_each_reader() {
        let date = Date::parse("Sun, 01 Mar 2026 12:30:05 GMT").unwrap();
        assert_eq!(date.day(), "2026-03-01");
        assert_eq!(date.month(), "2026-03");
        assert_eq!(date.http(), "Sun, 01 Mar 2026 12:30:05 GMT");
        assert!(date.is_known_by("Sun, 01 Mar 2026 12:30:05 GMT"));
        assert!(!date.is_known_by("Sun, 01 Mar 2026 12:30:04 GMT"));
        assert!(!date.is_known_by("never"));
    }
}
