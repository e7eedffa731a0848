//! Parsing of dates in HTTP headers.

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// Parses a date in one of the three formats of RFC 9110 §5.6.7, and returns it in milliseconds
/// since 1970.
pub(super) fn parse_ms(text: &str, now_ms: i64) -> Option<i64> {
    let text = text.trim();
    // The weekday is redundant.
    let (_, rest) = text.split_once([',', ' '])?;
    let is_asctime = !text.contains(',');
    let rest = rest.to_ascii_lowercase();
    let mut parts = rest.split([' ', '-']).filter(|part| !part.is_empty());
    let mut next = || parts.next();
    let (day, month, year, time) = if is_asctime {
        let (month, day, time, year) = (next()?, next()?, next()?, next()?);
        (day, month, year, time)
    } else {
        let (day, month, year, time) = (next()?, next()?, next()?, next()?);
        if next() != Some("gmt") {
            return None;
        }
        (day, month, year, time)
    };
    if next().is_some() {
        return None;
    }
    let month = MONTHS.iter().position(|name| *name == month)?;
    let year = full_year(year, now_ms)?;
    let days = days_since_1970(year, i64::try_from(month).ok()? + 1, number(day)?)?;
    Some((days * 86_400 + seconds_of_day(time)?) * 1_000)
}

fn number(text: &str) -> Option<i64> {
    let is_number = !text.is_empty() && text.len() <= 4 && text.bytes().all(|b| b.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

/// Returns the full year for a four-digit or two-digit year. A two-digit year that would be more
/// than 50 years in the future is in the previous century.
fn full_year(text: &str, now_ms: i64) -> Option<i64> {
    let year = number(text)?;
    if text.len() == 4 {
        return Some(year);
    }
    if text.len() != 2 {
        return None;
    }
    // The average length of a Gregorian year is precise enough to determine the century, although
    // the result may be off by a day around New Year.
    let this_year = 1970 + now_ms.div_euclid(31_556_952_000);
    let year = this_year - this_year.rem_euclid(100) + year;
    Some(if year > this_year + 50 {
        year - 100
    } else {
        year
    })
}

fn seconds_of_day(time: &str) -> Option<i64> {
    let mut parts = time.split(':').map(number);
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    // Second 60 is a leap second.
    let is_time = hour < 24 && minute < 60 && second <= 60 && parts.next().is_none();
    is_time.then_some(hour * 3_600 + minute * 60 + second)
}

/// Returns the number of days from 1970-01-01 to a Gregorian date; `None` for invalid dates.
pub(super) fn days_since_1970(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days_in_month = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=days_in_month).contains(&day) {
        return None;
    }
    // Years start in March here, so that the leap day is the last day of the year.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // From March on, every five months have 153 days; 719,468 is the number of days from 0000-03-01
    // to 1970-01-01.
    Some(year * 365 + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The current time in the tests: 2026-03-01T00:00:00Z.
    const NOW_MS: i64 = 1_772_323_200_000;

    fn seconds(text: &str) -> Option<i64> {
        parse_ms(text, NOW_MS).map(|ms| ms / 1_000)
    }

    #[test]
    fn all_three_formats_are_parsed_to_the_same_time() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(seconds(text), Some(784_111_777), "{text}");
        }
    }

    #[test]
    fn leap_days_and_centuries_are_counted() {
        assert_eq!(seconds("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(seconds("Tue, 29 Feb 2000 12:00:00 GMT"), Some(951_825_600));
        assert_eq!(
            seconds("Sun, 01 Mar 2026 00:00:00 GMT"),
            Some(NOW_MS / 1_000)
        );
        let later = "Sunday, 06-Nov-30 08:49:37 GMT";
        assert_eq!(seconds(later), seconds("Wed, 06 Nov 2030 08:49:37 GMT"));
    }

    #[test]
    fn invalid_dates_are_rejected() {
        for text in [
            "",
            "0",
            "-1",
            "now",
            "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 06 Nov 1994 08:49:37 GMT more",
            "Sun, 06 Non 1994 08:49:37 GMT",
            "Sun, 32 Nov 1994 08:49:37 GMT",
            "Sun, 00 Nov 1994 08:49:37 GMT",
            "Mon, 31 Nov 1994 08:49:37 GMT",
            "Sun, 31 Feb 2026 00:00:00 GMT",
            "Sunday, 29-Feb-26 00:00:00 GMT",
            "Thu Feb 29 00:00:00 1900",
            "Sun, 06 Nov 1994 24:49:37 GMT",
            "Sun, 06 Nov 99999999999999999999 08:49:37 GMT",
            "Sun, 06 Nov 194 08:49:37 GMT",
            "ünï, ö6 Növ",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
