//! Detection of truncated files.

use std::{
    collections::{HashMap, HashSet},
    mem,
};

use super::Format;

/// Minimum number of records in a file for the usual fields to be determined.
const FEWEST_RECORDS: usize = 10;
/// Percentage of records that must have a field for the field to be considered usual.
const USUAL_PERCENT: usize = 98;
/// Maximum number of bytes in a field name.
const MAX_NAME_BYTES: usize = 64;

/// Returns `true` if the bytes end in the middle of a line.
///
/// JSON formats are excluded because truncated JSON cannot be parsed at all.
#[must_use]
pub fn ends_mid_line(format: Format, bytes: &[u8]) -> bool {
    let has_lines = !format.row().is_json;
    let mut behind = bytes.iter().rev().skip_while(|b| matches!(b, b' ' | b'\t'));
    has_lines && !matches!(behind.next(), None | Some(b'\n' | b'\r'))
}

/// Returns the fields that almost all records have but that are missing in the last record.
///
/// A file truncated between two lines ends with such a record. A truncation between two records, or
/// before a field that many records lack, is not detected. A flat file record with the four fields
/// that ACS reads is considered complete, because manually written records end after these fields.
#[must_use]
pub fn missing_last_fields(format: Format, bytes: &[u8]) -> Vec<String> {
    let Some(read) = format.row().record_line else {
        return Vec::new();
    };
    let mut records = Records::default();
    let end = if bytes.contains(&b'\n') { b'\n' } else { b'\r' };
    for line in bytes.split(|b| *b == end) {
        read(line.trim_ascii_end(), &mut records);
    }
    records.end();
    records.missing()
}

/// A function that reads a line of a file to determine the fields of its records.
pub(super) type RecordLine = fn(&[u8], &mut Records);

/// The fields of a flat file that the robot detection of ACS reads. A record with these fields is
/// considered complete.
const ACS_FIELDS: [&str; 4] = [
    "robot-id",
    "robot-name",
    "robot-details-url",
    "robot-useragent",
];

/// Statistics about the fields of the records in a file.
#[derive(Debug, Default)]
pub(super) struct Records {
    number: usize,
    counts: HashMap<String, usize>,
    /// The fields of the current record, and of the last complete record.
    open: HashSet<String>,
    last: HashSet<String>,
}

impl Records {
    fn end(&mut self) {
        if self.open.is_empty() {
            return;
        }
        self.last = mem::take(&mut self.open);
        self.number += 1;
        for name in &self.last {
            *self.counts.entry(name.clone()).or_default() += 1;
        }
    }

    fn missing(&self) -> Vec<String> {
        let others = self.number.saturating_sub(1);
        let is_full = ACS_FIELDS.iter().all(|name| self.last.contains(*name));
        if is_full || others < FEWEST_RECORDS {
            return Vec::new();
        }
        let is_usual = |count: usize| count * 100 >= others * USUAL_PERCENT;
        let missing = self.counts.iter();
        let missing =
            missing.filter(|(name, count)| !self.last.contains(*name) && is_usual(**count));
        let mut missing: Vec<_> = missing.map(|(name, _)| name.clone()).collect();
        missing.sort_unstable();
        missing
    }
}

/// Reads a line of a flat file. A blank line or another `robot-id` ends a record.
pub(super) fn flat_line(line: &[u8], records: &mut Records) {
    if line.is_empty() {
        records.end();
        return;
    }
    let name = field_name(line).map(|name| name.replace('_', "-"));
    // Prose before and after the records contains colons too.
    let name = name.filter(|name| name.starts_with("robot-") || !records.open.is_empty());
    if let Some(name) = name {
        if name == "robot-id" && records.open.contains(&name) {
            records.end();
        }
        records.open.insert(name);
    }
}

/// Reads a line of `bots.yml`. `- ` starts an entry.
pub(super) fn yaml_line(line: &[u8], records: &mut Records) {
    let key = match (line.strip_prefix(b"- "), line.strip_prefix(b"  ")) {
        (Some(key), _) => {
            records.end();
            key
        }
        (None, Some(key)) => key,
        (None, None) => return,
    };
    records.open.extend(field_name(key));
}

