//! Parsing of dates in `unavailable_after`.

use crate::http_date::days_since_1970;

/// The maximum length of the text of a date in characters.
// `Wednesday, 25 September 2010 15:00:00.000 +0200 (CEST)` has 54 characters.
const MAX_CHARS: usize = 64;

/// Parses a date with an optional time, and returns the seconds since 1970-01-01 UTC.
///
/// Supported formats are RFC 822 (and 1123, 5322), RFC 850, asctime and ISO 8601, with or without
/// weekday and time, and `June 25, 2010`. The default time is midnight, and the default zone is
/// UTC. An unknown zone name is treated as UTC (RFC 5322 §4.3); a two-digit year from 70 on is in
/// the 20th century. Numeric days and months (`25/06/2010`) are ambiguous and rejected.
pub(super) fn parse(text: &str) -> Option<i64> {
    if text.len() > MAX_CHARS {
        return None;
    }
    let mut scan = Scan {
        rest: text.trim_ascii().as_bytes(),
    };
    scan.weekday();
    let moment = scan.moment()?;
    scan.comment();
    scan.rest.is_empty().then(|| moment.seconds()).flatten()
}

/// The parts of a date, which have not been validated yet.
#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    year: i64,
    month: i64,
    day: i64,
    /// The time of day, in seconds since midnight.
    time: i64,
    /// The offset of the time zone from UTC in seconds.
    offset: i64,
}

impl Moment {
    fn seconds(self) -> Option<i64> {
        if self.year == 0 {
            return None;
        }
        let days = days_since_1970(self.year, self.month, self.day)?;
        Some(days * 86_400 + self.time - self.offset)
    }
}

/// A parser for the remaining text of a date.
struct Scan<'t> {
    rest: &'t [u8],
}

impl<'t> Scan<'t> {
    /// Parses a date with an optional time and time zone.
    fn moment(&mut self) -> Option<Moment> {
        let digits = self.count(u8::is_ascii_digit);
        match digits {
            4 => self.year_first(),
            8 => self.basic(),
            1 | 2 => self.day_first(),
            0 => self.month_first(),
            _ => None,
        }
    }

    /// Parses a date that starts with the year: `2010-06-25`, `2010/06/25`, `2010-06`, `2010 Jun
    /// 25`.
    fn year_first(&mut self) -> Option<Moment> {
        let year = self.number(4..=4)?;
        self.separator()?;
        let month = self.month_or_number()?;
        if self.rest.is_empty() {
            let day = 1;
            return Some(Moment {
                year,
                month,
                day,
                ..Moment::default()
            });
        }
        self.separator()?;
        let day = self.number(1..=2)?;
        self.with_time(year, month, day)
    }

    /// Parses a date in the basic format of ISO 8601, such as `20100625`.
    fn basic(&mut self) -> Option<Moment> {
        let year = self.number(4..=4)?;
        let month = self.number(2..=2)?;
        let day = self.number(2..=2)?;
        self.with_time(year, month, day)
    }

    /// Parses a date that starts with the day, such as `25 Jun 2010` or `25-Jun-10`.
    fn day_first(&mut self) -> Option<Moment> {
        let day = self.number(1..=2)?;
        self.separator()?;
        let month = self.month()?;
        self.eat(b'.');
        self.eat(b',');
        self.separator()?;
        let year = self.year()?;
        self.with_time(year, month, day)
    }

    /// Parses a date that starts with the month: `June 25, 2010`, or asctime's `Jun 25 15:00:00
    /// 2010`.
    fn month_first(&mut self) -> Option<Moment> {
        let month = self.month()?;
        self.eat(b'.');
        self.separator()?;
        let day = self.number(1..=2)?;
        let has_comma = self.eat(b',');
        self.blanks();
        // An early colon indicates the asctime format, in which the time precedes the year.
        if !has_comma && matches!(self.rest, [_, b':', ..] | [_, _, b':', ..]) {
            let time = self.time()?;
            self.blanks();
            let offset = match self.rest.first() {
                Some(byte) if !byte.is_ascii_digit() => self.zone()?,
                _ => 0,
            };
            self.blanks();
            return Some(Moment {
                year: self.number(4..=4)?,
                month,
                day,
                time,
                offset,
            });
        }
        let year = self.year()?;
        self.with_time(year, month, day)
    }

