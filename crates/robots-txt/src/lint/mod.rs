//! Linter: finds lines that robots read differently than intended.
//!
//! A separate pass over the octets: the parser stays fast, and lines that the parser skips are the
//! ones that matter here.

mod groups;
mod host;
mod nearest;
mod pass;
mod preferences;
mod rules;
#[cfg(test)]
mod tests;
mod values;
mod warning;
mod warnings;

pub use nearest::nearest;
pub use warning::{Warning, WarningKind};
