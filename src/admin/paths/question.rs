//! What is asked about paths.

use std::ops::Range;

use serde::Deserialize;
use time::{Date, OffsetDateTime, Time, format_description::well_known::Iso8601};

use super::super::{page::encode, problem::Problem};
use crate::traffic::PathFilter;

/// Parameters of the page, its JSON and its CSV.
pub(in super::super) const PARAMETERS: &[&str] = &["site", "robot", "since", "until", "path"];

/// Times that the page offers, and what it calls them.
pub(super) const TIMES: &[(&str, &str)] = &[
    ("1h", "hour"),
    ("24h", "24 hours"),
    ("7d", "7 days"),
    ("30d", "30 days"),
    ("90d", "90 days"),
    ("all", "all"),
];

const DEFAULT_TIME: &str = "24h";

/// Days after which nothing is kept.
const KEPT_DAYS: i64 = 400;

const DAY: i64 = 24 * 60;

/// Longest text of a parameter, in bytes.
const MAX_BYTES: usize = 1_000;

/// Query of the page.
#[derive(Clone, Debug, Default, Deserialize)]
pub(in super::super) struct PathParams {
    #[serde(default)]
    site: String,
    #[serde(default)]
    robot: String,
    #[serde(default)]
    since: String,
    #[serde(default)]
    until: String,
    #[serde(default)]
    path: String,
}

/// Time and filter, whose parameters are right.
#[derive(Clone, Debug)]
pub(super) struct PathQuestion {
    pub(super) minutes: Range<i64>,
    pub(super) site: Option<String>,
    pub(super) filter: PathFilter,
    /// As the address names them; `until` is empty for now.
    pub(super) since: String,
    pub(super) until: String,
}

impl PathQuestion {
    pub(super) fn parse(params: &PathParams, now_ms: i64) -> Result<Self, Problem> {
        // The minute that has begun is counted too.
        let now = now_ms.div_euclid(60_000) + 1;
        let oldest = now - KEPT_DAYS * DAY;
        let since = text("since", &params.since)?.unwrap_or_else(|| DEFAULT_TIME.to_owned());
        let until = text("until", &params.until)?.unwrap_or_default();
        let begun = minute("since", &since, now)?.clamp(oldest, now);
        let ended = match &*until {
            "" => now,
            until => minute("until", until, now)?.clamp(oldest, now),
        };
        if begun > ended {
            let told = "since is later than until: nothing is between them";
            return Err(Problem::invalid(told.to_owned()));
        }
        let path = text("path", &params.path)?;
        if path
            .as_ref()
            .is_some_and(|path| !path.starts_with(['/', '*']))
        {
            let told = "path: write a path such as /docs/start.html, or a pattern such as /docs/*";
            return Err(Problem::invalid(told.to_owned()));
        }
        Ok(Self {
            minutes: begun..ended,
            site: text("site", &params.site)?,
            filter: PathFilter {
                robot: text("robot", &params.robot)?,
                path,
            },
            since,
            until,
        })
    }

    /// Returns the link to a page about the same, with other values of some parameters; an empty
    /// one is left out.
    pub(super) fn link(&self, page: &str, other: &[(&str, &str)]) -> String {
        let since = if self.since == DEFAULT_TIME {
            ""
        } else {
            &self.since
        };
        let mut link = page.to_owned();
        let mut sign = '?';
        for (key, value) in [
            ("site", self.site.as_deref().unwrap_or_default()),
            ("robot", self.filter.robot.as_deref().unwrap_or_default()),
            ("since", since),
            ("until", &self.until),
            ("path", self.filter.path.as_deref().unwrap_or_default()),
        ] {
            let named = other.iter().find(|(name, _)| *name == key);
            let value = named.map_or(value, |(_, value)| value);
            if !value.is_empty() {
                link.push(sign);
                link.push_str(key);
                link.push('=');
                link.push_str(&encode(value));
                sign = '&';
            }
        }
        link
    }
}

fn text(name: &str, value: &str) -> Result<Option<String>, Problem> {
    let value = value.trim();
    if value.len() > MAX_BYTES {
        let told = format!("{name}: use at most {MAX_BYTES} bytes");
        return Err(Problem::invalid(told));
    }
    Ok(Some(value.to_owned()).filter(|value| !value.is_empty()))
}

fn minute(name: &str, text: &str, now: i64) -> Result<i64, Problem> {
    let found = match text {
        "all" => Some(i64::MIN),
        "now" => Some(now),
        _ => ago(text).map(|ago| now - ago).or_else(|| at(text)),
    };
    found.ok_or_else(|| {
        Problem::invalid(format!(
            "{name}: write 24h, 7d, 4w, a day such as 2026-11-01, a time such as 2026-11-01T08:00:00Z, or all"
        ))
    })
}

/// Reads a length of time in minutes.
fn ago(text: &str) -> Option<i64> {
    let units = [("m", 1), ("h", 60), ("d", DAY), ("w", 7 * DAY)];
    let (number, minutes) = units
        .into_iter()
        .find_map(|(unit, minutes)| Some((text.strip_suffix(unit)?, minutes)))?;
    // A sign is none of a length of time.
    let number: u32 = number.parse().ok().filter(|_| !number.starts_with('+'))?;
    Some(i64::from(number) * minutes)
}

/// Reads a day or a time, in minutes since 1970.
fn at(text: &str) -> Option<i64> {
    let time = OffsetDateTime::parse(text, &Iso8601::DEFAULT)
        .ok()
        .or_else(|| {
            let day = Date::parse(text, &Iso8601::DATE).ok()?;
            Some(day.with_time(Time::MIDNIGHT).assume_utc())
        })?;
    Some(time.unix_timestamp().div_euclid(60))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(since: &str, until: &str, path: &str) -> Option<PathQuestion> {
        let params = PathParams {
            since: since.to_owned(),
            until: until.to_owned(),
            path: path.to_owned(),
            ..PathParams::default()
        };
        PathQuestion::parse(&params, 500 * DAY * 60_000).ok()
    }

    #[test]
    fn times_are_read_as_people_write_them() {
        let now = 500 * DAY + 1;
        for (since, until, expected) in [
            ("", "", Some(now - DAY..now)),
            ("7d", "1d", Some(now - 7 * DAY..now - DAY)),
            ("all", "", Some(100 * DAY + 1..now)),
            ("1971-05-01", "", Some(485 * DAY..now)),
            ("1971-05-01T01:30:00Z", "now", Some(485 * DAY + 90..now)),
            ("1d", "2d", None),
            ("yesterday", "", None),
            ("+1d", "", None),
        ] {
            let found = parse(since, until, "").map(|question| question.minutes);
            assert_eq!(found, expected, "{since} {until}");
        }
        assert!(parse("", "", "docs").is_none());
        assert!(parse("", "", &format!("/{}", "a".repeat(MAX_BYTES))).is_none());
    }

    #[test]
    fn links_keep_what_is_asked_and_hold_any_text() {
        let question = parse("7d", "", "/a b/*").unwrap();
        assert_eq!(
            question.link("paths", &[]),
            "paths?since=7d&path=%2Fa%20b%2F%2A"
        );
        let other = question.link("paths", &[("path", ""), ("robot", "a&b")]);
        assert_eq!(other, "paths?robot=a%26b&since=7d");
    }
}
