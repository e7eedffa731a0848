//! `doctor`: checks everything that `serve` will need, and advises what to do.

mod agents;
mod agreement;
mod certificates;
mod check;
mod database;
mod front;
mod heaven;
mod index_now;
mod licensing;
mod origins;
mod rules;
mod run;
mod server;
mod site_robot;
mod sites;
mod sources;
mod traps;
mod verification;

pub(super) use run::{run, validate};
pub(super) use sites::{ServedSite, sites};
pub(super) use sources::held_back_text;
