//! `identify`: the robot behind a User-Agent or a line of a log, and sums of whole logs.
//!
//! Without `--summary` each line of the input gives one line: the robot's id,
//! `-` where no robot is known, `?` where the line is not of its form. An input
//! that cannot be read is reported and the others are read; the exit code is 1 then. With
//! `--suspects` all lines together are judged: who of those who seem to be people is a fleet.

mod answer_writer;
mod args;
mod input;
mod proving_sink;
mod run;
mod suspects;
mod tally;
mod usage;

#[cfg(test)]
pub(super) use args::By;
pub(super) use args::IdentifyArgs;
pub(super) use input::Input;
pub(super) use input::bar;
pub(super) use run::run;
#[cfg(test)]
pub(super) use tally::{Tally, sample};
