//! `identify`: identifies the robot behind each User-Agent or log line, and summarizes whole logs.
//!
//! Without `--summary`, one line is printed for each input line: the robot's id, `-` if no robot
//! was identified, or `?` if the line does not match the format. An unreadable input is reported
//! and skipped; the exit code is then 1. With `--suspects`, all lines are evaluated together to
//! find suspects.

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
