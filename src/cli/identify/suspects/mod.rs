//! `identify --suspects`: finds requests in a log that have a browser's User-Agent but look
//! automated.
//!
//! The lines of all inputs are evaluated as a server would have evaluated the requests at the times
//! in the log. Clients flagged at any time are printed. Memory use does not grow with the log.

mod print;
mod read;

pub(super) use read::run;
