//! Comparison of `User-agent` lines with a robot's name.

use std::borrow::Cow;

use super::{
    Dialect,
    dialect::{Escapes, Naming},
    escapes,
};

/// A robot's name, prepared for comparison with `User-agent` lines.
#[derive(Clone, Debug)]
pub(super) struct Name<'n> {
    matching: NameMatch,
    /// The name of the robot, in any letter case.
    name: Cow<'n, [u8]>,
}

/// The method of comparing a robot's name with `User-agent` values.
#[derive(Clone, Copy, Debug)]
enum NameMatch {
    Dialect(Naming),
    /// Compares the name with the decoded `User-agent` values.
    Decoded,
    /// Compares the name with the part of a `User-agent` value that is searched for in headers.
    Header(Naming),
}

impl<'n> Name<'n> {
    /// Creates a robot's name for comparison in a dialect.
    pub(super) fn new(name: &'n str, dialect: &Dialect) -> Self {
        let name = name.trim_ascii();
        let (matching, name) = match dialect.names {
            Naming::Equal if decodes(dialect) => (NameMatch::Decoded, name),
            Naming::SubstringOfWord => (NameMatch::Dialect(dialect.names), first_word(name)),
            naming => (NameMatch::Dialect(naming), name),
        };
        Self {
            matching,
            name: Cow::Borrowed(name.as_bytes()),
        }
    }

    /// Creates a robot's name from the longest of the given names that occur in a `User-Agent`
    /// header.
    pub(super) fn in_header(
        header: &str,
        values: impl Iterator<Item = &'n [u8]>,
        dialect: &Dialect,
    ) -> Option<Self> {
        let words = Words::new(header);
        let name = values
            .filter(|value| !is_any(value, dialect.names))
            .map(|value| header_part(value, dialect.names))
            .filter(|name| words.contain(name))
            .max_by_key(|name| name.len())?;
        Some(Self {
            matching: NameMatch::Header(dialect.names),
            name: Cow::Borrowed(name),
        })
    }

    /// Returns an owned copy of the name.
    pub(super) fn to_owned(&self) -> Name<'static> {
        Name {
            matching: self.matching,
            name: Cow::Owned(self.name.to_vec()),
        }
    }

    /// Returns `true` if a `User-agent` value applies to the robot with this name.
    pub(super) fn is_meant_by(&self, value: &[u8]) -> bool {
        let part = match self.matching {
            NameMatch::Decoded => return decoded(value).eq_ignore_ascii_case(&self.name),
            NameMatch::Dialect(Naming::Substring | Naming::SubstringOfWord) => {
                return value != b"*" && contains_ignoring_case(&self.name, value);
            }
            NameMatch::Dialect(Naming::TokenPrefix) if is_any(value, Naming::TokenPrefix) => {
                return false;
            }
            NameMatch::Dialect(Naming::TokenPrefix) => token(value),
            NameMatch::Dialect(Naming::Equal) => value,
            NameMatch::Header(naming) => header_part(value, naming),
        };
        part.eq_ignore_ascii_case(&self.name)
    }
}

/// Returns the part of a `User-agent` value that is searched for in headers.
fn header_part(value: &[u8], naming: Naming) -> &[u8] {
    match naming {
        Naming::TokenPrefix => token(value),
        _ => value,
    }
}

/// Returns `true` if a `User-agent` value stands for every robot.
pub(super) fn is_any(value: &[u8], naming: Naming) -> bool {
    match (value, naming) {
        (b"*", _) => true,
        // In Google's parser, `*` followed by a space and any text also stands for every robot.
        ([b'*', next, ..], Naming::TokenPrefix) => next.is_ascii_whitespace() || *next == 0x0b,
        _ => false,
    }
}

/// Returns `true` if the program that the dialect is based on decodes all values, including names.
fn decodes(dialect: &Dialect) -> bool {
    dialect.escapes == Escapes::FormDecoded
}

/// Returns a `User-agent` value as interpreted by the dialect.
pub(super) fn value<'t>(written: &'t [u8], dialect: &Dialect) -> Cow<'t, [u8]> {
    if decodes(dialect) {
        decoded(written)
    } else {
        Cow::Borrowed(written)
    }
}

fn decoded(written: &[u8]) -> Cow<'_, [u8]> {
    match escapes::form_decoded(written) {
        Some(decoded) => Cow::Owned(decoded),
        None => Cow::Borrowed(written),
    }
}

