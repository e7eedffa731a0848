//! Stands in for the server in builds without it: a handle keeps nothing for one.

use crate::operations::Operations;

use super::site::Common;

/// Settings that a process started with; only a server has any.
#[derive(Clone, Debug, Default)]
pub(super) struct Started {}

/// What a handle keeps for a server: nothing.
#[derive(Debug)]
pub(super) struct ServerParts;

impl ServerParts {
    pub(super) fn new(_: Started, _: &Operations, _: &Common) -> Self {
        Self
    }
}
