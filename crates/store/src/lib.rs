//! Internal crate of `robot-detection`: database, downloads, and verification of robots.
//!
//! The database ([`store`]) contains robots, descriptions, sessions and the refresh history.
//! [`fetch`] is the HTTP client, [`refresh`] downloads the registry's sources, and [`verify`]
//! verifies robots against the data that their operators publish.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod confirmation;
pub mod description;
pub mod fetch;
pub mod instances;
pub mod origins;
pub mod pace;
pub mod refresh;
pub mod robots_file;
pub mod store;
pub mod verify;