    /// Parses the text after the date, which is empty or a time with an optional zone.
    fn with_time(&mut self, year: i64, month: i64, day: i64) -> Option<Moment> {
        let mut moment = Moment {
            year,
            month,
            day,
            ..Moment::default()
        };
        if self.rest.is_empty() {
            return Some(moment);
        }
        let has_comma = self.eat(b',');
        if !self.blanks() && !has_comma && !self.eat(b'T') && !self.eat(b't') {
            return None;
        }
        if self.rest.first().is_some_and(u8::is_ascii_digit) {
            moment.time = self.time()?;
            self.blanks();
        }
        if !self.rest.is_empty() && self.rest.first() != Some(&b'(') {
            moment.offset = self.zone()?;
        }
        Some(moment)
    }

    /// Parses a time: `15:00`, `15:00:00.5`, `1500`, `150000`, `15`, `3:00 pm`.
    fn time(&mut self) -> Option<i64> {
        let is_basic = matches!(self.count(u8::is_ascii_digit), 4 | 6);
        let mut hour = self.number(if is_basic { 2..=2 } else { 1..=2 })?;
        let (mut minute, mut second) = (0, 0);
        if is_basic || self.eat(b':') {
            minute = self.number(2..=2)?;
            if self.eat(b':') || (is_basic && self.count(u8::is_ascii_digit) == 2) {
                second = self.number(2..=2)?;
                if self.eat(b'.') {
                    let fraction = self.count(u8::is_ascii_digit);
                    self.skip(fraction);
                }
            }
        }
        if let Some(is_afternoon) = self.half_of_day() {
            if !(1..=12).contains(&hour) {
                return None;
            }
            // 12 am is midnight, and 12 pm is noon.
            hour = hour % 12 + if is_afternoon { 12 } else { 0 };
        }
        // A leap second counts as the following second; 24:00 is the following midnight.
        let is_midnight = hour == 24 && minute == 0 && second == 0;
        ((hour <= 23 || is_midnight) && minute <= 59 && second <= 60)
            .then_some(hour * 3600 + minute * 60 + second)
    }

    /// Parses `am` or `pm`, if present.
    fn half_of_day(&mut self) -> Option<bool> {
        let blanks = self.count(u8::is_ascii_whitespace);
        let word = self.rest.get(blanks..blanks + 2)?;
        let behind = self.rest.get(blanks + 2);
        let is_afternoon = word.eq_ignore_ascii_case(b"pm");
        if behind.is_some_and(u8::is_ascii_alphabetic)
            || !(is_afternoon || word.eq_ignore_ascii_case(b"am"))
        {
            return None;
        }
        self.skip(blanks + 2);
        Some(is_afternoon)
    }

    /// Parses a time zone: `Z`, `GMT`, `PST`, `+0200`, `+02:00`, `GMT+2`.
    fn zone(&mut self) -> Option<i64> {
        let word = self.word();
        let mut hours = 0;
        if !word.is_empty() {
            if word.len() > 5 {
                return None;
            }
            hours = zone_hours(word).unwrap_or(0);
            // Only these zone names may be followed by an offset, as in JavaScript's `GMT+0100`.
            let is_universal = [&b"UT"[..], b"UTC", b"GMT"]
                .iter()
                .any(|name| word.eq_ignore_ascii_case(name));
            if !is_universal {
                return Some(hours * 3600);
            }
        }
        let sign = match self.rest.first() {
            Some(b'+') => 1,
            Some(b'-') => -1,
            _ if word.is_empty() => return None,
            _ => return Some(hours * 3600),
        };
        self.skip(1);
        let is_basic = self.count(u8::is_ascii_digit) == 4;
        let hour = self.number(if is_basic { 2..=2 } else { 1..=2 })?;
        let minute = if is_basic || self.eat(b':') {
            self.number(2..=2)?
        } else {
            0
        };
        (hour <= 23 && minute <= 59).then_some(sign * (hour * 3600 + minute * 60))
    }

    /// Skips a weekday and the punctuation after it, if present.
    fn weekday(&mut self) {
        let letters = self.count(u8::is_ascii_alphabetic);
        let Some((word, rest)) = self.rest.split_at_checked(letters) else {
            return;
        };
        if starts_one_of(&WEEKDAYS, word).is_some() {
            self.rest = rest;
            self.eat(b'.');
            self.eat(b',');
            self.blanks();
        }
    }

