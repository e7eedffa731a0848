//! Internal crate of `robot-detection`: decisions for front proxies.
//!
//! It responds to queries in each proxy's dialect and prints the files that make proxies send them.

pub mod check;
pub mod probe;
