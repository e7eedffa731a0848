//! Replaces the server in builds without the feature: a handle then stores nothing for a server.

use crate::operations::Operations;

use super::site::Common;

/// Settings that the process started with; empty without a server.
#[derive(Clone, Debug, Default)]
pub(super) struct Started {}

/// Parts that a handle stores for a server; empty here.
#[derive(Debug)]
pub(super) struct ServerParts;

impl ServerParts {
    pub(super) fn new(_: Started, _: &Operations, _: &Common) -> Self {
        Self
    }
}
