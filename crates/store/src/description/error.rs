//! Errors of reading resource descriptions.

use std::io;

/// Error in a file of resource descriptions; later descriptions can still be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file itself could not be read; reading ends.
    #[error("cannot read the resource descriptions: {0}")]
    Io(#[from] io::Error),
    /// A SOIF object has invalid syntax.
    #[error(
        "invalid resource description at byte {at}: {reason}; correct it, or export the descriptions again"
    )]
    Syntax {
        /// Position of the error in bytes.
        at: u64,
        /// Description of the error.
        reason: &'static str,
    },
    /// A line is not a JSON object with a `url`.
    #[error(
        "invalid resource description in line {line}: {reason}; correct it, or export the descriptions again"
    )]
    Json {
        /// Line number, starting at 1.
        line: u64,
        /// Description of the error.
        reason: String,
    },
}
