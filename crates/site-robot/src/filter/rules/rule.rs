//! Comparison of a source's value with a string.

use crate::filter::{
    Resource, Source,
    note::Notes,
    pattern::{Pattern, shown},
    pblock::{Entry, Pair},
    quoted, unknown_word,
};

/// Operators of rules, including accepted synonyms.
const OPERATORS: [(&str, &str); 11] = [
    ("is", "is"),
    ("equals", "is"),
    ("contains", "contains"),
    ("begins-with", "begins-with"),
    ("begins with", "begins-with"),
    ("begins", "begins-with"),
    ("ends-with", "ends-with"),
    ("ends with", "ends-with"),
    ("ends", "ends-with"),
    ("regex", "regex"),
    ("regular expression", "regex"),
];

/// Sources of information that rules may use.
const SOURCES: [&str; 5] = ["url", "protocol", "host", "path", "type"];

/// Comparison of a source's value with a string.
#[derive(Clone, Debug)]
pub(super) struct Comparison {
    source: Source,
    operator: &'static str,
    string: String,
    pattern: Pattern,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ComparisonResult {
    Matches,
    Differs,
    /// The source is known only after retrieval.
    NotYet,
}

impl Comparison {
    /// Parses `src=`, `operator=` and `string=`; errors are added to the notes.
    pub(super) fn read(entry: &Entry, notes: &mut Notes) -> Option<Self> {
        let source = required(entry, "src", notes).and_then(|name| read_source(name, entry, notes));
        let operator =
            required(entry, "operator", notes).and_then(|name| read_operator(name, entry, notes));
        let string = required(entry, "string", notes);
        let (string, source, operator) = (string?, source?, operator?);
        let pattern = match operator {
            "contains" => Ok(Pattern::Contains(string.to_owned())),
            "begins-with" => Ok(Pattern::Prefix(string.to_owned())),
            "ends-with" => Ok(Pattern::Suffix(string.to_owned())),
            "regex" => Pattern::regex(string),
            _ => Ok(Pattern::Exact(string.to_owned())),
        };
        let pattern = pattern.map_err(|text| notes.error(entry.line, text)).ok()?;
        let string = string.to_owned();
        Some(Self {
            source,
            operator,
            string,
            pattern,
        })
    }

    pub(super) fn compare(&self, resource: &Resource) -> ComparisonResult {
        if self.pattern.matches(resource, &self.source) {
            return ComparisonResult::Matches;
        }
        let is_retrieved = resource.received().is_some();
        if !is_retrieved && !self.source.is_metadata() && resource.source(&self.source).is_none() {
            return ComparisonResult::NotYet;
        }
        ComparisonResult::Differs
    }

    /// Returns a human-readable reason that contains the value, operator and string.
    pub(super) fn reason(&self, resource: &Resource) -> String {
        let value = shown(resource, &self.source);
        format!("{value} {} {}", self.operator, quoted(&self.string))
    }
}

fn read_source(name: &str, entry: &Entry, notes: &mut Notes) -> Option<Source> {
    let source = Source::from_name(name);
    // The original console calls this source "MIME type".
    if matches!(source.name(), "mime-type" | "content-type") {
        return Some(Source::from_name("type"));
    }
    if !SOURCES.contains(&source.name()) {
        notes.error(entry.line, unknown_word("source of a rule", name, SOURCES));
        return None;
    }
    Some(source)
}

fn read_operator(name: &str, entry: &Entry, notes: &mut Notes) -> Option<&'static str> {
    let mut known = OPERATORS.iter();
    let found = known.find(|(known, _)| known.eq_ignore_ascii_case(name.trim()));
    if found.is_none() {
        let names = ["is", "contains", "begins-with", "ends-with", "regex"];
        notes.error(entry.line, unknown_word("operator", name, names));
    }
    found.map(|(_, operator)| *operator)
}

/// Returns the value of a required key, or adds an error if the key is missing.
pub(super) fn required<'e>(entry: &'e Entry, key: &str, notes: &mut Notes) -> Option<&'e str> {
    let value = entry.value(key).filter(|value| !value.is_empty());
    if value.is_none() {
        notes.error(entry.line, format!("{} has no {key}=; add it", entry.word));
    }
    value
}

/// Adds an error for each pair with an unknown key.
pub(super) fn reject_unknown_keys(pairs: &[Pair], keys: &[&str], what: &str, notes: &mut Notes) {
    for pair in pairs {
        if !keys.contains(&pair.key.as_str()) {
            let what = format!("parameter of {what}");
            let text = unknown_word(&what, &pair.key, keys.iter().copied());
            notes.error(pair.line, text);
        }
    }
}
