//! What the rows of a source were made from.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::description::hex;
use crate::registry::Format;

/// Version of the rules that turn bytes into rows.
///
/// A release may bring other rules or browsers: rows of another release are
/// made anew from the source, even where it did not change.
const RULES: &str = concat!(env!("CARGO_PKG_VERSION"), "-2");

/// What the rows of a source were made from, as kept beside them.
///
/// Spelled `origin;rules;format;sha256` in the column of the content's hash.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Fingerprint {
    origin: OriginKind,
    rules: String,
    format: String,
    sha256: String,
}

/// Who named the place that the rows came from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum OriginKind {
    /// The configuration: rows go when the source leaves it.
    Configured,
    /// A person, once (`registry refresh --from`): rows stay.
    Given,
}

impl Fingerprint {
    /// Creates the fingerprint of rows that today's rules make of `bytes`.
    pub(super) fn new(origin: OriginKind, format: Format, bytes: &[u8]) -> Self {
        Self {
            origin,
            rules: RULES.to_owned(),
            format: format.as_str().to_owned(),
            sha256: hex(&Sha256::digest(bytes)),
        }
    }

    /// Reads a stored fingerprint.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(';');
        let origin = match parts.next()? {
            "configured" => OriginKind::Configured,
            "given" => OriginKind::Given,
            _ => return None,
        };
        let mut next = || parts.next().map(ToOwned::to_owned);
        Some(Self {
            origin,
            rules: next()?,
            format: next()?,
            sha256: next()?,
        })
    }

    /// Returns the same rows' fingerprint, from a place that somebody else named.
    pub(super) fn named_by(self, origin: OriginKind) -> Self {
        Self { origin, ..self }
    }

    /// Tells who named the place.
    pub(super) fn origin(&self) -> OriginKind {
        self.origin
    }

    /// Tells whether the same rules still apply.
    pub(super) fn is_current(&self, format: Format) -> bool {
        self.rules == RULES && self.format == format.as_str()
    }

    /// Tells whether both stand for the same rows, whoever named the place.
    pub(super) fn makes_same_rows(&self, other: &Self) -> bool {
        (&self.rules, &self.format, &self.sha256) == (&other.rules, &other.format, &other.sha256)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = match self.origin {
            OriginKind::Configured => "configured",
            OriginKind::Given => "given",
        };
        write!(f, "{origin};{};{};{}", self.rules, self.format, self.sha256)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_survives_the_database() {
        let made = Fingerprint::new(OriginKind::Given, Format::List, b"abc");
        let text = made.to_string();
        assert!(text.ends_with("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
        assert_eq!(Fingerprint::parse(&text), Some(made));
        assert_eq!(Fingerprint::parse("ba7816bf"), None);
        assert_eq!(Fingerprint::parse("given;1"), None);
    }

    #[test]
    fn rows_differ_by_content_format_and_rules_but_not_by_who_asked() {
        let make = |origin, format, bytes: &[u8]| Fingerprint::new(origin, format, bytes);
        let one = make(OriginKind::Given, Format::List, b"abc");
        assert!(one.makes_same_rows(&make(OriginKind::Configured, Format::List, b"abc")));
        assert!(!one.makes_same_rows(&make(OriginKind::Given, Format::List, b"abd")));
        assert!(!one.makes_same_rows(&make(OriginKind::Given, Format::Matomo, b"abc")));
        let old = Fingerprint::parse(&one.to_string().replace(RULES, "0.0.9-1")).unwrap();
        assert!(!one.makes_same_rows(&old));
        assert!(one.is_current(Format::List));
        assert!(!old.is_current(Format::List));
        assert!(!one.is_current(Format::Matomo));
    }
}
