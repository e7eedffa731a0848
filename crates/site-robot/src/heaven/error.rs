//! Errors that occur in robot heaven.

use std::{io, path::Path};

use robot_detection_store::store::StoreError;

/// Error that occurs while publishing or serving robot heaven.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HeavenError {
    /// The URL of the site is invalid.
    #[error("{0:?} is not a valid site URL; specify a URL such as https://www.example.com")]
    Site(String),
    /// A file or directory could not be read or written.
    #[error("cannot {what} {path}: {source}")]
    Files {
        /// Description of the file operation that failed.
        what: &'static str,
        /// Path of the file.
        path: String,
        /// I/O error that occurred in the file operation.
        source: io::Error,
    },
    /// Another process is publishing to the same directory.
    #[error("another process is already publishing to {0}; wait until it has finished")]
    Busy(String),
    /// The directory contains files that do not belong to a published robot heaven.
    #[error(
        "{0} contains files that robot heaven did not write and that would be lost; specify an empty directory"
    )]
    NotOurs(String),
    /// The page descriptions could not be read from the database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A publication task was aborted.
    #[error("the publication to {0} was aborted; publish again")]
    Ended(String),
    /// A task that lists pages was aborted.
    #[error("listing the pages of {0} was aborted; try again")]
    Unread(String),
}

impl HeavenError {
    /// Returns a function that adds the operation and path to an I/O error.
    pub(super) fn io_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::Files { what, path, source }
    }
}
