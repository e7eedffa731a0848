//! Detects URL traps: endless paths, calendars and the like.

use std::{collections::HashMap, fmt};

use url::Url;

use crate::document::has_session;

/// Limits beyond which a URL is treated as a trap.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TrapLimits {
    /// Maximum length of the path and query, in bytes; 1,024 by default.
    pub max_bytes: usize,
    /// Maximum number of path segments; 20 by default.
    pub max_segments: usize,
    /// Maximum number of repetitions of a segment, or of a sequence of segments; 3 by default.
    pub max_repeats: usize,
    /// Maximum number of query parameters; 12 by default.
    pub max_parameters: usize,
    /// Number of years into the future for which a calendar is followed; 1 by default.
    pub years_ahead: i32,
    /// Number of years into the past for which a calendar is followed; 20 by default.
    pub years_back: i32,
    /// Whether URLs that contain a session id are skipped; `true` by default.
    pub refuses_sessions: bool,
    /// Maximum number of pages with the same title and text, and with URLs that differ only in
    /// numbers, whose links are followed; 1,000 by default.
    pub max_alike: u32,
}

/// Reason why a URL is treated as a trap.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Trap {
    /// The path and query are too long.
    TooLong,
    /// The path has too many segments.
    TooDeep,
    /// The path of the URL repeats its segments.
    Repeats,
    /// The query has too many parameters.
    TooManyParameters,
    /// A calendar extends to this year, which is too far away.
    Calendar(i32),
    /// The URL contains a session id.
    Session,
}

/// Returns the kind of trap that a URL appears to be, if any; `this_year` limits calendars.
///
/// # Example
///
/// ```
/// use robot_detection_site_robot::site_robot::{Trap, TrapLimits, trap};
///
/// let url = "http://h.example/calendar?month=7&year=2093".parse().unwrap();
/// let found = trap(&url, &TrapLimits::default(), 2026);
/// assert_eq!(found, Some(Trap::Calendar(2093)));
/// ```
pub fn trap(url: &Url, limits: &TrapLimits, this_year: i32) -> Option<Trap> {
    let query = url.query().unwrap_or_default();
    if url.path().len() + query.len() > limits.max_bytes {
        return Some(Trap::TooLong);
    }
    let segments: Vec<&str> = url.path().split('/').filter(|it| !it.is_empty()).collect();
    if segments.len() > limits.max_segments {
        return Some(Trap::TooDeep);
    }
    if repeats(&segments, limits.max_repeats) {
        return Some(Trap::Repeats);
    }
    if parameters(url).count() > limits.max_parameters {
        return Some(Trap::TooManyParameters);
    }
    if let Some(year) = far_year(url, &segments, limits, this_year) {
        return Some(Trap::Calendar(year));
    }
    (limits.refuses_sessions && has_session(url)).then_some(Trap::Session)
}

/// Returns the decoded parameters of a query.
pub(super) fn parameters(url: &Url) -> impl Iterator<Item = (String, String)> {
    let pairs = url.query_pairs();
    pairs.map(|(name, value)| (name.into_owned(), value.into_owned()))
}

/// Returns `true` if a segment, or a sequence of segments, is repeated too often.
fn repeats(segments: &[&str], max: usize) -> bool {
    let times = max.saturating_add(1);
    let is_run = |length: usize| {
        segments.windows(length * times).any(|window| {
            let (first, _) = window.split_at(length);
            window.chunks(length).all(|chunk| chunk == first)
        })
    };
    let often = |segment: &&str| {
        // Numbers often repeat in dates, so only sequences of numbers are considered.
        let is_name = !segment.bytes().all(|byte| byte.is_ascii_digit());
        is_name && segments.iter().filter(|it| *it == segment).count() > max
    };
    // A longer sequence cannot be repeated often enough to exceed the limit.
    let longest = segments.len() / times;
    (1..=longest).any(is_run) || segments.iter().any(often)
}

/// Returns the year of a calendar URL if it is too far from the current year.
fn far_year(url: &Url, segments: &[&str], limits: &TrapLimits, this_year: i32) -> Option<i32> {
    let ahead = this_year.saturating_add(limits.years_ahead);
    let back = this_year.saturating_sub(limits.years_back);
    let mut of_query = parameters(url).filter_map(|(name, value)| year_of(&name, &value));
    if let Some(year) = of_query.find(|year| *year > ahead || *year < back) {
        return Some(year);
    }
    // Archives by year and month may go back to any year.
    let of_path = segments.windows(2).filter_map(|pair| match pair {
        [year, month] => year_and_month(year, month),
        _ => None,
    });
    let of_segment = segments.iter().filter_map(|segment| date_year(segment));
    of_path.chain(of_segment).find(|year| *year > ahead)
}

fn year_of(name: &str, value: &str) -> Option<i32> {
    let name = name.to_ascii_lowercase();
    match name.as_str() {
        "year" | "yr" | "y" | "jahr" | "annee" | "cal_year" | "calyear" => number(value, 4),
        "date" | "day" | "month" | "week" | "start" | "from" | "cal" | "d" | "m" | "ym" => {
            date_year(value)
        }
        _ => None,
    }
}

/// Returns the year in a date such as `2026-05`, `2026-05-01` or `2026-W07`.
fn date_year(value: &str) -> Option<i32> {
    let mut parts = value.split('-');
    let year = number(parts.next()?, 4)?;
    let month = parts.next()?;
    let month = month.strip_prefix(['W', 'w']).unwrap_or(month);
    let is_month = number(month, 2).is_some_and(|month| (1..=53).contains(&month));
    let is_day = parts.next().is_none_or(|day| number(day, 2).is_some());
    (is_month && is_day && parts.next().is_none()).then_some(year)
}

