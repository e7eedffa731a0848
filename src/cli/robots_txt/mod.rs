//! `robots-txt`: checks, lints and evaluates robots.txt files.
//!
//! `check` and `lint` answer with the exit code as well: 0 where all URLs are
//! allowed or nothing is to be warned of, 1 where one is not or something is,
//! 2 where the file cannot be read. `eval` ends with 0 whatever its lines say.

mod args;
mod eval;
mod evaluator;
mod question;
mod run;

pub(super) use args::RobotsTxtCommand;
pub(super) use run::run;
