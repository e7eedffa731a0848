//! `verify`: proves one claim, or shows the lists of addresses that prove claims.

mod claim;
mod lists;

pub(super) use claim::run;
