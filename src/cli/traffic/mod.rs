//! `traffic`: imports and deletes visitor statistics.

mod args;
mod counter;
mod forget;
mod import;

pub(super) use args::TrafficCommand;
pub(super) use forget::run as forget;
pub(super) use import::run as import;
