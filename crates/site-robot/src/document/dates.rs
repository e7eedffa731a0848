//! Publication and modification dates specified by a page.

use serde_json::Value;
use time::{Date, Month, PrimitiveDateTime, Time, UtcOffset};

use super::attributes::{Attribute, Attributes, is_html_space};

/// Maximum size of structured data to parse, in bytes.
const MAX_JSON_BYTES: usize = 256 * 1024;
/// Maximum nesting depth to which structured data is searched.
const MAX_JSON_DEPTH: u32 = 4;

/// Names of the META tags that contain a page's publication date.
const PUBLISHED: [&str; 8] = [
    "article:published_time",
    "datepublished",
    "dc.date.issued",
    "dcterms.created",
    "dcterms.issued",
    "parsely-pub-date",
    "pubdate",
    "publishdate",
];
const MODIFIED: [&str; 5] = [
    "article:modified_time",
    "datemodified",
    "dcterms.modified",
    "last-modified",
    "og:updated_time",
];

/// Values of `class` and `itemprop` that indicate the meaning of a `<time>` element.
const TIMES: [(&str, DateKind); 9] = [
    ("datepublished", DateKind::Published),
    ("dt-published", DateKind::Published),
    ("entry-date", DateKind::Published),
    ("pubdate", DateKind::Published),
    ("published", DateKind::Published),
    ("datemodified", DateKind::Modified),
    ("dt-updated", DateKind::Modified),
    ("modified", DateKind::Modified),
    ("updated", DateKind::Modified),
];

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum DateKind {
    Published,
    Modified,
}

/// A date, or a date and time, specified by a page.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Moment {
    /// Seconds since 1970; midnight UTC if only the date is known.
    pub seconds: u64,
    /// Whether only the date is known, without a time.
    pub is_day: bool,
}

impl Moment {
    /// Parses a date, or a time with its time zone (RFC 3339 and common forms of ISO 8601).
    ///
    /// If the time zone is missing, only the date is used. Returns `None` if the text is invalid or
    /// the date is before 1970.
    ///
    /// # Example
    ///
    /// ```
    /// use robot_detection_site_robot::document::Moment;
    ///
    /// let moment = Moment::read("2026-03-01T12:30:05+01:00").unwrap();
    /// assert_eq!(moment.seconds % 86_400, 11 * 3_600 + 30 * 60 + 5);
    /// assert!(Moment::read("2026-03-01").unwrap().is_day);
    /// ```
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let (date, rest) = text.split_at_checked(10)?;
        let date = day(date)?;
        let moment = |seconds: i64, is_day| {
            let seconds = u64::try_from(seconds).ok()?;
            Some(Self { seconds, is_day })
        };
        let of_day = || moment(date.midnight().assume_utc().unix_timestamp(), true);
        if rest.is_empty() {
            return of_day();
        }
        let rest = rest.strip_prefix(['T', 't', ' '])?.trim_start();
        let end = rest.find(['Z', 'z', '+', '-', ' ']).unwrap_or(rest.len());
        let (clock, zone) = rest.split_at_checked(end)?;
        let at = PrimitiveDateTime::new(date, time_of_day(clock)?);
        match offset(zone.trim()) {
            Some(offset) => moment(at.assume_offset(offset).unix_timestamp(), false),
            None => of_day(),
        }
    }
}

/// Parses a date, such as `2026-03-01`.
fn day(text: &str) -> Option<Date> {
    let mut parts = text.split('-').map(number);
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let month = Month::try_from(u8::try_from(month).ok()?).ok()?;
    Date::from_calendar_date(i32::try_from(year).ok()?, month, u8::try_from(day).ok()?).ok()
}

/// Parses a time of day: `12:30`, `12:30:05` or `12:30:05.7`.
fn time_of_day(text: &str) -> Option<Time> {
    let whole = text.split('.').next().unwrap_or_default();
    let mut parts = whole
        .split(':')
        .map(|part| u8::try_from(number(part)?).ok());
    let (hour, minute) = (parts.next()??, parts.next()??);
    let second = parts.next().unwrap_or(Some(0))?;
    // A leap second is treated as the last second of its minute.
    Time::from_hms(hour, minute, second.min(59)).ok()
}

