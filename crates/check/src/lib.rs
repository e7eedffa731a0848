//! Internal crate of `robot-detection`: decisions for front proxies.
//!
//! The crate answers queries in each proxy's dialect, and renders the configuration files that make
//! the proxies send these queries.

pub mod check;
pub mod probe;
