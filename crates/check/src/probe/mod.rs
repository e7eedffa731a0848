//! Probes with which `doctor` tests whether a proxy sends queries and applies the responses.
//!
//! A probe has a signed token that is valid once and for a minute. The server decides as for any
//! other request, but does not count or log a probe: it stores its observations for `doctor`.

mod probes;
mod token;

pub use probes::{ForgedToken, Note, Probe, ProbePoint, Probes};
pub use token::{ProbeKey, Purpose};

use axum::http::HeaderName;

/// Request header that contains a probe's token.
pub const PROBE_HEADER: HeaderName = HeaderName::from_static("x-robot-detection-probe");
