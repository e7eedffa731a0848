//! `traffic`: what was counted of visitors.

mod args;
mod counter;
mod head;
mod import;
mod paths;
mod run;

pub(super) use args::TrafficCommand;
pub(super) use run::run;
