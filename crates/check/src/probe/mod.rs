//! Probes that `doctor` sends to test whether a front proxy sends queries and applies the
//! responses.
//!
//! A probe contains a signed token that can be used once within a minute. The server makes a
//! decision about a probe as about any other request, but neither counts nor logs the probe; its
//! observations are stored for `doctor`.

mod probes;
mod token;

pub use probes::{ForgedToken, Note, Probe, ProbePoint, Probes};
pub use token::{ProbeKey, Purpose};

use axum::http::HeaderName;

/// Request header that contains a probe's token.
pub const PROBE_HEADER: HeaderName = HeaderName::from_static("x-robot-detection-probe");
