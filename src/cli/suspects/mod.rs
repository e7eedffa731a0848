//! `suspects`: who of those who say that they are people is none.

mod cards;
mod report;

pub(super) use cards::cards;
pub(super) use report::SuspectsCommand;
pub(super) use report::run;
