//! `site-robot`: runs and controls the site robot, and checks and formats its configuration files.
//!
//! All commands except `check` and `fmt` act on the database, and thus also affect a running
//! server.

mod args;
mod check;
mod command_context;
mod control;
mod exchange;
mod file_kind;
mod file_report;
mod handover;
mod questions;
mod reasons;
mod run;
mod visit;

pub(super) use args::SiteRobotCommand;
pub(super) use command_context::CommandContext;
pub(super) use reasons::reasons;
pub(super) use run::run;
pub(super) use visit::{INTERRUPTED, RunOptions, object, print, print_problems, run_anywhere};
