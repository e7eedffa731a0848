//! Heaven as files: staged beside its directory, then put in place as a whole.

mod exchange;
mod job;
mod pages;
mod places;
mod staging;

pub use job::{Published, publish};
pub use pages::{PublishedPages, count_published};
pub use places::is_published;

#[cfg(test)]
mod tests;
