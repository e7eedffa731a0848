//! `traffic`: reports, imports and deletes visitor statistics.

mod args;
mod counter;
mod forget;
mod import;
mod paths;
mod run;

pub(super) use args::TrafficCommand;
pub(super) use run::run;
