//! Internal crate of `robot-detection`: traffic counting, evidence, access logs and suspicion.
//!
//! [`traffic`] counts every request without taking a lock and stores the sums in the database.
//! [`suspicion`] detects fleets among visitors that claim to be browsers. [`access_log`] reads and
//! writes web server logs without a database (feature `access-log`), and [`log_report`] evaluates
//! them.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "access-log")]
pub mod access_log;
#[cfg(feature = "counting")]
pub mod canonical;
#[cfg(feature = "counting")]
pub mod log_report;
#[cfg(feature = "counting")]
mod slots;
#[cfg(feature = "counting")]
pub mod summary;
#[cfg(feature = "counting")]
pub mod suspicion;
#[cfg(feature = "counting")]
pub mod traffic;
#[cfg(feature = "counting")]
pub mod traps;
