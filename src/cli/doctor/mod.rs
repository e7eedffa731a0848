//! `doctor`: checks everything that `serve` will need, and says what to do.

mod certificates;
mod check;
mod configuration;
mod database;
mod heaven;
mod robots_txt;
mod run;
mod server;
mod site_robot;
mod sites;
mod sources;
mod verification;

pub(super) use run::run;
pub(super) use sources::held_back_text;
