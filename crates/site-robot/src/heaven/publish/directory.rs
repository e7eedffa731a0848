//! The directory of a heaven, and what stands beside it while it is published.

use std::{
    fs::{self, File, TryLockError},
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
};

use crate::heaven::HeavenError;

/// File that tells a published heaven from other directories.
pub(super) const MARK: &str = ".robot-heaven";

/// Content of that file.
const MARK_TEXT: &[u8] =
    b"This directory is written by robot-detection, and replaced as a whole.\n";

/// The directory of a heaven, and what stands beside it while it is published.
///
/// It holds the lock: there is no other publication of the same
/// directory, and what an earlier one left behind has been cleared away.
#[derive(Debug)]
pub(super) struct PublishDirectory {
    pub(super) heaven: PathBuf,
    pub(super) staging: PathBuf,
    pub(super) old: PathBuf,
    /// Directory of all three.
    pub(super) parent: PathBuf,
    _lock: File,
}

impl PublishDirectory {
    /// Acquires the lock, and clears up after a publication that was killed.
    pub(super) fn take(directory: &Path) -> Result<Self, HeavenError> {
        // A symbolic link leads to the directory that is meant.
        let heaven = fs::canonicalize(directory).or_else(|_| std::path::absolute(directory));
        let heaven = heaven.map_err(HeavenError::on("find", directory))?;
        let name = heaven.file_name().and_then(|name| name.to_str());
        let (Some(name), Some(parent)) = (name, heaven.parent()) else {
            return Err(HeavenError::NotOurs(directory.display().to_string()));
        };
        fs::create_dir_all(parent).map_err(HeavenError::on("create", parent))?;
        let beside = |suffix: &str| parent.join(format!(".{name}.{suffix}"));
        let places = Self {
            _lock: lock(&beside("lock"), directory)?,
            staging: beside("staging"),
            old: beside("old"),
            parent: parent.to_owned(),
            heaven,
        };
        places.clear_up()?;
        places.check()?;
        create(&places.staging)?;
        let mark = places.staging.join(MARK);
        let written = File::create_new(&mark).and_then(|mut file| file.write_all(MARK_TEXT));
        written.map_err(HeavenError::on("write", &mark))?;
        Ok(places)
    }

    /// Restores what a killed publication had moved away, removes what it had begun.
    fn clear_up(&self) -> Result<(), HeavenError> {
        if !self.heaven.exists() && self.old.exists() {
            fs::rename(&self.old, &self.heaven)
                .map_err(HeavenError::on("put back", &self.heaven))?;
        }
        remove(&self.staging)?;
        remove(&self.old)
    }

    /// Makes sure that nothing is replaced that we did not write.
    fn check(&self) -> Result<(), HeavenError> {
        let mut files = match fs::read_dir(&self.heaven) {
            Ok(files) => files,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(HeavenError::on("read", &self.heaven)(error)),
        };
        if files.next().is_none() || self.heaven.join(MARK).is_file() {
            return Ok(());
        }
        Err(HeavenError::NotOurs(self.heaven.display().to_string()))
    }
}

/// Returns `true` if a directory is a heaven that was published.
pub fn is_published(directory: &Path) -> bool {
    directory.join(MARK).is_file()
}

/// Creates a directory, and those above it.
pub(super) fn create(directory: &Path) -> Result<(), HeavenError> {
    fs::create_dir_all(directory).map_err(HeavenError::on("create", directory))
}

/// Removes a directory, if it is there.
pub(super) fn remove(directory: &Path) -> Result<(), HeavenError> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(HeavenError::on("remove", directory)(error))
        }
        _ => Ok(()),
    }
}

fn lock(path: &Path, directory: &Path) -> Result<File, HeavenError> {
    let mut options = File::options();
    let file = options.create(true).truncate(false).write(true).open(path);
    let file = file.map_err(HeavenError::on("open", path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(HeavenError::Busy(directory.display().to_string())),
        Err(TryLockError::Error(error)) => Err(HeavenError::on("lock", path)(error)),
    }
}
