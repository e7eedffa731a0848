//! Errors of a refresh.

use crate::store::{LeaseHolder, RefreshRecord, StoreError};
use robot_detection_layer::registry::Source;

/// Error of a refresh; rows, detector and source state are as they were.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RefreshError {
    /// The configuration has no source of that name.
    #[error("no source is named {0:?}: `registry list` and the configuration show those there are")]
    UnknownSource(String),
    /// Robots added by hand, or coming with the program, are not downloaded.
    #[error("the source {0} is not refreshed: its robots come from no file")]
    Reserved(Source),
    /// Another refresh of the same source holds the lease.
    #[error("a refresh of {0} is running already, {1}: wait until it ends")]
    Busy(Source, LeaseHolder),
    /// The process slept until its lease had ended, and another one took it.
    #[error("the refresh of {0} was given up: another process has begun one meanwhile")]
    Overtaken(Source),
    /// The program is ending, or ended the refresh.
    #[error("the refresh of {0} was given up: the program is ending")]
    Stopped(Source),
    /// Recorded in the history; the rows stay as they were.
    #[error("{}", .0.error)]
    Failed(Box<RefreshRecord>),
    /// Held back until a person accepts it; recorded, and the rows stayed as they were.
    #[error("held back: {}", .0.error)]
    Held(Box<RefreshRecord>),
    /// The database did not answer, so that nothing could be recorded.
    #[error(transparent)]
    Store(#[from] StoreError),
}
