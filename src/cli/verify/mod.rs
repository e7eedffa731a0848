//! `verify`: proves one claim, or shows the lists of addresses that prove claims.

mod claim;
mod lists;
mod run;

pub(super) use run::run;
