//! `rules`: manages live rules, and pauses and resumes enforcement.

mod args;
mod run;

pub(super) use args::RulesCommand;
pub(super) use run::run;
