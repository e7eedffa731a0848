//! Requests by which `doctor` finds out how a proxy asks, and whether it applies the answers.
//!
//! Such a request has a signed token that is good once and for a minute. The server decides about it
//! as about any other, but neither counts nor logs it: it stores what it saw, and `doctor` reads that.

mod probes;
mod token;

pub use probes::{Door, ForgedToken, Note, Probe, Probes};
pub use token::{ProbeKey, Purpose};

use axum::http::HeaderName;

/// Header with the token.
pub const PROBE_HEADER: HeaderName = HeaderName::from_static("x-robot-detection-probe");
