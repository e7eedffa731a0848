//! `doctor`: checks everything that `serve` will need, and says what to do.

mod certificates;
mod check;
mod configuration;
mod database;
mod robots_txt;
mod run;
mod server;
mod sources;
mod verification;

pub(super) use run::run;
