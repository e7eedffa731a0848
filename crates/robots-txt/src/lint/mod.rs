//! What in a file will be read in another way than it is meant.
//!
//! A pass of its own over the octets: the parser stays fast, and a line that
//! a parser skips is the one that matters here.

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
