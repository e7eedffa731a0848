//! Errors of reading descriptions.

use std::io;

/// Error of a file of resource descriptions; what follows it can be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file itself could not be read; nothing follows.
    #[error("cannot read the resource descriptions: {0}")]
    Io(#[from] io::Error),
    /// An object breaks the rules.
    #[error("byte {at}: {reason}: correct it, or export the descriptions again")]
    Syntax {
        /// Bytes before the fault.
        at: u64,
        /// Reason.
        reason: &'static str,
    },
    /// A line is no JSON object with a `url`.
    #[error("line {line}: {reason}: correct it, or export the descriptions again")]
    Json {
        /// Line, counted from 1.
        line: u64,
        /// Reason.
        reason: String,
    },
}
