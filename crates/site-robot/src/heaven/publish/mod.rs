//! Heaven as files: staged beside its directory, then put in place as a whole.

mod directory;
mod exchange;
mod job;
mod pages;
mod staging;

pub use directory::is_published;
pub use job::{PublishReport, publish};
pub use pages::{PublishedPages, count_published};

#[cfg(test)]
mod tests;
