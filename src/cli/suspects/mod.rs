//! `suspects`: reports requests that claim to be from a browser but look automated.

mod cards;
mod report;

pub(super) use cards::cards;
pub(super) use report::SuspectsCommand;
pub(super) use report::run;
