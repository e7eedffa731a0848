//! Linter that finds lines that robots interpret differently than intended.
//!
//! The linter is a separate pass over the octets, which keeps the parser fast; lines that the
//! parser skips are the ones that matter most here.

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
