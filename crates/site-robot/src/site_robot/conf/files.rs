//! The files that filter.conf names.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use crate::filter::Files;

/// Size of a file at most.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Files that directives of a filter.conf name, on disk.
///
/// A relative path such as `./config/filterrules.conf` is looked for below the
/// directory of filter.conf, below the one above it (the reference keeps
/// filter.conf itself in `config`), and below the working directory.
#[derive(Clone, Debug)]
pub struct ConfigFiles {
    directories: Vec<PathBuf>,
}

impl ConfigFiles {
    /// Creates it for a filter.conf at a path.
    #[must_use]
    pub fn beside(filter_conf: &Path) -> Self {
        let directory = filter_conf.parent().unwrap_or(Path::new(""));
        let above = directory.join("..");
        let directories = vec![directory.to_owned(), above, PathBuf::new()];
        Self { directories }
    }
}

impl Files for ConfigFiles {
    fn read(&self, path: &str) -> Result<Option<String>, String> {
        for directory in &self.directories {
            match read(&directory.join(path)) {
                Ok(text) => return Ok(Some(text)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(format!("cannot read {path:?}: {error}")),
            }
        }
        Ok(None)
    }
}

fn read(path: &Path) -> io::Result<String> {
    // One byte more than a file may have: who parses it then finds it too large.
    let mut bytes = Vec::new();
    File::open(path)?
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
