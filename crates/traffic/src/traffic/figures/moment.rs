//! Points in time, as specified in options and parameters.

use std::str::FromStr;

use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeZone as _};
use chrono_tz::Tz;

/// An absolute or relative point in time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Moment {
    /// The start of all stored data.
    All,
    /// A number of minutes before the current time.
    Ago(i64),
    /// A number of minutes since 1970.
    At(i64),
}

impl Moment {
    /// Returns the time in minutes since 1970; `first` is the first minute that has stored data.
    pub fn minute(self, now: i64, first: i64) -> i64 {
        match self {
            Self::All => first,
            Self::Ago(minutes) => now.saturating_sub(minutes),
            Self::At(minute) => minute,
        }
    }
}

impl Moment {
    /// Parses a point in time; a time without a time zone is interpreted in `zone`.
    ///
    /// # Errors
    ///
    /// Returns an error that lists the accepted formats.
    pub fn parse(text: &str, zone: Tz) -> Result<Self, String> {
        let found = match text {
            "all" => Some(Self::All),
            "now" => Some(Self::Ago(0)),
            _ => ago(text).or_else(|| at(text, zone)),
        };
        found.ok_or_else(|| {
            "use 30m, 24h, 7d, 4w, a date such as 2026-11-01, a time such as 2026-11-01T08:00Z, or all"
                .to_owned()
        })
    }
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text, Tz::UTC)
    }
}

fn ago(text: &str) -> Option<Moment> {
    let (number, minutes) = [("m", 1), ("h", 60), ("d", 24 * 60), ("w", 7 * 24 * 60)]
        .into_iter()
        .find_map(|(unit, minutes)| Some((text.strip_suffix(unit)?, minutes)))?;
    // A sign before the number is not allowed.
    let number: u32 = number.parse().ok().filter(|_| !number.starts_with('+'))?;
    Some(Moment::Ago(i64::from(number) * minutes))
}

fn at(text: &str, zone: Tz) -> Option<Moment> {
    let time = if let Ok(day) = text.parse::<NaiveDate>() {
        day.and_hms_opt(0, 0, 0)?
    } else if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Some(Moment::At(time.timestamp().div_euclid(60)));
    } else if let Some(time) = text.strip_suffix('Z') {
        let time = NaiveDateTime::parse_from_str(time, "%Y-%m-%dT%H:%M").ok()?;
        return Some(Moment::At(time.and_utc().timestamp().div_euclid(60)));
    } else {
        NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M").ok()?
    };
    // A local time that daylight saving time skips is interpreted as UTC.
    let found = zone.from_local_datetime(&time).earliest();
    let seconds = found.map_or(time.and_utc().timestamp(), |time| time.timestamp());
    Some(Moment::At(seconds.div_euclid(60)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_parsed_in_the_usual_formats() {
        for (text, expected) in [
            ("all", Some(Moment::All)),
            ("now", Some(Moment::Ago(0))),
            ("90m", Some(Moment::Ago(90))),
            ("24h", Some(Moment::Ago(24 * 60))),
            ("7d", Some(Moment::Ago(7 * 24 * 60))),
            ("2w", Some(Moment::Ago(14 * 24 * 60))),
            ("1970-01-02", Some(Moment::At(24 * 60))),
            ("1970-01-01T01:30Z", Some(Moment::At(90))),
            ("1970-01-01T01:30", Some(Moment::At(90))),
            ("1970-01-01T01:30:59+01:00", Some(Moment::At(30))),
            ("", None),
            ("7", None),
            ("d", None),
            ("-7d", None),
            ("+7d", None),
            ("7 d", None),
            ("99999999999d", None),
            ("2026-13-01", None),
            ("yesterday", None),
        ] {
            assert_eq!(text.parse().ok(), expected, "{text:?}");
        }
        let berlin = |text| Moment::parse(text, chrono_tz::Europe::Berlin).unwrap();
        assert_eq!(berlin("1970-01-02"), Moment::At(23 * 60));
        assert_eq!(berlin("1970-01-02T00:00Z"), Moment::At(24 * 60));
        assert_eq!(berlin("2026-07-01T12:00"), berlin("2026-07-01T10:00Z"));
        assert_eq!(berlin("2026-03-29T02:30"), berlin("2026-03-29T02:30Z"));
        assert_eq!(Moment::Ago(90).minute(100, 7), 10);
        assert_eq!(Moment::All.minute(100, 7), 7);
    }
}
