//! Records of a flat file, which are groups of fields separated by blank lines.

use std::borrow::Cow;

use crate::registry::text::{cut, decode};

use super::fields::{field, split_number, unglue};

/// Maximum number of bytes of a value; the rest is ignored.
const MAX_VALUE_BYTES: usize = 16 * 1024;

/// The fields that are parsed. Names and addresses of owners are ignored.
const KEPT: &[&str] = &[
    "robot-checked",
    "robot-details-url",
    "robot-evidence",
    "robot-exclusion",
    "robot-exclusion-useragent",
    "robot-host",
    "robot-id",
    "robot-name",
    "robot-operator",
    "robot-owner-name",
    "robot-pattern",
    "robot-purpose",
    "robot-ranges-url",
    "robot-signature-agent",
    "robot-proofs",
    "robot-unusable",
    "robot-useragent",
    "robot-useragent-kind",
];

/// A record of a flat file, with its raw values.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// The number of the record's first line, starting at 1.
    pub(super) line: usize,
    /// The first line of the record, if this line is not a field.
    pub(super) heading: Option<String>,
    fields: Vec<Field>,
}

#[derive(Debug)]
struct Field {
    name: &'static str,
    number: usize,
    value: String,
}

/// A record or a comment in a flat file.
#[derive(Debug)]
pub(super) enum Item {
    /// A record, or a block of text that is not a record.
    Record(Record),
    /// A comment line, which begins with `#`.
    Comment,
}

/// Passes the records of a file to `take`, one at a time.
pub(super) fn records(bytes: &[u8], mut take: impl FnMut(Item)) {
    let mut reader = Reader::default();
    for line in lines(bytes) {
        reader.line(&line, &mut take);
    }
    reader.end_record(&mut take);
}

impl Record {
    /// Returns `true` if the record has a field with this name, even if the field is empty.
    pub(super) fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.name == name)
    }

    /// Returns the first non-empty value of a field, or an empty text if there is no such value.
    pub(super) fn first(&self, name: &str) -> &str {
        self.all(name)
            .map(|(_, value)| value)
            .next()
            .unwrap_or_default()
    }

    /// Returns the value of a field with the given number.
    pub(super) fn numbered_value(&self, name: &str, number: usize) -> Option<&str> {
        self.all(name)
            .find(|&(found, _)| found == number)
            .map(|(_, value)| value)
    }

    /// Returns the numbers and values of a field, omitting empty values.
    pub(super) fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = (usize, &'a str)> {
        self.fields
            .iter()
            .filter(move |field| field.name == name && !field.value.trim().is_empty())
            .map(|field| (field.number, field.value.as_str()))
    }

    /// Adds a field. Of several fields with the same name and number, the first non-empty field is
    /// used.
    fn push(&mut self, name: &str, value: &str) {
        let (base, number) = kind_of_number(name).unwrap_or_else(|| split_number(name));
        let Some(&name) = KEPT.iter().find(|&&kept| kept == base) else {
            return;
        };
        let value = value.trim();
        let known = self
            .fields
            .iter_mut()
            .find(|field| field.name == name && field.number == number);
        match known {
            Some(field) if field.value.is_empty() => value.clone_into(&mut field.value),
            Some(_) => {}
            None => self.fields.push(Field {
                name,
                number,
                value: value.to_owned(),
            }),
        }
    }
}

/// The state of the parser: the current record, and the field that the next line may continue.
#[derive(Debug, Default)]
struct Reader {
    record: Option<Record>,
    open: Option<(String, String)>,
}

impl Reader {
    fn line(&mut self, line: &Line<'_>, take: &mut impl FnMut(Item)) {
        let text = line.text.as_ref();
        if text.trim().is_empty() {
            self.end_record(take);
        } else if text.starts_with('#') {
            take(Item::Comment);
        } else if text.starts_with(char::is_whitespace) && self.open.is_some() {
            self.go_on(text.trim());
        } else if let Some((name, value)) = field(text) {
            if name == "robot-id"
                && self
                    .record
                    .as_ref()
                    .is_some_and(|record| record.has("robot-id"))
            {
                self.end_record(take);
            }
            self.end_field();
            self.record_at(line.number);
            let value = cut(value, MAX_VALUE_BYTES).to_owned();
            if name == "robot-id" {
                // The field is added immediately, so that the next robot-id line ends this record.
                self.record_at(line.number).push("robot-id", "");
            }
            self.open = Some((name, value));
        } else {
            self.end_field();
            let record = self.record_at(line.number);
            if record.fields.is_empty() && record.heading.is_none() {
                record.heading = Some(cut(text.trim(), 200).to_owned());
            }
        }
    }

