//! Which `User-agent` lines are about a robot.

use std::borrow::Cow;

use super::{
    Dialect,
    dialect::{Escapes, Naming},
    escapes,
};

/// Name of a robot, made ready to be compared with `User-agent` lines.
#[derive(Clone, Debug)]
pub(super) struct Name<'n> {
    matching: NameMatch,
    /// In any case.
    name: Cow<'n, [u8]>,
}

/// How a name is compared.
#[derive(Clone, Copy, Debug)]
enum NameMatch {
    Dialect(Naming),
    /// With values that are decoded first.
    Decoded,
    /// With the part of a value that was looked for in a header.
    Header(Naming),
}

impl<'n> Name<'n> {
    /// Creates the name of a robot as the dialect compares it.
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

    /// Creates the longest of the names that stand in a header.
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

    /// Returns the same name, to be kept.
    pub(super) fn to_owned(&self) -> Name<'static> {
        Name {
            matching: self.matching,
            name: Cow::Owned(self.name.to_vec()),
        }
    }

    /// Returns `true` if a `User-agent` value names the robot.
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

/// Returns the part of a value that is looked for in headers.
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
        // Google's parser takes `*` before a space, whatever follows, for every robot.
        ([b'*', next, ..], Naming::TokenPrefix) => next.is_ascii_whitespace() || *next == 0x0b,
        _ => false,
    }
}

/// Returns `true` if the dialect's program decodes every value, names included.
fn decodes(dialect: &Dialect) -> bool {
    dialect.escapes == Escapes::FormDecoded
}

/// Returns a value as the dialect reads it.
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

/// Returns the letters, `_` and `-` that a value begins with.
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

/// Returns `true` if a text contains another, in any case.
fn contains_ignoring_case(text: &[u8], part: &[u8]) -> bool {
    part.is_empty()
        || text
            .windows(part.len())
            .any(|window| window.eq_ignore_ascii_case(part))
}

/// Words of a `User-Agent` header, to find names in it.
#[derive(Debug)]
struct Words {
    /// What follows each place where a word begins, in lower case, sorted.
    starts: Vec<Box<[u8]>>,
}

/// Longest name that is looked for, in octets.
const MAX_NAME: usize = 128;

/// Words of a header that are looked at.
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
                    // One octet more than a name has, to see whether the word goes on.
                    rest.get(..=MAX_NAME)
                        .unwrap_or(rest)
                        .to_ascii_lowercase()
                        .into(),
                )
            })
            .collect();
        // Sorted, a name is found by bisection: a file may have thousands of them.
        starts.sort_unstable();
        Self { starts }
    }

    /// Returns `true` if a name stands in the header as a word or words of its own.
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
    fn a_name_in_a_header_is_a_word_of_its_own() {
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
    fn each_dialect_compares_names_in_its_own_way() {
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