    /// Skips a comment in parentheses (RFC 5322 §3.2.2).
    fn comment(&mut self) {
        self.blanks();
        // JavaScript and e-mail programs repeat the zone here: `(CET)`.
        if self.rest.first() == Some(&b'(') && self.rest.last() == Some(&b')') {
            self.rest = b"";
        }
    }

    fn month(&mut self) -> Option<i64> {
        let month = starts_one_of(&MONTHS, self.word())?;
        i64::try_from(month + 1).ok()
    }

    fn month_or_number(&mut self) -> Option<i64> {
        if self.rest.first().is_some_and(u8::is_ascii_digit) {
            self.number(1..=2)
        } else {
            self.month()
        }
    }

    fn year(&mut self) -> Option<i64> {
        match self.count(u8::is_ascii_digit) {
            2 => {
                let year = self.number(2..=2)?;
                // The century is determined as in cookie dates (RFC 6265 §5.1.1).
                Some(if year >= 70 { 1900 + year } else { 2000 + year })
            }
            _ => self.number(4..=4),
        }
    }

    /// Skips the separator between day, month and year.
    fn separator(&mut self) -> Option<()> {
        (self.eat(b'-') || self.eat(b'/') || self.blanks()).then_some(())
    }

    /// Parses a number with the given number of digits; further digits are not consumed.
    fn number(&mut self, digits: std::ops::RangeInclusive<usize>) -> Option<i64> {
        let count = self.count(u8::is_ascii_digit).min(*digits.end());
        let text = self.rest.get(..count)?;
        if count < *digits.start() {
            return None;
        }
        self.skip(count);
        let number = text.iter().fold(0, |number, digit| {
            number * 10 + i64::from(digit.wrapping_sub(b'0'))
        });
        Some(number)
    }

    fn word(&mut self) -> &'t [u8] {
        let letters = self.count(u8::is_ascii_alphabetic);
        let word = self.rest.get(..letters).unwrap_or_default();
        self.skip(letters);
        word
    }

    fn blanks(&mut self) -> bool {
        let blanks = self.count(u8::is_ascii_whitespace);
        self.skip(blanks);
        blanks > 0
    }

    fn eat(&mut self, byte: u8) -> bool {
        let is_there = self.rest.first() == Some(&byte);
        self.skip(usize::from(is_there));
        is_there
    }

    fn count(&self, belongs: impl Fn(&u8) -> bool) -> usize {
        self.rest.iter().take_while(|byte| belongs(byte)).count()
    }

    fn skip(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }
}

const WEEKDAYS: [&str; 7] = [
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
];

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Returns the index of the first name that starts with the word of at least three letters.
fn starts_one_of(names: &[&str], word: &[u8]) -> Option<usize> {
    let is_start = |name: &&str| {
        let start = name.as_bytes().get(..word.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(word))
    };
    names
        .iter()
        .position(|name| word.len() >= 3 && is_start(name))
}

