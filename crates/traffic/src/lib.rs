//! Internal crate of `robot-detection`: what is counted and noted of requests.
//!
//! [`traffic`] counts every request without a lock and keeps the sums in the database,
//! [`suspicion`] has those judged who say that they are people, and [`access_log`] reads and
//! writes the logs of web servers; it needs no database (feature `access-log`).

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "access-log")]
pub mod access_log;
#[cfg(feature = "counting")]
pub mod canonical;
#[cfg(feature = "counting")]
pub mod summary;
#[cfg(feature = "counting")]
pub mod suspicion;
#[cfg(feature = "counting")]
pub mod traffic;
#[cfg(feature = "counting")]
pub mod traps;
