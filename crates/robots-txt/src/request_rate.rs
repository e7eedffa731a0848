//! Parsing of `Crawl-delay` and `Request-rate`.

use std::{str::FromStr, time::Duration};

/// The maximum `Crawl-delay` in seconds, which is one year.
const MAX_SECONDS: f64 = 365.0 * 86_400.0;

/// The requested maximum rate for a robot: `requests` documents per `period`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct RequestRate {
    /// The number of documents in one period.
    pub requests: u32,
    /// The length of the period in which the documents may be requested.
    pub period: Duration,
}

impl RequestRate {
    /// Creates a rate; returns `None` if the number of documents or the period is zero.
    #[must_use]
    pub fn new(requests: u32, period: Duration) -> Option<Self> {
        (requests > 0 && !period.is_zero()).then_some(Self { requests, period })
    }

    /// Parses a rate such as `1/10`, `1/10s`, `1/10m` or `1/2h`; a time of day after the rate is
    /// ignored.
    pub(super) fn parse(value: &[u8]) -> Option<Self> {
        let value = str::from_utf8(value).ok()?;
        let rate = value.split_ascii_whitespace().next()?;
        let (requests, time) = rate.split_once('/')?;
        let unit = time.trim_start_matches(|digit: char| digit.is_ascii_digit());
        let seconds = match unit {
            "" | "s" | "S" => 1,
            "m" | "M" => 60,
            "h" | "H" => 3_600,
            _ => return None,
        };
        let count: u64 = number(time.strip_suffix(unit)?)?;
        let period = Duration::from_secs(count.checked_mul(seconds)?);
        Self::new(number(requests)?, period)
    }
}

fn number<N: FromStr>(digits: &str) -> Option<N> {
    digits
        .bytes()
        .all(|digit| digit.is_ascii_digit())
        .then(|| digits.parse().ok())
        .flatten()
}

/// Parses a `Crawl-delay` in seconds: digits with an optional decimal point.
pub(super) fn crawl_delay(value: &[u8]) -> Option<Duration> {
    // Rust's parser would also accept `inf`, `1e9` and `-1`.
    let is_number = |octet: &u8| octet.is_ascii_digit() || *octet == b'.';
    if !value.iter().all(is_number) {
        return None;
    }
    let seconds: f64 = str::from_utf8(value).ok()?.parse().ok()?;
    // The limit ensures that the conversion does not panic.
    (seconds <= MAX_SECONDS).then(|| Duration::from_secs_f64(seconds))
}

/// Parses a `Crawl-delay` in whole seconds in the same way as Java.
pub(super) fn whole_crawl_delay(value: &[u8]) -> Option<Duration> {
    let seconds: i32 = str::from_utf8(value).ok()?.parse().ok()?;
    Some(Duration::from_secs(u64::try_from(seconds).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_is_a_number_of_documents_per_period() {
        for (text, expected) in [
            ("1/5", Some((1, 5))),
            ("3/15s", Some((3, 15))),
            ("1/10m 0800-1300", Some((1, 600))),
            ("2/1H", Some((2, 3_600))),
            ("0/5", None),
            ("1/0", None),
            ("1/-5", None),
            ("1/5d", None),
            ("1", None),
            ("1/99999999999999999999h", None),
        ] {
            let rate = RequestRate::parse(text.as_bytes());
            let parts = rate.map(|rate| (rate.requests, rate.period.as_secs()));
            assert_eq!(parts, expected, "{text}");
        }
    }

    #[test]
    fn delay_is_a_number_of_seconds() {
        for (text, expected) in [
            ("10", Some(10_000)),
            ("0.5", Some(500)),
            (".5", Some(500)),
            ("-1", None),
            ("1e3", None),
            ("ten", None),
            ("", None),
            ("inf", None),
            ("1.2.3", None),
            ("99999999999", None),
        ] {
            let delay = crawl_delay(text.as_bytes());
            assert_eq!(delay.map(|delay| delay.as_millis()), expected, "{text}");
        }
    }
}
