//! Writing a file as a whole or not at all.

use std::{
    ffi::OsString,
    fs::{self, File, Metadata},
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, fchown},
    path::Path,
};

use anyhow::Context as _;

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
