//! Errors of robot heaven.

use std::{io, path::Path};

use robot_detection_store::store::StoreError;

/// Error of robot heaven.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HeavenError {
    /// The site's URL is none.
    #[error("{0:?} is no URL of a site; write such as https://www.example.com")]
    Site(String),
    /// A file or directory cannot be read or written.
    #[error("cannot {what} {path}: {source}")]
    Files {
        /// Action that was tried.
        what: &'static str,
        /// On which file.
        path: String,
        /// Error of the system.
        source: io::Error,
    },
    /// Another publication is under way.
    #[error("{0} is being published by another process; wait until it has ended")]
    Busy(String),
    /// The directory holds files that heaven did not write.
    #[error(
        "{0} holds files that are not of a published heaven, and would be replaced; name an empty directory"
    )]
    NotOurs(String),
    /// The descriptions cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A job of the runtime has ended early.
    #[error("the publication of {0} ended early; publish again")]
    Ended(String),
    /// A job of the runtime that lists pages has ended early.
    #[error("listing the pages of {0} ended early; start again")]
    Unread(String),
}

impl HeavenError {
    /// Returns what completes the error of a file.
    pub(super) fn on(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::Files { what, path, source }
    }
}
