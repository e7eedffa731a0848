use std::io;

/// Error of a connection, or of what the upstream sent over it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Http1Error {
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
    /// The connection ended before the response, or within its head.
    #[error("the upstream closed the connection before the end of the response's head")]
    NoHead,
    /// The connection ended within the body.
    #[error("the upstream closed the connection before the end of the response")]
    Cut,
    /// The head has too many bytes or lines.
    #[error("the response's head has more than 64 KiB or 100 headers")]
    HeadTooLarge,
    /// The head breaks the rules.
    #[error("the response's head is no HTTP/1.1: {0}")]
    Head(&'static str),
    /// The body's chunks break the rules.
    #[error("the chunks of the response are wrong: {0}")]
    Chunks(&'static str),
}
