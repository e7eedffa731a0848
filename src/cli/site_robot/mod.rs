//! `site-robot`: runs and controls the site robot, checks and formats its files.
//!
//! All but `check` and `fmt` works on the database, and so on a running server too.

mod args;
mod check;
mod checked;
mod control;
mod exchange;
mod fmt;
mod handed;
mod input;
mod kind;
mod opened;
mod questions;
mod run;
mod visit;
mod withdraw;

pub(super) use args::SiteRobotCommand;
pub(super) use opened::Opened;
pub(super) use run::run;
