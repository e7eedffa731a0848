//! Publishers' terms for their content: headers by rule, licences, and consistent files.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of a test cannot do fails the test"
)]

mod documents;
mod headers;
mod preset;

use std::{fs, path::Path};

/// Writes the configuration of a site without a network.
fn configure(directory: &Path, more: &str) {
    let text = format!("web_robots_db = ''\n{more}");
    fs::write(directory.join("robot-detection.toml"), text).unwrap();
}
