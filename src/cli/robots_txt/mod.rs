//! `robots-txt`: checks, lints and evaluates robots.txt files.
//!
//! The exit code of `check` and `lint` is 0 if all URLs are allowed or there are no warnings, 1 if
//! not, and 2 if the file cannot be read. `eval` ends with 0 even after lines with errors.

mod args;
mod eval;
mod evaluator;
mod question;
mod run;

pub(super) use args::RobotsTxtCommand;
pub(super) use run::run;
