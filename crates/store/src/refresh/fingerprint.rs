//! Fingerprint of the document and the rules from which a source's rows were generated.

use std::fmt;

use sha2::{Digest, Sha256};

use robot_detection_layer::registry::{Format, ends_mid_line, missing_last_fields};

/// The version of the rules that convert a document into rows.
///
/// The rules or browsers may differ between releases, so rows from another release are rebuilt from
/// the source, even if the source has not changed.
const RULES: &str = concat!(env!("CARGO_PKG_VERSION"), "-2");

/// The fingerprint of a source's rows, stored along with the rows.
///
/// The fingerprint is stored as `origin;rules;format;sha256` in the content hash column, followed
/// by `;open`, `;short` or `;open,short` if the document looks truncated.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Fingerprint {
    origin: OriginKind,
    rules: String,
    format: String,
    sha256: String,
    ending: Truncation,
}

/// Signs that the end of a document is missing. Some sources always end this way.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Truncation {
    /// Whether the last line does not end with a line feed.
    pub(super) is_open: bool,
    /// Whether the last record lacks fields that other records have.
    pub(super) is_short: bool,
}

/// The place where a source's URL was specified.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum OriginKind {
    /// In the configuration file. The rows are removed when the source is removed from the
    /// configuration.
    Configured,
    /// On the command line (`registry refresh --from`). The rows are retained.
    Given,
}

impl Fingerprint {
    /// Creates the fingerprint of the rows that the current rules generate from `bytes`.
    pub(super) fn new(origin: OriginKind, format: Format, bytes: &[u8]) -> Self {
        Self {
            origin,
            rules: RULES.to_owned(),
            format: format.as_str().to_owned(),
            sha256: hex::encode(Sha256::digest(bytes)),
            ending: Truncation {
                is_open: ends_mid_line(format, bytes),
                is_short: !missing_last_fields(format, bytes).is_empty(),
            },
        }
    }

    /// Parses a stored fingerprint.
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
            // Rows stored by older releases do not have this part.
            ending: next()
                .map(|words| Truncation::parse(&words))
                .unwrap_or_default(),
        })
    }

    /// Returns a fingerprint for the same rows, but with another origin.
    pub(super) fn with_origin(self, origin: OriginKind) -> Self {
        Self { origin, ..self }
    }

    /// Returns the place where the source's URL was specified.
    pub(super) fn origin(&self) -> OriginKind {
        self.origin
    }

    /// Returns the document's SHA-256 hash in hexadecimal.
    pub(super) fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Returns the signs of truncation found in the document.
    pub(super) fn ending(&self) -> Truncation {
        self.ending
    }

    /// Returns `true` if the rows were generated for this format and by the current rules.
    pub(super) fn is_current(&self, format: Format) -> bool {
        self.rules == RULES && self.format == format.as_str()
    }

    /// Returns `true` if both fingerprints belong to the same document.
    pub(super) fn is_same_document(&self, other: &Self) -> bool {
        self.sha256 == other.sha256
    }

    /// Returns `true` if both fingerprints identify the same rows, regardless of their origin.
    pub(super) fn makes_same_rows(&self, other: &Self) -> bool {
        (&self.rules, &self.format, &self.sha256) == (&other.rules, &other.format, &other.sha256)
    }
}

impl Truncation {
    fn parse(words: &str) -> Self {
        Self {
            is_open: words.split(',').any(|word| word == "open"),
            is_short: words.split(',').any(|word| word == "short"),
        }
    }

    fn as_str(self) -> &'static str {
        match (self.is_open, self.is_short) {
            (false, false) => "",
            (true, false) => ";open",
            (false, true) => ";short",
            (true, true) => ";open,short",
        }
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = match self.origin {
            OriginKind::Configured => "configured",
            OriginKind::Given => "given",
        };
        let ending = self.ending.as_str();
        let Self {
            rules,
            format,
            sha256,
            ..
        } = self;
        write!(f, "{origin};{rules};{format};{sha256}{ending}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprint_round_trips_through_the_database() {
        let made = Fingerprint::new(OriginKind::Given, Format::AiRobotsTxt, b"abc");
        let text = made.to_string();
        assert!(text.ends_with("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
        assert_eq!(Fingerprint::parse(&text), Some(made));
        for bytes in [&b"abc"[..], b"abc\n"] {
            let list = Fingerprint::new(OriginKind::Given, Format::List, bytes);
            assert_eq!(list.ending().is_open, bytes == b"abc");
            assert_eq!(Fingerprint::parse(&list.to_string()), Some(list));
        }
        let record = "robot-id: a\nrobot-name: A\n".repeat(20);
        for (end, spelled) in [
            ("", ""),
            ("robot-id: b\n", ";short"),
            ("robot-id: b", ";open,short"),
        ] {
            let bytes = format!("{record}{end}");
            let flat = Fingerprint::new(OriginKind::Given, Format::WebRobotsDb, bytes.as_bytes());
            assert_eq!(flat.ending().as_str(), spelled);
            assert_eq!(Fingerprint::parse(&flat.to_string()), Some(flat));
        }
        assert_eq!(Fingerprint::parse("ba7816bf"), None);
        assert_eq!(Fingerprint::parse("given;1"), None);
    }

    #[test]
    fn rows_differ_by_content_format_and_rules_but_not_by_origin() {
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
