//! When a rule, a pause or a token ends, as people write it.

use crate::Invalid;
use time::{
    Date, OffsetDateTime, Time, format_description::well_known::Rfc3339, macros::format_description,
};

/// End of a rule that names none.
pub(crate) const DEFAULT_END: &str = "7d";

/// Word for a rule that lasts until it is removed.
const NEVER: &str = "never";

/// Longest time that is written as a length: longer ones are meant to last.
const MAX_MS: i64 = 10 * 366 * 24 * 60 * 60_000;

/// Reads when something ends: a length of time, a day or time in UTC, or `never`, which gives `None`.
///
/// A day such as `2026-12-31` is the last one.
///
/// # Errors
///
/// Fails on anything else, and on a time that is over.
pub(crate) fn end_ms(text: &str, now_ms: i64) -> Result<Option<i64>, String> {
    let text = text.trim();
    if text == NEVER {
        return Ok(None);
    }
    let end = match length_ms(text) {
        Ok(length) => now_ms.saturating_add(length),
        Err(_) => time_ms(text).or_else(|| day_ms(text)).ok_or_else(|| {
            format!(
                "{text:?} is no end: write 30m, 12h, 7d, 4w, a day such as 2026-12-31, a time in UTC such as 2026-12-01T08:00Z, or never"
            )
        })?,
    };
    if end <= now_ms {
        return Err(format!("{text} is over; name a later time"));
    }
    Ok(Some(end))
}

/// Refuses an end that each repetition of a request would move.
pub(crate) fn check_lasting(end: &str) -> Result<(), Invalid> {
    if length_ms(end).is_err() {
        return Ok(());
    }
    let message =
        "write a time such as 2026-12-31T00:00Z, or never, as a repeated request changes nothing";
    Err(Invalid::new("ends", message))
}

/// Reads a length of time, such as `30m`, `12h`, `7d` or `4w`, in milliseconds.
///
/// # Errors
///
/// Fails on anything else, and on no time at all or more than ten years.
pub fn length_ms(text: &str) -> Result<i64, String> {
    let units = [("m", 1), ("h", 60), ("d", 24 * 60), ("w", 7 * 24 * 60)];
    let found = units.into_iter().find_map(|(unit, minutes)| {
        let number = text.trim().strip_suffix(unit)?;
        // A sign is none of a length of time.
        let number: u32 = number.parse().ok().filter(|_| !number.starts_with('+'))?;
        Some(i64::from(number) * minutes * 60_000)
    });
    found
        .filter(|length| (1..=MAX_MS).contains(length))
        .ok_or_else(|| format!("{text:?} is no length of time: write 30m, 12h, 7d or 4w"))
}

/// Reads a time that is over: how long ago, or a time in UTC; `None`: nothing is written.
///
/// # Errors
///
/// Fails on anything else.
pub fn past_ms(text: &str, now_ms: i64) -> Result<Option<i64>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let ago = length_ms(text).map(|length| now_ms.saturating_sub(length));
    let found = ago.ok().or_else(|| time_ms(text));
    let wrong = || {
        format!(
            "{text:?} is no time: write 30m, 12h, 7d or 4w ago, or such as 2026-11-24T08:00Z in UTC"
        )
    };
    found.map(Some).ok_or_else(wrong)
}

fn time_ms(text: &str) -> Option<i64> {
    let parse = |text: &str| OffsetDateTime::parse(text, &Rfc3339).ok();
    // What a browser's field for a time sends has neither seconds nor a zone.
    let minutes = text.strip_suffix('Z').unwrap_or(text);
    let time = parse(text).or_else(|| parse(&format!("{minutes}:00Z")))?;
    time.unix_timestamp().checked_mul(1_000)
}

/// Returns the end of a day.
fn day_ms(text: &str) -> Option<i64> {
    let day = Date::parse(text, format_description!("[year]-[month]-[day]")).ok()?;
    let end = OffsetDateTime::new_utc(day.next_day()?, Time::MIDNIGHT);
    end.unix_timestamp().checked_mul(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_a_length_a_time_or_never() {
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
