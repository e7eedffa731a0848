//! Files of a robot heaven that is being published.

use std::{
    fs::{self, File},
    io::{self, BufReader, BufWriter, Read, Write},
    path::{Path, PathBuf},
};

use super::{
    directory::{MARK, PublishDirectory, create, remove},
    exchange::swap_in,
};
use crate::heaven::HeavenError;

/// Number of bytes compared in a single step.
const CHUNK: usize = 64 * 1024;

/// A robot heaven that is being published and is invisible until it is complete.
#[derive(Debug)]
pub(super) struct Staging {
    /// Directory of the publication, which is locked until the publication ends.
    places: PublishDirectory,
    pub(super) tally: Tally,
}

/// Counts of the files that were written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    /// Number of new or changed files.
    pub(super) written: usize,
    /// Number of unchanged files, which are hard links to the old files.
    pub(super) unchanged: usize,
}

/// A file that is written in parts.
#[derive(Debug)]
pub(super) struct Stream {
    path: PathBuf,
    below: String,
    file: BufWriter<File>,
}

impl Staging {
    pub(super) fn new(directory: &Path) -> Result<Self, HeavenError> {
        Ok(Self {
            places: PublishDirectory::lock(directory)?,
            tally: Tally::default(),
        })
    }

    /// Writes a file; if it is unchanged, it becomes a hard link to the old file.
    pub(super) fn write(&mut self, below: &str, content: &[u8]) -> Result<(), HeavenError> {
        let path = self.path(below)?;
        let old = self.places.heaven.join(below);
        if is_same(&old, content) && fs::hard_link(&old, &path).is_ok() {
            self.tally.unchanged += 1;
            return Ok(());
        }
        let written = File::create_new(&path).and_then(|mut file| file.write_all(content));
        written.map_err(HeavenError::io_error("write", &path))?;
        self.tally.written += 1;
        Ok(())
    }

    /// Returns the path of a file in the staging directory, and creates the file's parent
    /// directory.
    fn path(&self, below: &str) -> Result<PathBuf, HeavenError> {
        let path = self.places.staging.join(below);
        if let Some(directory) = path.parent() {
            create(directory)?;
        }
        Ok(path)
    }

    /// Starts a file that is written in parts.
    pub(super) fn stream(&mut self, below: &str) -> Result<Stream, HeavenError> {
        let path = self.path(below)?;
        let file = File::create_new(&path).map_err(HeavenError::io_error("write", &path))?;
        Ok(Stream {
            file: BufWriter::new(file),
            below: below.to_owned(),
            path,
        })
    }

    /// Finishes a file that was written in parts.
    pub(super) fn finish_stream(&mut self, stream: Stream) -> Result<(), HeavenError> {
        let Stream { path, below, file } = stream;
        let ended = file.into_inner().map_err(io::IntoInnerError::into_error);
        ended.map_err(HeavenError::io_error("write", &path))?;
        let old = self.places.heaven.join(below);
        if are_same(&old, &path).unwrap_or(false) {
            fs::remove_file(&path).map_err(HeavenError::io_error("remove", &path))?;
            // On file systems without hard links, the file is copied.
            let linked = fs::hard_link(&old, &path).or_else(|_| fs::copy(&old, &path).map(drop));
            linked.map_err(HeavenError::io_error("write", &path))?;
            self.tally.unchanged += 1;
        } else {
            self.tally.written += 1;
        }
        Ok(())
    }

    /// Moves everything into place unless nothing changed; returns `true` if something changed.
    pub(super) fn finish(self) -> Result<bool, HeavenError> {
        let Tally { written, unchanged } = self.tally;
        let is_as_before = written == 0
            && self.places.heaven.join(MARK).is_file()
            // The marker file is the only file that is not counted when written.
            && count(&self.places.heaven).is_ok_and(|files| files == unchanged + 1);
        if is_as_before {
            remove(&self.places.staging)?;
            return Ok(false);
        }
        swap_in(&self.places)?;
        Ok(true)
    }

    /// Abandons the publication and makes no changes.
    pub(super) fn abandon(self) {
        // The next publication removes any leftovers.
        let _ = remove(&self.places.staging);
    }
}

impl Stream {
    /// Returns the writer for the file's content.
    pub(super) fn out(&mut self) -> &mut impl Write {
        &mut self.file
    }

    /// Adds the path to a write error.
    pub(super) fn failed(&self, error: io::Error) -> HeavenError {
        HeavenError::io_error("write", &self.path)(error)
    }
}

fn is_same(path: &Path, content: &[u8]) -> bool {
    // Most changes affect the length, which can be checked without reading the file.
    let is_as_long = |file: &File| {
        let length = file.metadata().map(|metadata| metadata.len());
        length.is_ok_and(|length| length == content.len() as u64)
    };
    let Some(mut file) = File::open(path).ok().filter(is_as_long) else {
        return false;
    };
    let mut known = Vec::with_capacity(content.len());
    file.read_to_end(&mut known).is_ok() && known == content
}

fn are_same(one: &Path, other: &Path) -> io::Result<bool> {
    let (one, other) = (File::open(one)?, File::open(other)?);
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut one, mut other) = (BufReader::new(one), BufReader::new(other));
    let (mut a, mut b) = (Vec::new(), Vec::new());
    loop {
        a.clear();
        b.clear();
        one.by_ref().take(CHUNK as u64).read_to_end(&mut a)?;
        other.by_ref().take(CHUNK as u64).read_to_end(&mut b)?;
        if a != b {
            return Ok(false);
        }
        if a.is_empty() {
            return Ok(true);
        }
    }
}

/// Counts the files in a directory tree.
fn count(directory: &Path) -> io::Result<usize> {
    let mut waiting = vec![directory.to_owned()];
    let mut files = 0;
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                waiting.push(entry.path());
            } else {
                files += 1;
            }
        }
    }
    Ok(files)
}
