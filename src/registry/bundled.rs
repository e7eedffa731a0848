//! The registry that comes with the program.

use super::{Format, Parsed, Source, parse};

/// Flat file of the bundled registry, in the schema of the Web Robots Database.
const FLAT_FILE: &str = include_str!("bundled.txt");

/// Returns the bundled registry.
///
/// It serves when no other source has been read yet, and beside them later.
#[must_use]
pub fn bundled() -> Parsed {
    parse(
        Format::WebRobotsDb,
        FLAT_FILE.as_bytes(),
        &Source::bundled(),
    )
    .unwrap_or_default()
}
