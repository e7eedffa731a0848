//! Prints results to standard output, and everything else to standard error.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, fchown};
use std::path::Path;

use anyhow::Context as _;
use serde::Serialize;

use crate::registry::is_invisible;

/// Prints a line to standard output.
///
/// # Errors
///
/// A closed pipe is also an error, but `run` treats the error as success, because `head` and `less`
/// close their input when they have read enough.
pub(super) fn line(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")
}

/// Prints text unchanged to standard output.
pub(super) fn text(text: &str) -> io::Result<()> {
    io::stdout().lock().write_all(text.as_bytes())
}

/// Prints a line to standard output or, if standard output is closed, to standard error.
pub(super) fn line_or_note(text: &str) {
    if line(text).is_err() {
        note(text);
    }
}

/// Prints a line to standard error.
pub(super) fn note(text: &str) {
    // If standard error is closed, the failure cannot be reported.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Prints an indented JSON value to standard output.
pub(super) fn json(value: &impl Serialize) -> io::Result<()> {
    line(&serde_json::to_string_pretty(value)?)
}

/// Returns text with each control character, invisible character and change of the writing
/// direction replaced by U+FFFD.
///
/// The text comes from registries and visitors; an escape sequence in it could manipulate the
/// terminal, and a change of direction the order of the following text.
pub(super) fn clean(text: &str) -> String {
    text.chars()
        .map(|c| if is_invisible(c) { '\u{fffd}' } else { c })
        .collect()
}

/// Prints a table whose columns are as wide as their widest cell, up to 48 characters.
pub(super) fn table(header: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
    let widths = (0..header.len())
        .map(|column| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
            let name = header.get(column).map_or(0, |name| name.len());
            // A single long name must not move other columns off the screen.
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

/// The file mode bit that allows all users to read a file.
const READ_BY_ALL: u32 = 0o004;

/// Replaces a file atomically: writes a new file in the same directory and renames it.
///
/// nginx and HAProxy may read an exported map at any time and must never read a partial file.
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
            // The temporary file may not exist; only the first error is reported.
            let _ = fs::remove_file(&beside);
        })
    });
    written.with_context(|| format!("cannot write {}", file.display()))
}

fn write_and_rename(beside: &Path, file: &Path, text: &str) -> io::Result<()> {
    let mut new = File::create(beside)?;
    // The program that reads the file may run as another user.
    if let Ok(old) = fs::metadata(file) {
        keep_owner(&new, &old)?;
        new.set_permissions(old.permissions())?;
    }
    new.write_all(text.as_bytes())?;
    // Synced before the rename, so that a crash cannot leave an empty file under the new name.
    new.sync_all()?;
    fs::rename(beside, file)
}

/// Sets the owner and group of a new file to the owner and group of an old file, as far as
/// permitted.
///
/// # Errors
///
/// Returns an error if a user that can read the old file would not be able to read the new file.
fn keep_owner(new: &File, old: &Metadata) -> io::Result<()> {
    let kept = fchown(new, Some(old.uid()), Some(old.gid()));
    if old.mode() & READ_BY_ALL == 0 {
        return kept;
    }
    Ok(())
}

/// The exit code for wrong usage or configuration.
pub(super) const WRONG_USAGE: u8 = 2;

/// An error for arguments that are valid individually, but not in combination or for this program.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct WrongUsage(pub(super) String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_replaced_atomically_without_leftovers() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("robots.conf");
        for text in ["a long old text\n", "new\n"] {
            write_file(&file, text).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn failed_write_leaves_no_files_behind() {
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
