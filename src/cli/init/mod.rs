//! `init` and `completions`: write an initial configuration file and shell completions.
//!
//! Questions and answers are in `answers`, which does not depend on a terminal.

mod answers;
mod ask;
mod run;

pub(super) use answers::{SCHEDULE, fixed_beginning};
pub(super) use run::{completions, run};
