//! Printing: results on standard output, everything else on standard error.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, fchown};
use std::path::Path;

use anyhow::Context as _;
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

/// Right of all to read a file.
const READ_BY_ALL: u32 = 0o004;

/// Replaces a file by a new one, which is written beside it and renamed.
///
/// nginx or HAProxy may read an exported map at any time, and must never see half of one.
pub(super) fn write_file(file: &Path, text: &str) -> anyhow::Result<()> {
    let name = file
        .file_name()
        .ok_or_else(|| io::Error::from(io::ErrorKind::IsADirectory));
    let written = name.and_then(|name| {
        let mut beside = OsString::from(".");
        beside.push(name);
        beside.push(format!(".{}.new", std::process::id()));
        let beside = file.with_file_name(beside);
        write_and_rename(&beside, file, text).inspect_err(|_| {
            // The temporary file may not exist; the first error is the one to report.
            let _ = fs::remove_file(&beside);
        })
    });
    written.with_context(|| format!("cannot write {}", file.display()))
}

fn write_and_rename(beside: &Path, file: &Path, text: &str) -> io::Result<()> {
    let mut new = File::create(beside)?;
    // The reader of the old file may be another user.
    if let Ok(old) = fs::metadata(file) {
        keep_owner(&new, &old)?;
        new.set_permissions(old.permissions())?;
    }
    new.write_all(text.as_bytes())?;
    // Before the rename: after a crash the new name must not stand for a file without content.
    new.sync_all()?;
    fs::rename(beside, file)
}

/// Gives a file to owner and group of an old one, as far as we may.
///
/// # Errors
///
/// Fails where somebody could not read it any more who could read the old one.
fn keep_owner(new: &File, old: &Metadata) -> io::Result<()> {
    let kept = fchown(new, Some(old.uid()), Some(old.gid()));
    if old.mode() & READ_BY_ALL == 0 {
        return kept;
    }
    Ok(())
}

/// Exit code of wrong usage or configuration.
pub(super) const WRONG_USAGE: u8 = 2;

/// Error of arguments that fit their types but not each other or the program.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct WrongUsage(pub(super) String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole_and_nothing_is_left_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("robots.conf");
        for text in ["a long old text\n", "new\n"] {
            write_file(&file, text).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_written_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        let occupied = directory.path().join("occupied");
        fs::create_dir(&occupied).unwrap();
        fs::write(occupied.join("inside"), "").unwrap();
        let missing = directory.path().join("missing").join("robots.conf");
        for file in [&occupied, &missing, Path::new("/")] {
            let error = write_file(file, "x").unwrap_err().to_string();
            assert!(error.starts_with("cannot write "), "{error}");
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
