//! Merging of two files into one that disallows what either file disallows.

mod groups;
mod refusals;
mod region;
mod side;
mod union;

pub use groups::{MergedFile, merge};
pub use refusals::refusals;
