//! Two files as one: a robot is refused what either of them refuses it.

mod groups;
mod refusals;
mod region;
mod side;
mod union;

pub use groups::{MergedFile, merge};
pub use refusals::refusals;
