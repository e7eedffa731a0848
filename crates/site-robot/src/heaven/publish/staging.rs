//! Files of a heaven that is being published.

use std::{
    fs::{self, File},
    io::{self, BufReader, BufWriter, Read, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    directory::{MARK, PublishDirectory, create, remove},
    exchange::{put_in_place, sync},
};
use crate::heaven::HeavenError;

/// Bytes that are compared at once.
const CHUNK: usize = 64 * 1024;

/// Heaven that is being published: nobody sees it before it is whole.
#[derive(Debug)]
pub(super) struct Staging {
    places: Arc<PublishDirectory>,
    files: Files,
}

/// Writes files of a heaven that is being published; others may write other files.
#[derive(Debug)]
pub(super) struct Files {
    /// While anybody writes, the lock is held.
    places: Arc<PublishDirectory>,
    /// Whether there was a heaven before.
    has_old: bool,
    /// Directory that the last file was written to.
    last: PathBuf,
    pub(super) tally: Tally,
}

/// Files that were written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    /// Files that are new or other than before.
    pub(super) written: usize,
    /// Files that are as they were, and share their place on the disk with the old ones.
    pub(super) unchanged: usize,
}

/// File that is written piece by piece.
#[derive(Debug)]
pub(super) struct Stream {
    path: PathBuf,
    below: String,
    file: BufWriter<File>,
}

impl Staging {
    pub(super) fn new(directory: &Path) -> Result<Self, HeavenError> {
        let places = Arc::new(PublishDirectory::take(directory)?);
        Ok(Self {
            files: Files {
                has_old: places.heaven.exists(),
                places: Arc::clone(&places),
                last: PathBuf::new(),
                tally: Tally::default(),
            },
            places,
        })
    }

    /// Returns another hand that writes files; what it wrote is to be told: [`Self::count`].
    pub(super) fn files(&self) -> Files {
        Files {
            places: Arc::clone(&self.places),
            has_old: self.files.has_old,
            last: PathBuf::new(),
            tally: Tally::default(),
        }
    }

    /// Counts what another hand has written.
    pub(super) fn count(&mut self, tally: Tally) {
        self.files.tally.written += tally.written;
        self.files.tally.unchanged += tally.unchanged;
    }

    pub(super) fn tally(&self) -> Tally {
        self.files.tally
    }

    /// Writes a file; one that is as before is the old one, by another link.
    pub(super) fn write(&mut self, below: &str, content: &[u8]) -> Result<(), HeavenError> {
        self.files.write(below, content)
    }

    /// Begins a file that is written piece by piece.
    pub(super) fn stream(&mut self, below: &str) -> Result<Stream, HeavenError> {
        let path = self.files.path(below)?;
        let file = File::create_new(&path).map_err(HeavenError::on("write", &path))?;
        Ok(Stream {
            file: BufWriter::new(file),
            below: below.to_owned(),
            path,
        })
    }

    /// Ends a file that was written piece by piece.
    pub(super) fn end(&mut self, stream: Stream) -> Result<(), HeavenError> {
        let Stream { path, below, file } = stream;
        let ended = file.into_inner().map_err(io::IntoInnerError::into_error);
        ended.map_err(HeavenError::on("write", &path))?;
        let old = self.places.heaven.join(below);
        if are_same(&old, &path).unwrap_or(false) {
            fs::remove_file(&path).map_err(HeavenError::on("remove", &path))?;
            // A file system without hard links gets a copy.
            let linked = fs::hard_link(&old, &path).or_else(|_| fs::copy(&old, &path).map(drop));
            linked.map_err(HeavenError::on("write", &path))?;
            self.files.tally.unchanged += 1;
        } else {
            self.files.tally.written += 1;
        }
        Ok(())
    }

    /// Returns what has the disk take in the files that are there.
    pub(super) fn syncing(&self) -> impl FnOnce() + Send + 'static {
        // Without the lock: who publishes next need not wait for this.
        let staging = self.places.staging.clone();
        move || sync(&staging)
    }

    /// Moves everything into place, unless it is as before; returns `true` if it did.
    pub(super) fn finish(self) -> Result<bool, HeavenError> {
        let Tally { written, unchanged } = self.files.tally;
        let is_as_before = written == 0
            && self.places.heaven.join(MARK).is_file()
            // The mark is the one file that is not counted while writing.
            && count(&self.places.heaven).is_ok_and(|files| files == unchanged + 1);
        if is_as_before {
            remove(&self.places.staging)?;
            return Ok(false);
        }
        put_in_place(&self.places)?;
        Ok(true)
    }

    /// Abandons the publication; everything stays as it was.
    pub(super) fn abandon(self) {
        // What stays is removed by the next publication.
        let _ = remove(&self.places.staging);
    }
}

impl Files {
    /// Writes a file; one that is as before is the old one, by another link.
    pub(super) fn write(&mut self, below: &str, content: &[u8]) -> Result<(), HeavenError> {
        let path = self.path(below)?;
        if self.has_old {
            let old = self.places.heaven.join(below);
            if is_same(&old, content) && fs::hard_link(&old, &path).is_ok() {
                self.tally.unchanged += 1;
                return Ok(());
            }
        }
        let written = File::create_new(&path).and_then(|mut file| file.write_all(content));
        written.map_err(HeavenError::on("write", &path))?;
        self.tally.written += 1;
        Ok(())
    }

    /// Returns where a file is staged; its directory is there.
    fn path(&mut self, below: &str) -> Result<PathBuf, HeavenError> {
        let path = self.places.staging.join(below);
        if let Some(directory) = path.parent()
            && directory != self.last
        {
            create(directory)?;
            directory.clone_into(&mut self.last);
        }
        Ok(path)
    }
}

impl Stream {
    /// Returns what is written to.
    pub(super) fn out(&mut self) -> &mut impl Write {
        &mut self.file
    }

    /// Completes an error of writing.
    pub(super) fn failed(&self, error: io::Error) -> HeavenError {
        HeavenError::on("write", &self.path)(error)
    }
}

fn is_same(path: &Path, content: &[u8]) -> bool {
    // Most changes show in the length, without reading.
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

/// Counts the files of a tree.
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