/// Returns a named zone's offset from UTC in hours.
///
/// The American zones are those of RFC 822 §5.1; single-letter zones except `Z` are unreliable (RFC
/// 5322 §4.3).
fn zone_hours(name: &[u8]) -> Option<i64> {
    const ZONES: [(&str, i64); 20] = [
        ("EST", -5),
        ("EDT", -4),
        ("CST", -6),
        ("CDT", -5),
        ("MST", -7),
        ("MDT", -6),
        ("PST", -8),
        ("PDT", -7),
        ("AKST", -9),
        ("AKDT", -8),
        ("HST", -10),
        ("WEST", 1),
        ("BST", 1),
        ("CET", 1),
        ("CEST", 2),
        ("EET", 2),
        ("EEST", 3),
        ("MSK", 3),
        ("JST", 9),
        ("AEST", 10),
    ];
    let mut zones = ZONES.iter();
    zones
        .find(|(zone, _)| zone.as_bytes().eq_ignore_ascii_case(name))
        .map(|(_, hours)| *hours)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time 15:00:00 UTC on 25 June 2010.
    const AFTERNOON: i64 = 1_277_478_000;
    const MIDNIGHT: i64 = AFTERNOON - 15 * 3600;
    const HOUR: i64 = 3600;

    #[test]
    fn all_formats_are_parsed_to_the_same_time() {
        for text in [
            // RFC 822, 1123, 5322.
            "25 Jun 2010 15:00:00 GMT",
            "25 Jun 10 15:00 UT",
            "Fri, 25 Jun 2010 15:00:00 GMT",
            "fri, 25 JUN 2010 15:00:00 gmt",
            "Fri, 25 Jun 2010 17:00:00 +0200 (CEST)",
            "25 Jun 2010 07:00:00 PST",
            "25 Jun 2010 08:00:00 PDT",
            "25 Jun 2010 10:00:00 EST",
            // RFC 850, with two-digit and four-digit years.
            "Friday, 25-Jun-10 15:00:00 GMT",
            "25-Jun-2010 10:00:00 EST",
            // asctime, and the output of the Unix command `date`.
            "Fri Jun 25 15:00:00 2010",
            "Fri Jun 25 07:00:00 PST 2010",
            // ISO 8601.
            "2010-06-25T15:00:00Z",
            "2010-06-25t15:00z",
            "2010-06-25T15:00:00.000+00:00",
            "2010-06-25 15:00:00",
            "2010-06-25T15",
            "20100625T150000Z",
            "2010-06-25T17:30:00+02:30",
            "2010-06-25T12:00-03",
            "2010-06-25T12:00-0300",
            "2010/06/25 15:00 UTC",
            // Informal dates.
            "June 25, 2010 15:00 UTC",
            "Friday, June 25, 2010, 3:00 pm",
            "25 June 2010 3:00:00 PM GMT",
            "25 Jun 2010, 17:00 GMT+2",
            "25 Jun 2010 17:00 UTC+02:00",
            "  25  Jun  2010  15:00:00  XYZ  ",
        ] {
            assert_eq!(parse(text), Some(AFTERNOON), "{text}");
        }
    }

    #[test]
    fn default_time_is_midnight() {
        for text in [
            "2010-06-25",
            "20100625",
            "2010/6/25",
            "25 Jun 2010",
            "25-Jun-2010",
            "Jun 25, 2010",
            "Fri, 25 Jun 2010",
            "2010 Jun 25",
        ] {
            assert_eq!(parse(text), Some(MIDNIGHT), "{text}");
        }
        assert_eq!(parse("2010-06"), Some(MIDNIGHT - 24 * 24 * HOUR));
        assert_eq!(parse("2010-06-24T24:00"), Some(MIDNIGHT));
        assert_eq!(parse("2010-06-24 23:59:60"), Some(MIDNIGHT));
        assert_eq!(parse("25 Jun 2010 12:00 am"), Some(MIDNIGHT));
        assert_eq!(parse("25 Jun 2010 12:00 PM"), Some(MIDNIGHT + 12 * HOUR));
    }

    #[test]
    fn calendar_is_gregorian() {
        assert_eq!(parse("1970-01-01"), Some(0));
        assert_eq!(parse("1969-12-31T23:59:59Z"), Some(-1));
        assert_eq!(parse("2000-02-29"), Some(951_782_400));
        assert_eq!(parse("2000-03-01"), Some(951_868_800));
        assert_eq!(parse("9999-12-31T23:59:59Z"), Some(253_402_300_799));
        assert_eq!(parse("1 Jan 70"), Some(0));
        assert_eq!(parse("1 Jan 69"), parse("2069-01-01"));
    }

    #[test]
    fn invalid_dates_are_rejected() {
        for text in [
            "",
            "never",
            "Fri",
            "Fri,",
            "2010",
            "25 Jun",
            "25/06/2010",
            "06/25/2010",
            "2010-13-01",
            "2010-00-01",
            "2010-02-29",
            "1900-02-29",
            "2010-06-31",
            "0000-01-01",
            "2010-06-25T24:01",
            "2010-06-25T25:00",
            "2010-06-25T15:60",
            "2010-06-25, noindex",
            "25 Jun 2010 15:00:00 PST, noindex",
            "25 Jun 2010 15:00:00 PST noindex",
            "25 Jun 2010 nofollow",
            "25 Jun 2010 13:00 pm",
            "25 Jun 2010 15:00 +2460",
            "25 Jux 2010",
            "25 Jun 201",
            "25 Jun 20100",
            "１ Jun 2010",
            "2010-06-25T15:00:00Z but no more than sixty-four characters of it all",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
