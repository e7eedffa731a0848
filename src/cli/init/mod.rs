//! `init` and `completions`: a configuration file to begin with.
//!
//! What is asked and what the answers make stands in `answers`, and knows no terminal.

mod answers;
mod ask;
mod run;

pub(super) use answers::{SCHEDULE, fixed_beginning};
pub(super) use run::{completions, run};
