//! Wrong usage: the error of arguments that do not fit.

/// Exit code of wrong usage or configuration.
pub(super) const WRONG_USAGE: u8 = 2;

/// Error of arguments that fit their types but not each other or the program.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct WrongUsage(pub(super) String);
