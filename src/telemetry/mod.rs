//! Setup of logs and metrics.
//!
//! The program logs to standard error, as text or as one JSON object per line;
//! results for the user are printed to standard output. Lines of an access log
//! go through a [`LineWriter`], durations into a [`Histogram`]: neither blocks a
//! request.
//!
//! # Example
//!
//! ```
//! use robot_detection::telemetry::{LogFormat, start_log};
//!
//! start_log("info", LogFormat::Json, false)?;
//! assert!(start_log("robot_detection=loud", LogFormat::Text, true).is_err());
//! # Ok::<(), robot_detection::telemetry::LogError>(())
//! ```

mod histogram;
mod line_writer;
mod log;

pub use histogram::Histogram;
pub use line_writer::LineWriter;
pub use log::{LogError, LogFormat, check_log_filter, start_log};
