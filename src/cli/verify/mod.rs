//! `verify`: verifies one claim, or shows the published address lists.

mod claim;
mod lists;

pub(super) use claim::run;
