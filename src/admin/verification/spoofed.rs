//! The last requests of robots that are not who they say.

use serde::Serialize;

use super::robots::{RobotIndex, RobotRef};
use crate::admin::{moment::Moment, state::AdminState};

/// Request of a robot that is not who it says.
#[derive(Clone, Debug, Serialize)]
pub(super) struct SpoofedView {
    pub(super) at: Moment,
    /// Robot that it claims to be.
    pub(super) robot: RobotRef,
    pub(super) address: Option<String>,
    pub(super) host: String,
    pub(super) path: String,
    pub(super) evidence: String,
}

impl SpoofedView {
    /// Returns the last hundred, the last first.
    pub(super) fn all(state: &AdminState, known: &RobotIndex<'_>) -> Vec<Self> {
        let now_ms = state.now_ms();
        let requests = state.admin().verifier.last_spoofed().into_iter();
        requests
            .map(|request| Self {
                at: Moment::new(request.at_ms, now_ms),
                robot: known.find(&request.robot),
                address: request.address.map(|address| address.to_string()),
                host: request.host,
                path: request.path,
                evidence: request.evidence,
            })
            .collect()
    }
}
