//! The registry that is compiled into the program.

use super::{Format, Parsed, Source, parse};

/// Concatenates flat files, separated by blank lines.
macro_rules! flat_files {
    ($($file:literal)*) => {
        concat!($(include_str!(concat!("bundled/", $file)), "\n"),*)
    };
}

/// The flat file of the bundled registry, in the schema of the Web Robots Database.
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

/// Returns the registry that is compiled into the program.
///
/// The bundled registry is used alone until other sources have been loaded, and together with the
/// other sources afterwards.
#[must_use]
pub fn bundled() -> Parsed {
    parse(
        Format::WebRobotsDb,
        FLAT_FILE.as_bytes(),
        &Source::bundled(),
    )
    // Tests parse every record, so this never fails.
    .unwrap_or_default()
}

#[cfg(test)]
mod tests;
