//! Publication of robot heaven as files, which are written to a staging directory and then moved
//! into place.

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
