//! `registry`: shows and changes the robots table.

mod change;
mod list;
mod refresh;
mod run;
mod show;

pub(super) use run::run;
