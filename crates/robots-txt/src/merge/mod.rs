//! Merging of two robots.txt files into one file that disallows everything that either file
//! disallows.

mod groups;
mod refusals;
mod region;
mod side;
mod union;

pub use groups::{MergedFile, merge};
pub use refusals::refusals;
