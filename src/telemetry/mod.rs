//! Set-up of the log.
//!
//! The program logs to standard error, as text for people or as one JSON
//! object a line; what is printed for the user goes to standard output.
//!
//! # Example
//!
//! ```
//! use robot_detection::telemetry::{LogFormat, start_log};
//!
//! start_log("info", LogFormat::Json)?;
//! assert!(start_log("robot_detection=loud", LogFormat::Text).is_err());
//! # Ok::<(), robot_detection::telemetry::LogError>(())
//! ```

mod log;

pub use log::{LogError, LogFormat, check_log_filter, start_log};
