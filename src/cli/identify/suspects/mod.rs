//! `identify --suspects`: finds requests in a log with a browser's User-Agent that look automated.
//!
//! The lines of all inputs are evaluated as a server would evaluate their requests, at the times in
//! the log. Clients flagged at any time are printed. Memory use does not grow with the log.

mod print;
mod read;

pub(super) use read::run;
