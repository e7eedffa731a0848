//! Internal crate of `robot-detection`: the database, and downloads that keep it fresh.
//!
//! The database ([`store`]) holds robots, descriptions, sessions and what came of refreshes;
//! [`fetch`] is the one HTTP client, [`refresh`] brings the sources of the registry, and
//! [`verify`] proves who a robot is by what its operator publishes.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod description;
pub mod fetch;
pub mod instances;
pub mod origins;
pub mod pace;
pub mod refresh;
pub mod robots_file;
pub mod store;
pub mod verify;
pub mod way_out;
