//! The registry that comes with the program.

use super::{Format, Parsed, Source, parse};

/// Joins flat files into one, a blank line between each two.
macro_rules! flat_files {
    ($($file:literal)*) => {
        concat!($(include_str!(concat!("bundled/", $file)), "\n"),*)
    };
}

/// Flat file of the bundled registry, in the schema of the Web Robots Database.
const FLAT_FILE: &str = flat_files! {
    "schema.txt"
    "operators.txt"
    "search.txt"
    "ai.txt"
    "seo.txt"
    "monitoring.txt"
    "preview.txt"
    "feed.txt"
    "archive.txt"
    "academic.txt"
    "advertising.txt"
    "scanner.txt"
    "library.txt"
    "automation.txt"
    "shared.txt"
};

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
    // Tests read every record, so that this never happens.
    .unwrap_or_default()
}

#[cfg(test)]
mod tests;
