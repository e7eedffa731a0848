//! `identify --suspects`: who of the people of a log is none.
//!
//! The lines of all inputs are judged as a server would have judged their requests, by the times that
//! they tell; what was flagged at any time is printed. Memory does not grow with the log.

mod print;
mod read;

pub(super) use read::run;
