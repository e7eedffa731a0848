//! The time zone in which pages show times.

use std::{fmt, str::FromStr};

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

/// A time zone identified by its IANA name, such as `Europe/Berlin`; UTC by default.
///
/// # Example
///
/// ```
/// use robot_detection_operations::TimeZone;
///
/// let zone: TimeZone = "Europe/Berlin".parse()?;
/// assert_eq!(zone.to_string(), "Europe/Berlin");
/// assert!("Berlin".parse::<TimeZone>().is_err());
/// # Ok::<(), robot_detection_operations::InvalidTimeZone>(())
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TimeZone {
    zone: Tz,
}

/// The error for an unknown time zone name.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{name:?} is not a time zone: use an IANA name such as UTC or Europe/Berlin")]
pub struct InvalidTimeZone {
    name: String,
}

impl TimeZone {
    /// Returns the time zone as a chrono type.
    pub fn zone(self) -> Tz {
        self.zone
    }

    /// Returns a time in this time zone; times out of range become 1970.
    pub fn at(self, at_ms: i64) -> DateTime<Tz> {
        // Euclidean division also rounds times before 1970 down.
        let at: DateTime<Utc> =
            DateTime::from_timestamp(at_ms.div_euclid(1_000), 0).unwrap_or_default();
        at.with_timezone(&self.zone)
    }

    /// Returns a time in this time zone as text, such as "2026-03-01 12:30 UTC".
    pub fn exact(self, at_ms: i64) -> String {
        self.at(at_ms).format("%Y-%m-%d %H:%M %Z").to_string()
    }

    /// Returns the time of day in this time zone, to the second, such as "12:30:59".
    pub fn clock(self, at_ms: i64) -> String {
        self.at(at_ms).format("%H:%M:%S").to_string()
    }
}

impl Default for TimeZone {
    fn default() -> Self {
        Self { zone: Tz::UTC }
    }
}

impl From<Tz> for TimeZone {
    fn from(zone: Tz) -> Self {
        Self { zone }
    }
}

impl FromStr for TimeZone {
    type Err = InvalidTimeZone;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let wrong = |_| InvalidTimeZone {
            name: name.chars().take(60).collect(),
        };
        name.trim().parse().map(|zone| Self { zone }).map_err(wrong)
    }
}

impl fmt::Display for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.zone.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_use_the_local_time_zone() {
        let zone: TimeZone = "Europe/Berlin".parse().unwrap();
        assert_eq!(zone.exact(1_772_366_400_000), "2026-03-01 13:00 CET");
        assert_eq!(zone.exact(1_782_907_200_000), "2026-07-01 14:00 CEST");
        let utc = TimeZone::default();
        assert_eq!(utc.exact(1_772_366_400_000), "2026-03-01 12:00 UTC");
        assert!(utc.exact(i64::MAX).starts_with("1970"));
    }
}
