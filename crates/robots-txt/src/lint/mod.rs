//! A linter that finds lines that robots interpret differently than intended.
//!
//! The linter is a separate pass over the octets, which keeps the parser fast. Most problems are in
//! lines that the parser skips.

mod groups;
mod host;
mod inherit;
mod nearest;
mod pass;
mod preferences;
mod query;
mod rules;
#[cfg(test)]
mod tests;
mod values;
mod warning;
mod warnings;

pub use nearest::nearest;
pub use warning::{Warning, WarningKind};
