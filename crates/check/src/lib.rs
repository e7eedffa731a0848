//! Internal crate of `robot-detection`: decisions for other proxies.
//!
//! It answers their questions in the dialect of each, and writes the files that make them ask.

pub mod check;
pub mod probe;
