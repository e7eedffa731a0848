//! `rules`: manages live rules, and the pause of enforcement.

mod args;
mod run;

pub(super) use args::RulesCommand;
pub(super) use run::run;
