//! `verify`: the proof of one claim, and the lists of addresses that prove claims.

mod claim;
mod lists;
mod run;

pub(super) use run::run;