fn year_and_month(year: &str, month: &str) -> Option<i32> {
    let month = number(month, 2).or_else(|| number(month, 1))?;
    number(year, 4).filter(|_| (1..=12).contains(&month))
}

fn number(text: &str, digits: usize) -> Option<i32> {
    let is_number = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// Counter that limits the number of different queries per path.
#[derive(Clone, Debug)]
pub struct QueryVariants {
    max_per_path: u32,
    max_paths: usize,
    counts: HashMap<String, u32>,
}

impl QueryVariants {
    /// Creates a counter that accepts at most `max_per_path` different queries per path.
    ///
    /// The counter remembers 100,000 paths; for any further paths, all queries are accepted.
    pub fn new(max_per_path: u32) -> Self {
        Self {
            max_per_path,
            max_paths: 100_000,
            counts: HashMap::new(),
        }
    }

    /// Returns `true` if a URL is accepted, and counts the URL if it has a query.
    ///
    /// Call this function only once per URL.
    pub fn admits(&mut self, url: &Url) -> bool {
        if url.query().is_none() {
            return true;
        }
        let path = url.as_str().split('?').next().unwrap_or_default();
        if self.counts.len() >= self.max_paths && !self.counts.contains_key(path) {
            return true;
        }
        let count = self.counts.entry(path.to_owned()).or_default();
        *count = count.saturating_add(1);
        *count <= self.max_per_path
    }
}

impl Default for TrapLimits {
    fn default() -> Self {
        Self {
            max_bytes: 1024,
            max_segments: 20,
            max_repeats: 3,
            max_parameters: 12,
            years_ahead: 1,
            years_back: 20,
            refuses_sessions: true,
            max_alike: 1_000,
        }
    }
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => f.write_str("the path and query are too long"),
            Self::TooDeep => f.write_str("the path has too many segments"),
            Self::Repeats => f.write_str("the path repeats its segments"),
            Self::TooManyParameters => f.write_str("the query has too many parameters"),
            Self::Calendar(year) => write!(f, "a calendar extends to the year {year}"),
            Self::Session => f.write_str("the URL contains a session id"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trapped(path: &str) -> Option<Trap> {
        let url = format!("http://h{path}").parse().unwrap();
        trap(&url, &TrapLimits::default(), 2026)
    }

    #[test]
    fn endless_paths_are_traps() {
        for (path, found) in [
            ("/", None),
            ("/a/b/a/b/a/b", None),
            ("/a/b/a/b/a/b/a/b", Some(Trap::Repeats)),
            ("/x/a/a/a/a/y", Some(Trap::Repeats)),
            ("/a/x/a/y/a/z", None),
            ("/a/x/a/y/a/z/a", Some(Trap::Repeats)),
            ("/a/1/a/2/a/3/a/4", Some(Trap::Repeats)),
            ("/a/1/a/2/a/3/a/4/a/5", Some(Trap::Repeats)),
            ("/1/a/1/b/1/c/1", None),
            ("/1/1/1", None),
            ("/?a&b&c", None),
            ("/a;jsessionid=17", Some(Trap::Session)),
            ("/?PHPSESSID=17", Some(Trap::Session)),
        ] {
            assert_eq!(trapped(path), found, "{path}");
        }
        assert_eq!(
            trapped(&format!("/{}", "a".repeat(1024))),
            Some(Trap::TooLong)
        );
        let deep = "/x/y/z".repeat(7);
        assert_eq!(trapped(&deep), Some(Trap::TooDeep));
        let wide = "&p=1".repeat(13);
        assert_eq!(trapped(&format!("/?{wide}")), Some(Trap::TooManyParameters));
    }

    #[test]
    fn calendars_are_limited() {
        for (path, year) in [
            ("/?month=5&year=2026", None),
            ("/?month=5&year=2027", None),
            ("/?month=5&year=2028", Some(2028)),
            ("/?month=1&year=2005", Some(2005)),
            ("/?date=2099-01-31", Some(2099)),
            ("/?m=2099-01", Some(2099)),
            ("/?week=2099-W52", Some(2099)),
            ("/2099/01/", Some(2099)),
            ("/events/2099-01", Some(2099)),
            ("/1066/10/hastings", None),
            ("/2099/", None),
            ("/?id=2099", None),
            ("/?y=20990", None),
            ("/spec-2099-01-01-x", None),
        ] {
            assert_eq!(trapped(path), year.map(Trap::Calendar), "{path}");
        }
    }

    #[test]
    fn queries_per_path_are_limited() {
        let mut variants = QueryVariants::new(2);
        let mut admits = |url: &str| variants.admits(&url.parse().unwrap());
        assert!(admits("http://h/a?1") && admits("http://h/a?2"));
        assert!(!admits("http://h/a?3"));
        assert!(admits("http://h/a") && admits("http://h/b?1"));
        variants.max_paths = 2;
        assert!(variants.admits(&"http://h/c?1".parse().unwrap()));
        assert_eq!(variants.counts.len(), 2);
    }

    #[test]
    fn each_trap_has_a_description() {
        assert_eq!(
            Trap::Calendar(2099).to_string(),
            "a calendar extends to the year 2099"
        );
    }
}