    /// Appends an indented line to the previous field, separated by a space.
    fn go_on(&mut self, text: &str) {
        if let Some((_, value)) = &mut self.open {
            let room = MAX_VALUE_BYTES.saturating_sub(value.len() + 1);
            if room > 0 {
                value.push(' ');
                value.push_str(cut(text, room));
            }
        }
    }

    fn end_field(&mut self) {
        if let Some((name, value)) = self.open.take() {
            let record = self.record.get_or_insert_default();
            unglue(&name, &value, |name, value| record.push(name, value));
        }
    }

    fn end_record(&mut self, take: &mut impl FnMut(Item)) {
        self.end_field();
        if let Some(record) = self.record.take() {
            take(Item::Record(record));
        }
    }

    fn record_at(&mut self, line: usize) -> &mut Record {
        self.record.get_or_insert_with(|| Record {
            line,
            ..Record::default()
        })
    }
}

/// Parses `robot-useragent2-kind` as `robot-useragent-kind` with number 2.
fn kind_of_number(name: &str) -> Option<(&str, usize)> {
    let (base, number) = split_number(name.strip_suffix("-kind")?);
    (base == "robot-useragent").then_some(("robot-useragent-kind", number))
}

/// A decoded line of a file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Line<'a> {
    /// The line number, starting at 1.
    pub(super) number: usize,
    /// The text of the line, without the line ending.
    pub(super) text: Cow<'a, str>,
}

/// Splits a file at LF, CR LF and CR, and decodes each line.
///
/// Any number of CRs before an LF is treated as a single line ending because some copies of the
/// file were converted repeatedly.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut rest = Some(bytes);
    let mut number = 0;
    let mut bare = 0;
    std::iter::from_fn(move || {
        let (line, behind) = split(rest?, &mut bare);
        rest = behind;
        number += 1;
        Some(Line {
            number,
            text: decode(line),
        })
    })
}

/// Splits off the first line. The rest is `None` after the last line.
///
/// `bare` is the known number of CRs at the start of the rest that are not followed by an LF.
fn split<'a>(bytes: &'a [u8], bare: &mut usize) -> (&'a [u8], Option<&'a [u8]>) {
    // Counted once, because counting the following CRs at each CR would take quadratic time.
    if let Some(left) = bare.checked_sub(1) {
        *bare = left;
        return (&[], bytes.get(1..));
    }
    let Some(end) = bytes.iter().position(|&b| b == b'\n' || b == b'\r') else {
        return (bytes, None);
    };
    let (line, tail) = bytes.split_at(end);
    // Line endings that were converted twice are CR CR LF.
    let returns = tail.iter().take_while(|&&b| b == b'\r').count();
    let length = if tail.get(returns) == Some(&b'\n') {
        returns + 1
    } else {
        *bare = returns.saturating_sub(1);
        1
    };
    (line, tail.get(length..))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(bytes: &[u8]) -> Vec<String> {
        lines(bytes).map(|line| line.text.into_owned()).collect()
    }

    #[test]
    fn every_line_ending_counts_once() {
        for file in [
            &b"a\n\nb"[..],
            b"a\r\n\r\nb",
            b"a\r\rb",
            b"a\r\r\n\r\r\nb",
            b"\xef\xbb\xbfa\n\nb",
        ] {
            assert_eq!(texts(file), ["a", "", "b"], "{file:?}");
        }
    }

    #[test]
    fn many_carriage_returns_take_linear_time() {
        // Parsing takes minutes if the following CRs are counted at each CR.
        let returns = 1 << 20;
        let file = [&b"robot-id: a"[..], &vec![b'\r'; returns]].concat();
        assert_eq!(lines(&file).count(), returns + 1);
        let file = [&file[..], b"\nb"].concat();
        assert_eq!(texts(&file), ["robot-id: a", "b"]);
    }

    #[test]
    fn each_line_has_its_own_encoding() {
        assert_eq!(texts(b"\xc3\xa4\n\xe4\n"), ["ä", "ä", ""]);
    }
}
