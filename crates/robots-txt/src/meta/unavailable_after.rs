//! Parsing of the time after which a page must not be shown.

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use super::date;

/// The date in an `unavailable_after` directive, as text and as a point in time.
///
/// The formats of RFC 822, RFC 850, asctime and ISO 8601 are supported, with or without a time; the
/// default time zone is UTC. Two dates are equal if their texts are equal.
///
/// # Example
///
/// ```
/// use robot_detection_robots_txt::meta::UnavailableAfter;
///
/// let after = UnavailableAfter::parse("25 Jun 2010 15:00:00 PST").unwrap();
/// assert_eq!(after.as_str(), "25 Jun 2010 15:00:00 PST");
/// assert_eq!(after.unix_seconds(), 1_277_506_800);
/// ```
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct UnavailableAfter {
    text: Box<str>,
    unix_seconds: i64,
}

impl UnavailableAfter {
    /// Parses a date; returns `None` if the date is invalid.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim_ascii();
        Some(Self {
            unix_seconds: date::parse(text)?,
            text: text.into(),
        })
    }

    /// Returns the text of the date as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the date as the number of seconds since 1970-01-01 UTC.
    #[must_use]
    pub fn unix_seconds(&self) -> i64 {
        self.unix_seconds
    }

    /// Returns `true` if the date has passed.
    #[must_use]
    pub fn is_past(&self, now: SystemTime) -> bool {
        let distance = Duration::from_secs(self.unix_seconds.unsigned_abs());
        let moment = if self.unix_seconds < 0 {
            SystemTime::UNIX_EPOCH.checked_sub(distance)
        } else {
            SystemTime::UNIX_EPOCH.checked_add(distance)
        };
        moment.is_some_and(|moment| moment < now)
    }
}

impl fmt::Display for UnavailableAfter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_has_passed_after_its_second() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let after = UnavailableAfter::parse(" 1970-01-01T00:01:00Z ").unwrap();
        assert_eq!(after.to_string(), "1970-01-01T00:01:00Z");
        assert!(!after.is_past(at(59)));
        assert!(!after.is_past(at(60)));
        assert!(after.is_past(at(61)));
        let before = UnavailableAfter::parse("31 Dec 1960").unwrap();
        assert!(before.is_past(at(0)));
        assert!(UnavailableAfter::parse("soon").is_none());
    }
}
