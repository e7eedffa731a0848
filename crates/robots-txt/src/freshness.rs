//! The freshness lifetime of a robots.txt file.

use super::http_date;

/// The lifetime of a robots.txt file if no header specifies one: 24 hours (RFC 9309 §2.4).
const DEFAULT_MS: i64 = 24 * 3_600 * 1_000;

/// The maximum lifetime of a robots.txt file, regardless of headers: 7 days (HTTP: The Definitive
/// Guide 9.4.5).
const MAX_MS: i64 = 7 * 24 * 3_600 * 1_000;

/// Returns the time until which a /robots.txt response is fresh, in milliseconds since 1970.
///
/// The lifetime is determined by `Cache-Control`, or by `Expires` relative to `Date`, minus `Age`.
/// Without these headers, the lifetime is 24 hours; the maximum is 7 days. For `no-store`,
/// `no-cache` and invalid values, the function returns `now_ms`, so that the response is used only
/// once.
///
/// # Example
///
/// ```
/// use robot_detection_robots_txt::fresh_until_ms;
///
/// let headers = [("Cache-Control", "public, max-age=3600"), ("Age", "600")];
/// assert_eq!(fresh_until_ms(headers, 0), 3_000_000);
/// ```
pub fn fresh_until_ms<'h>(
    headers: impl IntoIterator<Item = (&'h str, &'h str)>,
    now_ms: i64,
) -> i64 {
    let mut cached = CacheHeaders::default();
    for (name, value) in headers {
        cached.header(name, value, now_ms);
    }
    now_ms.saturating_add(cached.lifetime_ms(now_ms))
}

/// The cache headers of a response.
#[derive(Debug, Default)]
struct CacheHeaders {
    is_uncacheable: bool,
    max_age_ms: Option<i64>,
    /// The time specified by `Expires`; an invalid value counts as expired.
    expires_ms: Option<i64>,
    date_ms: Option<i64>,
    age_ms: i64,
}

impl CacheHeaders {
    fn header(&mut self, name: &str, value: &str, now_ms: i64) {
        let is = |known: &str| name.trim().eq_ignore_ascii_case(known);
        if is("cache-control") {
            for directive in value.split(',') {
                self.directive(directive);
            }
        } else if is("expires") {
            // RFC 9111 §5.3: an invalid date, especially `0`, counts as expired.
            let moment = http_date::parse_ms(value, now_ms).unwrap_or(i64::MIN);
            self.expires_ms = Some(earlier(self.expires_ms, moment));
        } else if is("date") {
            self.date_ms = http_date::parse_ms(value, now_ms);
        } else if is("age") {
            // RFC 9111 §5.1: an invalid `Age` is ignored.
            self.age_ms = seconds_ms(value).unwrap_or(0);
        }
    }

    fn directive(&mut self, directive: &str) {
        let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
        let is = |known: &str| name.trim().eq_ignore_ascii_case(known);
        // `no-cache="Set-Cookie"` applies only to that header.
        if is("no-store") || (is("no-cache") && value.trim().is_empty()) {
            self.is_uncacheable = true;
        } else if is("max-age") {
            // RFC 9111 §4.2.1: treat invalid or repeated freshness information as stale.
            let max_age = seconds_ms(value.trim().trim_matches('"')).unwrap_or(0);
            self.max_age_ms = Some(earlier(self.max_age_ms, max_age));
        }
    }

    fn lifetime_ms(&self, now_ms: i64) -> i64 {
        if self.is_uncacheable {
            return 0;
        }
        // RFC 9111 §5.3: `max-age` takes precedence over `Expires`.
        let lifetime = match (self.max_age_ms, self.expires_ms) {
            (Some(max_age), _) => max_age,
            (None, Some(expires)) => expires.saturating_sub(self.date_ms.unwrap_or(now_ms)),
            (None, None) => DEFAULT_MS,
        };
        lifetime.saturating_sub(self.age_ms).clamp(0, MAX_MS)
    }
}

fn earlier(known: Option<i64>, other: i64) -> i64 {
    known.map_or(other, |known| known.min(other))
}

/// Parses seconds and converts them to milliseconds; on overflow, returns the largest number.
fn seconds_ms(text: &str) -> Option<i64> {
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(
        text.parse::<i64>()
            // RFC 9111 §1.2.2: treat overflow as the largest number.
            .unwrap_or(i64::MAX)
            .saturating_mul(1_000),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600;
    const DAY: i64 = 24 * HOUR;
    /// The current time in the tests: 2026-03-01T00:00:00Z.
    const NOW_MS: i64 = 1_772_323_200_000;

    fn seconds(headers: &[(&str, &str)]) -> i64 {
        (fresh_until_ms(headers.iter().copied(), NOW_MS) - NOW_MS) / 1_000
    }

    #[test]
    fn lifetime_is_a_day_by_default_and_a_week_at_most() {
        assert_eq!(seconds(&[]), DAY);
        assert_eq!(seconds(&[("Content-Type", "text/plain")]), DAY);
        assert_eq!(seconds(&[("Cache-Control", "max-age=31536000")]), 7 * DAY);
        let huge = "max-age=99999999999999999999999";
        assert_eq!(seconds(&[("cache-control", huge)]), 7 * DAY);
    }

    #[test]
    fn cache_control_takes_precedence_over_expires() {
        let expires = ("Expires", "Sun, 01 Mar 2026 05:00:00 GMT");
        assert_eq!(seconds(&[expires]), 5 * HOUR);
        assert_eq!(seconds(&[expires, ("Cache-Control", "max-age=60")]), 60);
        assert_eq!(seconds(&[("Cache-Control", "public, Max-Age=\"60\"")]), 60);
        assert_eq!(seconds(&[("Cache-Control", "max-age=60, max-age=30")]), 30);
    }

    #[test]
    fn expires_is_relative_to_the_date_of_the_server() {
        let expires = ("Expires", "Mon, 02 Mar 2020 01:00:00 GMT");
        let date = ("Date", "Mon, 02 Mar 2020 00:00:00 GMT");
        assert_eq!(seconds(&[expires, date]), HOUR);
        assert_eq!(seconds(&[expires]), 0);
        assert_eq!(seconds(&[("Expires", "0")]), 0);
        assert_eq!(seconds(&[("Expires", "-1"), date]), 0);
    }

    #[test]
    fn uncacheable_response_may_be_used_once() {
        for value in [
            "no-store",
            "no-cache",
            "public, No-Cache",
            "max-age=0",
            "max-age=x",
        ] {
            assert_eq!(seconds(&[("Cache-Control", value)]), 0, "{value}");
        }
        let partly = "max-age=60, no-cache=\"Set-Cookie\"";
        assert_eq!(seconds(&[("Cache-Control", partly)]), 60);
    }

    #[test]
    fn age_is_subtracted() {
        let hour = ("Cache-Control", "max-age=3600");
        assert_eq!(seconds(&[hour, ("Age", "600")]), 3_000);
        assert_eq!(seconds(&[hour, ("Age", "9999")]), 0);
        assert_eq!(seconds(&[hour, ("Age", "old")]), 3_600);
        assert_eq!(seconds(&[("Age", "3600")]), DAY - HOUR);
    }
}
