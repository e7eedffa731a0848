//! Dates of pages.

use std::time::{Duration, UNIX_EPOCH};

use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use crate::document::Moment;
use robot_detection_store::description::{ResourceDescription, name};

/// Point of time, in whole seconds; those before 1970 are none.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Date {
    seconds: u64,
    is_day: bool,
}

impl Date {
    /// 1970-01-01, for what must have a date and has none.
    pub(super) const EPOCH: Self = Self {
        seconds: 0,
        is_day: false,
    };

    /// Returns when a page was changed, or published, as far as it or its server says.
    pub(super) fn of(description: &ResourceDescription) -> Option<Self> {
        Self::modified(description).or_else(|| Self::published(description))
    }

    /// Returns when a page was changed as its server says, which moves with each change of it.
    pub(super) fn of_server(description: &ResourceDescription) -> Option<Self> {
        Self::parse(description.value(name::LAST_MODIFIED)?)
    }

    /// Returns when a page was changed: as it says itself, else as its server does.
    pub(super) fn modified(description: &ResourceDescription) -> Option<Self> {
        let own = description.value(name::MODIFIED).and_then(Self::parse);
        own.or_else(|| Self::of_server(description))
    }

    /// Returns when a page was published, as it says itself.
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

    /// Returns RFC 3339 in UTC: `2026-03-01T12:30:00Z`.
    pub(super) fn iso(self) -> String {
        self.moment().format(&Rfc3339).unwrap_or_default()
    }

    /// Returns the day where no more is known, else RFC 3339.
    pub(super) fn known(self) -> String {
        if self.is_day { self.day() } else { self.iso() }
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

    #[test]
    fn the_page_knows_best_when_it_was_changed_and_the_visit_nothing() {
        let header = "Sun, 01 Mar 2026 12:30:05 GMT";
        let date = |told: &[(&str, &str)]| {
            let mut description = ResourceDescription::new("https://www.example.com/");
            description.set(name::RD_LAST_MODIFIED, "Mon, 02 Mar 2026 00:00:00 GMT");
            for (name, value) in told {
                description.set(name, *value);
            }
            Date::of(&description).map(Date::known)
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
