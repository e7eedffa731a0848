//! Access log, metrics and `doctor` of a real server process.

mod access_log;
mod doctor;
mod metrics;
mod site;
#[cfg(feature = "otel")]
mod traces;
