//! Parses the end times of rules, pauses and tokens.

use crate::Invalid;
use time::{
    Date, OffsetDateTime, Time, format_description::well_known::Rfc3339, macros::format_description,
};

/// Default lifetime of a live rule.
pub(crate) const DEFAULT_END: &str = "7d";

/// Word for a live rule that does not expire.
const NEVER: &str = "never";

/// Maximum duration that can be specified; `never` is used instead of longer durations.
const MAX_MS: i64 = 10 * 366 * 24 * 60 * 60_000;

/// Parses an end time: a duration, a date or time in UTC, or `never`, for which the result is
/// `None`.
///
/// A date such as `2026-12-31` means the end of that day.
///
/// # Errors
///
/// Returns an error for any other text, and for a time in the past.
pub(crate) fn end_ms(text: &str, now_ms: i64) -> Result<Option<i64>, String> {
    let text = text.trim();
    if text == NEVER {
        return Ok(None);
    }
    let end = match length_ms(text) {
        Ok(length) => now_ms.saturating_add(length),
        Err(_) => time_ms(text).or_else(|| day_ms(text)).ok_or_else(|| {
            format!(
                "{text:?} is not an end time; use 30m, 12h, 7d, 4w, a day such as 2026-12-31, a time in UTC such as 2026-12-01T08:00Z, or never"
            )
        })?,
    };
    if end <= now_ms {
        return Err(format!("{text} is in the past; use a later time"));
    }
    Ok(Some(end))
}

/// Refuses a relative end time, because its meaning would change each time the request is repeated.
pub(crate) fn check_absolute(end: &str) -> Result<(), Invalid> {
    if length_ms(end).is_err() {
        return Ok(());
    }
    let message = "use a time such as 2026-12-31T00:00Z, or never, so that a repeated request changes nothing";
    Err(Invalid::new("ends", message))
}

/// Parses a duration such as `30m`, `12h`, `7d` or `4w` and returns it in milliseconds.
///
/// # Errors
///
/// Returns an error for any other text, and for a duration of zero or of more than ten years.
pub fn length_ms(text: &str) -> Result<i64, String> {
    let units = [("m", 1), ("h", 60), ("d", 24 * 60), ("w", 7 * 24 * 60)];
    let found = units.into_iter().find_map(|(unit, minutes)| {
        let number = text.trim().strip_suffix(unit)?;
        // A sign before the number is not allowed.
        let number: u32 = number.parse().ok().filter(|_| !number.starts_with('+'))?;
        Some(i64::from(number) * minutes * 60_000)
    });
    found
        .filter(|length| (1..=MAX_MS).contains(length))
        .ok_or_else(|| format!("{text:?} is not a duration; use 30m, 12h, 7d or 4w"))
}

/// Parses a time in the past: an age, or a time in UTC; returns `None` for an empty text.
///
/// # Errors
///
/// Returns an error for any other text.
pub fn past_ms(text: &str, now_ms: i64) -> Result<Option<i64>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let ago = length_ms(text).map(|length| now_ms.saturating_sub(length));
    let found = ago.ok().or_else(|| time_ms(text));
    let wrong = || {
        format!(
            "{text:?} is not a time; use an age (30m, 12h, 7d, 4w) or a time in UTC such as 2026-11-24T08:00Z"
        )
    };
    found.map(Some).ok_or_else(wrong)
}

fn time_ms(text: &str) -> Option<i64> {
    let parse = |text: &str| OffsetDateTime::parse(text, &Rfc3339).ok();
    // A browser's datetime field submits neither seconds nor a time zone.
    let minutes = text.strip_suffix('Z').unwrap_or(text);
    let time = parse(text).or_else(|| parse(&format!("{minutes}:00Z")))?;
    time.unix_timestamp().checked_mul(1_000)
}

/// Returns the end of a date in milliseconds since 1970.
fn day_ms(text: &str) -> Option<i64> {
    let day = Date::parse(text, format_description!("[year]-[month]-[day]")).ok()?;
    let end = OffsetDateTime::new_utc(day.next_day()?, Time::MIDNIGHT);
    end.unix_timestamp().checked_mul(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_is_a_duration_a_time_or_never() {
        let hour = 60 * 60_000;
        for (text, expected) in [
            ("30m", Ok(Some(hour / 2))),
            (" 7d", Ok(Some(7 * 24 * hour))),
            ("never", Ok(None)),
            ("1970-01-02", Ok(Some(2 * 24 * hour))),
            ("1970-01-02T00:00Z", Ok(Some(24 * hour))),
            ("1970-01-02T00:00", Ok(Some(24 * hour))),
            ("1970-01-02T01:00:00+01:00", Ok(Some(24 * hour))),
        ] {
            assert_eq!(end_ms(text, 0), expected, "{text}");
        }
        for text in [
            "",
            "7",
            "+7d",
            "-7d",
            "0m",
            "7 days",
            "9999999w",
            "1.5h",
            "é",
            "1969-01-01T00:00Z",
            "1970-02-30",
            "9999-12-31T",
        ] {
            assert!(end_ms(text, 0).is_err(), "{text}");
        }
    }
}
