//! `identify`: which robot is behind a User-Agent, a line of a log, a whole log.
//!
//! Without `--summary` each line of the input gives one line: the robot's id,
//! `-` where no robot is known, `?` where the line is not of its form. An input
//! that cannot be read is told and the others are read; the exit code is 1 then.

mod answer;
mod csv;
mod human;
mod input;
mod json;
mod progress;
mod proven;
mod run;
mod table;
mod tally;
mod usage;

pub(super) use answer::object;
pub(super) use run::run;
