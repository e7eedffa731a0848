//! `doctor`: checks everything that `serve` requires, and gives advice about how to fix errors.

mod agents;
mod agreement;
mod check;
mod database;
mod front;
mod heaven;
mod licensing;
mod rules;
mod run;
mod server;
mod site_robot;
mod sources;
mod verification;

pub(super) use check::{ServedSite, sites};
pub(super) use run::{run, validate};
pub(super) use sources::held_back_text;
