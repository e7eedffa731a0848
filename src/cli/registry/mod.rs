//! `registry`: shows and changes the robots table.

mod args;
mod export;
mod refresh;
mod run;
mod show;

pub(super) use args::RegistryCommand;
pub(super) use run::run;