/// Returns the prefix of a `User-agent` value that consists of letters, `_` and `-`.
fn token(value: &[u8]) -> &[u8] {
    let is_token = |octet: &u8| octet.is_ascii_alphabetic() || matches!(octet, b'_' | b'-');
    let end = value
        .iter()
        .position(|octet| !is_token(octet))
        .unwrap_or(value.len());
    value.get(..end).unwrap_or(value)
}

fn first_word(name: &str) -> &str {
    let word = name.split_ascii_whitespace().next().unwrap_or_default();
    word.split('/').next().unwrap_or_default()
}

/// Returns `true` if a text contains another text, ignoring case.
fn contains_ignoring_case(text: &[u8], part: &[u8]) -> bool {
    part.is_empty()
        || text
            .windows(part.len())
            .any(|window| window.eq_ignore_ascii_case(part))
}

/// The words of a `User-Agent` header, in which robots' names are searched for.
#[derive(Debug)]
struct Words {
    /// The texts that start at each word of the header, in lower case and sorted.
    starts: Vec<Box<[u8]>>,
}

/// The maximum length in octets of a name that is searched for in a `User-Agent` header.
const MAX_NAME: usize = 128;

/// The maximum number of words of a `User-Agent` header that are examined.
const MAX_WORDS: usize = 256;

impl Words {
    fn new(header: &str) -> Self {
        let header = header.as_bytes();
        let is_start = |at: &usize| {
            let before = at.checked_sub(1).and_then(|before| header.get(before));
            is_word(header.get(*at)) && !is_word(before)
        };
        let mut starts: Vec<Box<[u8]>> = (0..header.len())
            .filter(is_start)
            .take(MAX_WORDS)
            .filter_map(|at| {
                let rest = header.get(at..)?;
                Some(
                    // One octet more than a name may have, to check whether the word continues.
                    rest.get(..=MAX_NAME)
                        .unwrap_or(rest)
                        .to_ascii_lowercase()
                        .into(),
                )
            })
            .collect();
        // Sorted for binary search, as a file may contain thousands of names.
        starts.sort_unstable();
        Self { starts }
    }

    /// Returns `true` if a name occurs in the header as a whole word or words.
    fn contain(&self, name: &[u8]) -> bool {
        if name.len() > MAX_NAME || !is_word(name.first()) {
            return false;
        }
        let name = name.to_ascii_lowercase();
        let first = self.starts.partition_point(|start| **start < *name);
        self.starts
            .iter()
            .skip(first)
            .take_while(|start| start.starts_with(&name))
            .any(|start| !is_word(start.get(name.len())))
    }
}

fn is_word(octet: Option<&u8>) -> bool {
    octet.is_some_and(u8::is_ascii_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_in_a_header_must_be_a_whole_word() {
        let words = Words::new("Mozilla/5.0 (compatible; Foo-Image/2.1; +http://foo.example/)");
        for (name, found) in [
            ("foo-image", true),
            ("Foo", true),
            ("Foo-Im", false),
            ("oo", false),
            ("compatible", true),
            ("", false),
            ("-image", false),
        ] {
            assert_eq!(words.contain(name.as_bytes()), found, "{name}");
        }
    }

    #[test]
    fn names_are_compared_as_the_dialect_specifies() {
        for (dialect, robot, line, meant) in [
            (Dialect::rfc9309(), "ExampleBot", "examplebot", true),
            (Dialect::rfc9309(), "ExampleBot", "ExampleBot/1.0", false),
            (Dialect::google(), "ExampleBot", "examplebot/1.0 x", true),
            (Dialect::google(), "Example", "ExampleBot", false),
            (Dialect::v0(), "SuperRobot/1.0", "robot", true),
            (Dialect::v0(), "SuperRobot/1.0", "1.0", false),
            (Dialect::tdg(), "Dont-Bother-Me", "bot", true),
            (Dialect::tdg(), "bot", "Robot", false),
            (Dialect::geoportal(), "Foo Bar", "foo+bar", true),
            (Dialect::geoportal(), "FooBar", "foo", false),
        ] {
            let name = Name::new(robot, &dialect);
            assert_eq!(
                name.is_meant_by(line.as_bytes()),
                meant,
                "{dialect}: {robot} {line}"
            );
        }
    }
}
