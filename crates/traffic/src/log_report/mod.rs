//! Counts the requests in access logs for reports.
//!
//! Logs are read twice: [`Finder`] finds suspects and collects the robots' claims, and [`Counter`]
//! or [`PeopleCounter`] counts every request in one class. Memory use does not grow with the logs.

mod counter;
mod findings;
mod merge;
mod pages;
mod people;

pub use counter::{Counter, Hour, SampledRequest};
pub use findings::{Claims, Finder, Findings};
pub use merge::{LineCounts, Logs, RequestSink};
pub use pages::Pages;
pub use people::{PeopleCounter, REASONS};