/// Parses a UTC offset: `Z`, `+01:00`, `+0100` or `+01`.
fn offset(text: &str) -> Option<UtcOffset> {
    if matches!(text, "Z" | "z" | "UTC" | "GMT") {
        return Some(UtcOffset::UTC);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let digits = text.strip_prefix(['+', '-'])?.replace(':', "");
    let (hours, minutes) = digits.split_at_checked(2)?;
    let minutes = if minutes.is_empty() { "0" } else { minutes };
    let part = |text| Some(sign * i8::try_from(number(text)?).ok()?);
    UtcOffset::from_hms(part(hours)?, part(minutes)?, 0).ok()
}

fn number(text: &str) -> Option<u32> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// Dates found in the page's structured data, META tags and text, as written.
#[derive(Debug, Default)]
pub(super) struct Dates {
    /// JSON-LD text that has been read so far.
    json: Option<Vec<u8>>,
    of_json: [Option<String>; 2],
    of_tags: [Option<String>; 2],
    of_times: [Option<String>; 2],
    /// First date in a `<time>` element without a known meaning, and the number of such elements.
    plain: (Option<String>, u32),
}

impl Dates {
    /// Records the dates in a `<meta>` or `<time>` tag.
    pub(super) fn tag(&mut self, name: &[u8], tag: &Attributes) {
        match name {
            b"meta" => {
                let names = [Attribute::Property, Attribute::Name, Attribute::ItemProp];
                let names = names.into_iter().filter_map(|from| tag.lower(from));
                let content = tag.value(Attribute::Content);
                for name in names {
                    let known = [PUBLISHED.as_slice(), MODIFIED.as_slice()];
                    for (known, date) in known.into_iter().zip(&mut self.of_tags) {
                        if known.contains(&name.as_str()) {
                            note(date, content.as_deref());
                        }
                    }
                }
            }
            b"time" => self.time(tag),
            _ => {}
        }
    }

    fn time(&mut self, tag: &Attributes) {
        let Some(told) = tag.value(Attribute::DateTime) else {
            return;
        };
        let words = [Attribute::ItemProp, Attribute::Class].map(|from| tag.lower(from));
        let words = words
            .iter()
            .flatten()
            .flat_map(|it| it.split(is_html_space));
        let mut which = words.filter_map(|word| {
            let found = TIMES.iter().find(|(known, _)| *known == word);
            found.map(|(_, which)| *which)
        });
        let [published, modified] = &mut self.of_times;
        match which.next() {
            Some(DateKind::Published) => note(published, Some(&told)),
            Some(DateKind::Modified) => note(modified, Some(&told)),
            None => {
                note(&mut self.plain.0, Some(&told));
                self.plain.1 += 1;
            }
        }
    }

    pub(super) fn begin_json(&mut self) {
        self.json = Some(Vec::new());
    }

    /// Appends a chunk to the structured data that is being read, if any.
    pub(super) fn push_json(&mut self, part: &[u8]) {
        if let Some(json) = &mut self.json {
            let room = MAX_JSON_BYTES.saturating_sub(json.len());
            json.extend(part.iter().take(room));
        }
    }

    /// Ends the structured data that is being read, if any.
    pub(super) fn end_json(&mut self) {
        let json = self.json.take();
        let value = json.and_then(|json| serde_json::from_slice::<Value>(&json).ok());
        if let Some(value) = value {
            self.json(&value, 0);
        }
    }

    /// Searches structured data for the page's dates; ignores nested items such as comments.
    fn json(&mut self, value: &Value, depth: u32) {
        match value {
            Value::Array(all) if depth < MAX_JSON_DEPTH => {
                for one in all {
                    self.json(one, depth + 1);
                }
            }
            Value::Object(thing) => {
                let told = ["datePublished", "dateModified"].map(|name| thing.get(name)?.as_str());
                for (date, told) in self.of_json.iter_mut().zip(told) {
                    note(date, told);
                }
                if let Some(graph) = thing.get("@graph").filter(|_| depth < MAX_JSON_DEPTH) {
                    self.json(graph, depth + 1);
                }
            }
            _ => {}
        }
    }

    /// Returns the publication date and the modification date.
    pub(super) fn take(&mut self) -> [Option<String>; 2] {
        let mut told = std::mem::take(&mut self.of_json);
        for others in [&mut self.of_tags, &mut self.of_times] {
            for (date, other) in told.iter_mut().zip(others) {
                *date = date.take().or(other.take());
            }
        }
        // If there are several dates, they may belong to other pages or to events.
        if let ([None, None], (Some(only), 1)) = (&told, &self.plain) {
            told = [Some(only.clone()), None];
        }
        told
    }
}

/// Stores a date if it is valid and no date is stored yet.
fn note(date: &mut Option<String>, told: Option<&str>) {
    if date.is_none() {
        let told = told.filter(|told| Moment::read(told).is_some());
        *date = told.map(|told| told.trim().to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::super::Page;
    use super::*;

    fn told(html: &str) -> (Option<String>, Option<String>) {
        let page = Page::read(html);
        (page.published, page.modified)
    }

    fn some(published: &str, modified: &str) -> (Option<String>, Option<String>) {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        (some(published), some(modified))
    }

    #[test]
    fn publication_and_modification_dates_are_found() {
        let json = "<script type='application/ld+json'>{\"@graph\":[{\"@type\":\"Article\",\
                    \"datePublished\":\"2026-01-02\",\"comment\":{\"dateModified\":\"2026-09-09\"}}]}</script>";
        let tags = "<meta property=article:published_time content=2025-01-01>\
                    <meta property=article:modified_time content='2026-02-03T04:05:06Z'>";
        let time = "<time datetime=2024-01-01>";
        assert_eq!(told(json), some("2026-01-02", ""));
        assert_eq!(
            told(&format!("{tags}{json}{time}")),
            some("2026-01-02", "2026-02-03T04:05:06Z")
        );
        assert_eq!(
            told(
                "<time class='entry-date published' datetime=2026-05-05>5 May</time><time datetime=2020-01-01>"
            ),
            some("2026-05-05", "")
        );
        assert_eq!(
            told("<time itemprop=dateModified datetime=2026-05-05>"),
            some("", "2026-05-05")
        );
        assert_eq!(told(time), some("2024-01-01", ""));
        for nothing in [
            "<time datetime=2024-01-01></time><time datetime=2024-01-02>",
            "<time datetime=PT2H>",
            "<meta property=article:published_time content=yesterday>",
            "<script type='application/ld+json'>{\"datePublished\":</script>",
            "<script>{\"datePublished\":\"2026-01-02\"}</script>",
            "<template><time datetime=2024-01-01></template>",
        ] {
            assert_eq!(told(nothing), some("", ""), "{nothing}");
        }
    }

    #[test]
    fn dates_and_times_with_zone_are_parsed() {
        let day = 20_513 * 86_400;
        for (text, seconds) in [
            ("2026-03-01", Some((day, true))),
            ("2026-03-01T12:30:05Z", Some((day + 45_005, false))),
            ("2026-03-01T12:30:05.123+01:00", Some((day + 41_405, false))),
            ("2026-03-01 12:30 -0100", Some((day + 48_600, false))),
            ("2026-03-01T12:30:05", Some((day, true))),
            ("1970-01-01T00:30:00+01:00", None),
            ("2026-02-30", None),
            ("2026-03-01T25:00:00Z", None),
            ("2026-3-1", None),
            ("+026-03-01", None),
            ("1 March 2026", None),
            ("", None),
        ] {
            let moment = Moment::read(text).map(|it| (it.seconds, it.is_day));
            assert_eq!(moment, seconds, "{text}");
        }
    }
}