/// Returns the field name before a colon, in lower case.
fn field_name(line: &[u8]) -> Option<String> {
    let end = line.iter().position(|b| *b == b':')?;
    let name = std::str::from_utf8(line.get(..end)?).ok()?.trim_end();
    let fits = name.len() <= MAX_NAME_BYTES
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    fits.then(|| name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(records: usize) -> String {
        let record = |n| {
            format!(
                "robot-id: r{n}\nrobot-name: R{n}\nrobot_useragent: R{n}/1\n  more\nmodified-by: me\n\n"
            )
        };
        (0..records).map(record).collect()
    }

    fn yaml(records: usize) -> String {
        let record = |n| {
            format!("- regex: 'R{n}'\n  name: 'R{n}'\n  producer:\n    name: 'Me'\n    url: ''\n\n")
        };
        (0..records).map(record).collect()
    }

    fn missing(format: Format, text: &str) -> String {
        missing_last_fields(format, text.as_bytes()).join(" ")
    }

    #[test]
    fn an_incomplete_line_is_detected_in_line_formats() {
        for (format, text, is_open) in [
            (Format::WebRobotsDb, "robot-id: x", true),
            (Format::WebRobotsDb, "robot-id: x\r", false),
            (Format::List, "A\nB", true),
            (Format::List, "", false),
            (Format::List, "A\n \t", false),
            (Format::List, "A\nB \t", true),
            (Format::Matomo, "- regex: 'x'", true),
            (Format::AiRobotsTxt, "{}", false),
            (Format::CrawlerUserAgents, "[]", false),
        ] {
            assert_eq!(ends_mid_line(format, text.as_bytes()), is_open, "{text:?}");
        }
    }

    #[test]
    fn a_last_record_without_usual_fields_is_detected() {
        let before = |text: &str, mark: &str| {
            let (before, _) = text.rsplit_once(mark).unwrap();
            before.to_owned()
        };
        let whole = flat(30);
        assert_eq!(missing(Format::WebRobotsDb, &whole), "");
        assert_eq!(
            missing(Format::WebRobotsDb, &before(&whole, "robot-name: R29")),
            "modified-by robot-name robot-useragent"
        );
        // A truncation between two records, or in a short file, is not detectable.
        let between = before(&whole, "robot-id: r29");
        assert_eq!(missing(Format::WebRobotsDb, &between), "");
        let short = "robot-id: x\nrobot-name: X\nrobot-useragent: X/1\n";
        assert_eq!(
            missing(Format::WebRobotsDb, &format!("{whole}{short}")),
            "modified-by"
        );
        let full = format!("{whole}{short}robot-details-url: http://x.example/\n");
        assert_eq!(
            missing(Format::WebRobotsDb, &full),
            "",
            "all that ACS reads"
        );
        let few = "robot-id: a\nrobot-name: A\n\nrobot-id: b\n";
        assert_eq!(missing(Format::WebRobotsDb, few), "");

        let whole = yaml(30);
        assert_eq!(missing(Format::Matomo, &whole), "");
        let cut = before(&whole, "  producer:");
        assert_eq!(missing(Format::Matomo, &cut), "producer");
    }

    #[test]
    fn records_are_split_as_in_the_parser() {
        let whole = flat(30);
        for text in [
            whole.replace('\n', "\r\n"),
            whole.replace('\n', "\r"),
            whole.replace("\n\n", "\n"),
            format!("{whole}robot-useragent: x\nrobot-name: X\nmodified-by: me\nrobot-id: x\n"),
            format!("# head\nSee: below\n\n{whole}There is no more.\nWrite to: me\n"),
        ] {
            assert_eq!(missing(Format::WebRobotsDb, &text), "", "{text}");
        }
        let cut = format!("{whole}robot-name: X\n").replace('\n', "\r\n");
        assert_eq!(
            missing(Format::WebRobotsDb, &cut),
            "modified-by robot-id robot-useragent"
        );
    }

    #[test]
    fn a_field_that_some_records_lack_is_ignored() {
        let mut text = flat(30);
        text.push_str(&flat(3).replace("modified-by: me\n", ""));
        assert_eq!(missing(Format::WebRobotsDb, &text), "");
    }
}
