//! Points in time, as shown on pages and in JSON.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;

/// A point in time: exact for programs, and relative to the current time for people.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Moment {
    /// Time in milliseconds since 1970.
    pub at_ms: i64,
    /// Time in UTC in RFC 3339 format, to the second.
    pub iso: String,
    /// Time relative to the current time, such as "3 days ago" or "in 2 hours".
    pub ago: String,
}

impl Moment {
    /// Creates a moment relative to `now_ms`.
    pub fn new(at_ms: i64, now_ms: i64) -> Self {
        Self {
            at_ms,
            iso: rfc3339(at_ms),
            ago: ago(at_ms, now_ms),
        }
    }
}

impl JsonSchema for Moment {
    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.iso)
    }
}

/// Returns a time in UTC in RFC 3339 format, to the second, such as `2026-03-01T12:30:00Z`.
pub fn rfc3339(at_ms: i64) -> String {
    date_time(at_ms).format(&Rfc3339).unwrap_or_default()
}

/// Converts milliseconds since 1970 to a date and time; times out of range become 1970.
fn date_time(at_ms: i64) -> OffsetDateTime {
    // Euclidean division also rounds times before 1970 down.
    let at = OffsetDateTime::from_unix_timestamp(at_ms.div_euclid(1_000));
    at.unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

/// Returns a duration as a short text, such as `1.2 s`.
pub fn duration_text(duration_ms: i64) -> String {
    match duration_ms.max(0) {
        ms @ 0..1_000 => format!("{ms} ms"),
        ms @ 1_000..MINUTE_MS => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        ms => format!("{} min {} s", ms / MINUTE_MS, ms % MINUTE_MS / 1_000),
    }
}

fn ago(at_ms: i64, now_ms: i64) -> String {
    let away_ms = at_ms.saturating_sub(now_ms);
    let distance = match away_ms.saturating_abs() {
        0..MINUTE_MS => {
            return if away_ms > 0 {
                "in a moment"
            } else {
                "just now"
            }
            .to_owned();
        }
        ms @ MINUTE_MS..HOUR_MS => counted(ms / MINUTE_MS, "minute"),
        ms @ HOUR_MS..DAY_MS => counted(ms / HOUR_MS, "hour"),
        ms => counted(ms / DAY_MS, "day"),
    };
    if away_ms > 0 {
        format!("in {distance}")
    } else {
        format!("{distance} ago")
    }
}

fn counted(count: i64, unit: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: i64 = 1_772_368_245_999;

    #[test]
    fn moment_is_shown_exactly_in_utc() {
        let moment = Moment::new(NOW_MS, NOW_MS);
        assert_eq!(moment.iso, "2026-03-01T12:30:45Z");
    }

    #[test]
    fn distances_are_rounded_down() {
        let told = |away_ms| Moment::new(NOW_MS + away_ms, NOW_MS).ago;
        assert_eq!(told(0), "just now");
        assert_eq!(told(-59_999), "just now");
        assert_eq!(told(-60_000), "1 minute ago");
        assert_eq!(told(-2 * HOUR_MS + 1), "1 hour ago");
        assert_eq!(told(-3 * DAY_MS - 5), "3 days ago");
        assert_eq!(told(30 * DAY_MS), "in 30 days");
        assert_eq!(told(5), "in a moment");
    }

    #[test]
    fn impossible_times_are_shown_too() {
        assert!(Moment::new(i64::MAX, i64::MIN).iso.starts_with("1970"));
        assert!(Moment::new(i64::MIN, i64::MAX).iso.starts_with("1970"));
        assert_eq!(Moment::new(-1, 0).iso, "1969-12-31T23:59:59Z");
    }

    #[test]
    fn durations_have_a_fitting_unit() {
        assert_eq!(duration_text(12), "12 ms");
        assert_eq!(duration_text(1_250), "1.2 s");
        assert_eq!(duration_text(61_000), "1 min 1 s");
        assert_eq!(duration_text(-5), "0 ms");
    }
}
