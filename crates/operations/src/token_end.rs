//! The end of a token, as people and programs write it.

use time::{
    Date, Duration, OffsetDateTime, format_description::well_known::Rfc3339,
    macros::format_description,
};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
/// Longest life that is counted in days; beyond it a token may as well be lasting.
const MAX_DAYS: i64 = 3_650;

/// Returns when a token ends; nothing for an empty text, which makes it lasting.
///
/// A day such as `2026-12-31` is the last one in UTC; `30d` is so long from now; a time in RFC
/// 3339 is that time.
///
/// # Errors
///
/// Returns what can be written, and that the end has to be later than now.
pub(crate) fn parse_end(text: &str, now_ms: i64) -> Result<Option<i64>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let end_ms = day(text)
        .or_else(|| time(text))
        .or_else(|| days(text, now_ms));
    let Some(end_ms) = end_ms else {
        return Err(format!(
            "{text:?} is no end. Write a day such as 2026-12-31, days from now such as 30d, \
             or a time such as 2026-12-31T18:00:00Z."
        ));
    };
    if end_ms <= now_ms {
        return Err(format!("{text} is over: a token ends later than now."));
    }
    Ok(Some(end_ms))
}

fn day(text: &str) -> Option<i64> {
    let day = Date::parse(text, format_description!("[year]-[month]-[day]")).ok()?;
    // It counts through the day that is named.
    ms(day.midnight().assume_utc().checked_add(Duration::DAY)?)
}

fn time(text: &str) -> Option<i64> {
    ms(OffsetDateTime::parse(text, &Rfc3339).ok()?)
}

fn days(text: &str, now_ms: i64) -> Option<i64> {
    let days: i64 = text.strip_suffix('d')?.parse().ok()?;
    (0..=MAX_DAYS)
        .contains(&days)
        .then(|| now_ms.saturating_add(days * DAY_MS))
}

fn ms(time: OffsetDateTime) -> Option<i64> {
    time.unix_timestamp().checked_mul(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-03-01T12:00:00Z.
    const NOW_MS: i64 = 1_772_366_400_000;

    #[test]
    fn an_end_is_a_last_day_a_time_or_some_days() {
        for (text, end) in [
            ("", None),
            (" ", None),
            ("2026-03-01", Some(NOW_MS + DAY_MS / 2)),
            ("2026-03-02", Some(NOW_MS + DAY_MS / 2 + DAY_MS)),
            ("30d", Some(NOW_MS + 30 * DAY_MS)),
            ("2026-03-01T13:00:00+01:00", None),
            ("2026-03-01T14:00:00+01:00", Some(NOW_MS + 3_600_000)),
        ] {
            let parsed = parse_end(text, NOW_MS);
            match parsed {
                Ok(parsed) => assert_eq!(parsed, end, "{text}"),
                Err(told) => assert!(told.contains("is over"), "{told}"),
            }
        }
    }

    #[test]
    fn what_is_no_end_or_over_is_told() {
        for (text, words) in [
            ("tomorrow", "30d"),
            ("-1d", "30d"),
            ("99999999999999999999d", "30d"),
            ("2026-02-30", "is no end"),
            ("2026-02-28", "is over"),
            ("0d", "is over"),
            ("9999-12-31", ""),
        ] {
            match parse_end(text, NOW_MS) {
                Ok(_) => assert!(words.is_empty(), "{text}"),
                Err(told) => assert!(told.contains(words), "{told}"),
            }
        }
    }
}
