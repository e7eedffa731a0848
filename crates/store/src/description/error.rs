//! Errors that occur when resource descriptions are read.

use std::io;

/// An error in a file that contains resource descriptions. Reading can continue with the next
/// description.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file could not be read; no further descriptions follow.
    #[error("cannot read the resource descriptions: {0}")]
    Io(#[from] io::Error),
    /// A SOIF object has invalid syntax.
    #[error(
        "invalid resource description at byte {at}: {reason}; correct it, or export the descriptions again"
    )]
    Syntax {
        /// The byte offset of the error.
        at: u64,
        /// A description of the syntax error.
        reason: &'static str,
    },
    /// A line is not a JSON object that has a `url` member.
    #[error(
        "invalid resource description on line {line}: {reason}; correct it, or export the \
         descriptions again"
    )]
    Json {
        /// The number of the invalid line, starting at 1.
        line: u64,
        /// A description of the error on the line.
        reason: String,
    },
}
