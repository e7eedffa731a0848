//! Times of log lines.

const MONTHS: [&[u8; 3]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

/// Parser of times that remembers the last time, because many lines have the same time.
#[derive(Clone, Debug, Default)]
pub(super) struct Times {
    date: Vec<u8>,
    text: Vec<u8>,
    time_s: Option<i64>,
}

impl Times {
    /// Parses a time with its date, or a time of day and a separate date.
    pub(super) fn read(&mut self, date: &[u8], text: &[u8]) -> Option<i64> {
        if text != self.text || date != self.date {
            for (kept, new) in [(&mut self.date, date), (&mut self.text, text)] {
                kept.clear();
                kept.extend_from_slice(new);
            }
            self.time_s = if date.is_empty() {
                parse(text)
            } else {
                parse(&[date, b" ", text].concat())
            };
        }
        self.time_s
    }
}

/// Parses a time in the notation of Apache, in RFC 3339 or as a number; UTC if it has no zone.
fn parse(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii();
    let part = |from: usize, length: usize| digits(text.get(from..from + length)?);
    let (year, month, day, clock) = match (text.get(2), text.get(4)) {
        (Some(b'/'), _) => {
            let month = MONTHS
                .iter()
                .position(|known| text.get(3..6) == Some(*known))?;
            (part(7, 4)?, i64::try_from(month).ok()? + 1, part(0, 2)?, 12)
        }
        (_, Some(b'-' | b'/')) => (part(0, 4)?, part(5, 2)?, part(8, 2)?, 11),
        _ => return number(text),
    };
    let (hour, minute, second) = (part(clock, 2)?, part(clock + 3, 2)?, part(clock + 6, 2)?);
    let is_valid = (1..=12).contains(&month) && (1..=31).contains(&day);
    if !is_valid || hour > 24 || minute > 59 || second > 60 {
        return None;
    }
    let behind = text.get(clock + 8..)?;
    let is_zone = |byte: &u8| matches!(byte, b'+' | b'-' | b'Z');
    let zone = behind
        .iter()
        .position(is_zone)
        .and_then(|at| behind.get(at..));
    let offset_s = match zone {
        None | Some(b"Z") => 0,
        Some(zone) => {
            let minutes = digits(zone.get(zone.len().checked_sub(2)?..)?)?;
            let offset_s = digits(zone.get(1..3)?)? * 3_600 + minutes * 60;
            if zone.first() == Some(&b'-') {
                -offset_s
            } else {
                offset_s
            }
        }
    };
    let day_s = days(year, month, day) * 86_400;
    Some(day_s + hour * 3_600 + minute * 60 + second - offset_s)
}

/// Parses a number of seconds, milliseconds, microseconds or nanoseconds since 1970.
fn number(text: &[u8]) -> Option<i64> {
    let whole = digits(text.split(|byte| *byte == b'.').next()?)?;
    // Each unit covers the years from 1973 to 5138.
    let unit = match whole {
        ..100_000_000_000 => 1,
        100_000_000_000..100_000_000_000_000 => 1_000,
        100_000_000_000_000..100_000_000_000_000_000 => 1_000_000,
        _ => 1_000_000_000,
    };
    Some(whole / unit).filter(|time_s| *time_s > 0)
}

fn digits(text: &[u8]) -> Option<i64> {
    let add = |number: i64, digit: &u8| {
        let digit = char::from(*digit).to_digit(10)?;
        number.checked_mul(10)?.checked_add(digit.into())
    };
    text.iter().try_fold(0, add).filter(|_| !text.is_empty())
}

/// Returns the number of days since 1970 in the proleptic Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // The year begins in March, so that the leap day is its last day.
    let year = if month < 3 { year - 1 } else { year };
    let month = (month + 9) % 12;
    year * 365 + year.div_euclid(4) - year.div_euclid(100)
        + year.div_euclid(400)
        + (month * 153 + 2) / 5
        + day
        - 719_469
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_all_servers_are_read() {
        for text in [
            "30/Nov/2026:10:15:54 +0000",
            "30/Nov/2026:11:15:54 +0100",
            "30/Nov/2026:10:15:54.123",
            "2026-11-30T10:15:54Z",
            "2026-11-30T04:45:54.1234567-05:30",
            "2026-11-30 10:15:54",
            "2026/11/30 10:15:54.001",
            "1796033754",
            "1796033754.125",
            "1796033754125",
            "1796033754125000",
            "1796033754125000000",
        ] {
            assert_eq!(parse(text.as_bytes()), Some(1_796_033_754), "{text}");
        }
        for text in [
            "",
            "-",
            "x",
            "30/Now/2026:10:15:54",
            "2026-13-30T10:15:54Z",
            "0",
            "99999999999999999999",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse(b"29/Feb/2028:00:00:00 +0000"), Some(1_835_395_200));
        assert_eq!(parse(b"01/Jan/1970:00:00:00 +0000"), Some(0));
    }

    #[test]
    fn the_last_time_is_remembered_with_its_date() {
        let mut times = Times::default();
        let first = times.read(b"2026-11-30", b"10:15:54").unwrap();
        assert_eq!(times.read(b"2026-12-01", b"10:15:54"), Some(first + 86_400));
        assert_eq!(times.read(b"2026-12-01", b"10:15:54"), Some(first + 86_400));
    }
}
