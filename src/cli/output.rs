//! Printing: results on standard output, everything else on standard error.

use std::io::{self, Write as _};

use serde::Serialize;

/// Prints a line on standard output.
///
/// # Errors
///
/// A closed pipe is an error like any other here; `run` ends with success for it, as `head` and
/// `less` close theirs when they have seen enough.
pub(super) fn line(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")
}

/// Prints text as it is on standard output.
pub(super) fn text(text: &str) -> io::Result<()> {
    io::stdout().lock().write_all(text.as_bytes())
}

/// Prints a line on standard output or, where that is closed, on standard error.
pub(super) fn line_or_note(text: &str) {
    if line(text).is_err() {
        note(text);
    }
}

/// Prints a line on standard error.
pub(super) fn note(text: &str) {
    // A closed standard error leaves nowhere to report its own failure.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Prints a JSON value, indented, on standard output.
pub(super) fn json(value: &impl Serialize) -> io::Result<()> {
    line(&serde_json::to_string_pretty(value)?)
}

/// Returns text with each control character replaced by U+FFFD.
///
/// Registries and visitors write this text: an escape sequence in it could rewrite the terminal.
pub(super) fn clean(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

/// Prints rows in columns as wide as their widest cell, of at most 48 characters.
pub(super) fn table(header: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
    let widths = (0..header.len())
        .map(|column| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
            let name = header.get(column).map_or(0, |name| name.len());
            // One long name must not push the columns of all other rows off the screen.
            widest.max(name).min(48)
        })
        .collect::<Vec<_>>();
    let header = header
        .iter()
        .map(|name| (*name).to_owned())
        .collect::<Vec<_>>();
    let mut out = io::stdout().lock();
    for row in std::iter::once(&header).chain(rows) {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect::<Vec<_>>();
        writeln!(out, "{}", cells.join("  ").trim_end())?;
    }
    Ok(())
}
