//! Replaces the server in builds without the feature `server`; a handle then stores no server
//! state.

use crate::operations::Operations;

use super::site::Common;

/// Settings that the process started with; empty in builds without a server.
#[derive(Clone, Debug, Default)]
pub(super) struct Started {}

/// The server state stored in a handle; empty in builds without a server.
#[derive(Debug)]
pub(super) struct ServerParts;

impl ServerParts {
    pub(super) fn new(_: Started, _: &Operations, _: &Common) -> Self {
        Self
    }
}
