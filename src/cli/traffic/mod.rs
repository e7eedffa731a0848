//! `traffic`: what was counted of visitors.

mod args;
mod figures;
mod moment;
mod run;

pub(super) use args::TrafficCommand;
pub(super) use run::run;
