//! `robots-txt`: checks, lints and evaluates robots.txt files.
//!
//! The exit code of `check` is 0 if all URLs are allowed, and of `lint` if there are no warnings;
//! otherwise 1, or 2 if the file cannot be read. `eval` exits with 0 even after lines with errors.

mod args;
mod eval;
mod evaluator;
mod preferences;
mod question;
mod run;

pub(super) use args::RobotsTxtCommand;
pub(super) use run::run;
