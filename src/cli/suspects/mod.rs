//! `suspects`: who of those who say that they are people is none.

mod args;
mod cards;
mod report;

pub(super) use args::SuspectsCommand;
pub(super) use cards::cards;
pub(super) use report::run;
