//! Parsing of registries in all formats.

use super::{Format, Robot, Source, text::starts_with_ignore_case};

/// Number of bytes at the start of a file that are inspected to detect other file types.
const SNIFF_BYTES: usize = 4096;

/// The result of parsing a registry.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Parsed {
    /// The robots, with unique IDs and in the order of the file, including unusable robots.
    pub robots: Vec<Robot>,
    /// The skipped records and blocks. The first 1,000 are listed; further records are only
    /// counted.
    pub skipped: Vec<Skipped>,
    /// The number of records, including skipped records.
    pub records: usize,
    /// The number of lines that begin with `#`.
    pub comment_lines: usize,
}

/// A record that could not be converted into a robot.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Skipped {
    /// The number of the record's first line, starting at 1; 0 if the format has no lines.
    pub line: usize,
    /// The robot's ID, or the first words of the record, without control characters.
    pub what: String,
    /// The reason why the record was skipped.
    pub reason: String,
}

/// Error returned if bytes are not a registry.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// The bytes are not in the given format.
    #[error("not a registry in the format {}: {reason}", format.as_str())]
    NotThisFormat {
        /// The format that the bytes were expected to be in.
        format: Format,
        /// A description of the bytes, or of the first error in the bytes.
        reason: String,
    },
    /// The program was built without the feature `formats`.
    #[error("the format {} requires the feature `formats`", .0.as_str())]
    NotBuilt(Format),
}

/// Parses a registry.
///
/// # Errors
///
/// Returns an error only if the bytes as a whole are not in the given format. Invalid records are
/// skipped and reported.
pub fn parse(format: Format, bytes: &[u8], source: &Source) -> Result<Parsed, ParseError> {
    let not_this = |reason: String| ParseError::NotThisFormat { format, reason };
    if let Some(found) = what_else(bytes) {
        return Err(not_this(found.to_owned()));
    }
    let Some(read) = format.row().read else {
        return Err(ParseError::NotBuilt(format));
    };
    read(bytes, source).map_err(|reason| not_this(format!("{reason}{}", hint(format, bytes))))
}

/// Returns a description of the bytes if the bytes cannot be a registry in any format.
fn what_else(bytes: &[u8]) -> Option<&'static str> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let start = bytes.trim_ascii_start();
    if start.is_empty() {
        return Some("an empty file");
    }
    if start.starts_with(&[0x1f, 0x8b]) {
        return Some("gzip data that was not decompressed");
    }
    let start = start.get(..SNIFF_BYTES).unwrap_or(start);
    let controls = start
        .iter()
        .filter(|&&b| b < 0x20 && !b"\t\n\r\x0b\x0c\x1b".contains(&b))
        .count();
    if start.contains(&0) || controls * 20 > start.len() {
        return Some("binary data");
    }
    let text = String::from_utf8_lossy(start);
    let is_markup = [
        "<!doctype html",
        "<html",
        "<head",
        "<body",
        "<title",
        "<!--",
    ]
    .iter()
    .any(|tag| starts_with_ignore_case(&text, tag));
    match start.first() {
        Some(b'<') if is_markup => Some("an HTML page"),
        Some(b'<') => Some("XML or HTML"),
        _ => None,
    }
}

/// Returns a hint if the bytes appear to be in another format.
fn hint(format: Format, bytes: &[u8]) -> String {
    match Format::guess(bytes) {
        Some(other) if other != format && other != Format::List => {
            format!("; the file looks like {}", other.as_str())
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(bytes: &[u8]) -> String {
        match parse(Format::WebRobotsDb, bytes, &Source::web_robots_db()) {
            Err(ParseError::NotThisFormat { reason, .. }) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn other_file_types_are_named() {
        assert_eq!(reason(b" \r\n\n"), "an empty file");
        assert_eq!(
            reason(b"\n<!DOCTYPE html>\n<html><pre>robot-id: x"),
            "an HTML page"
        );
        assert_eq!(reason(b"<?xml version='1.0'?><rss/>"), "XML or HTML");
        assert_eq!(
            reason(b"\x1f\x8b\x08 robot-id: x"),
            "gzip data that was not decompressed"
        );
        assert_eq!(reason(b"robot-id: x\0y"), "binary data");
        assert_eq!(
            reason(b"User-agent: *\nDisallow: /\n"),
            "no robot-id field found"
        );
        assert_eq!(
            reason(b"[{\"pattern\": \"Acmebot\"}]"),
            "no robot-id field found; the file looks like crawler-user-agents"
        );
    }

    #[test]
    fn a_registry_without_usable_records_is_accepted() {
        let parsed = parse(
            Format::WebRobotsDb,
            b"robot-id:\n",
            &Source::web_robots_db(),
        )
        .unwrap();
        assert_eq!((parsed.robots.len(), parsed.records), (0, 1));
        assert_eq!(parsed.skipped[0].reason, "neither robot-id nor robot-name");
    }
}
