//! Sums of requests, printed for people, spreadsheets and programs.

mod csv;
mod json;
mod rows;
#[expect(clippy::module_inception, reason = "the file is named for its trait")]
mod summary;
mod table;

pub(super) use rows::{Count, Row, Rows};
pub(super) use summary::{Grouping, Summary, SummaryForm, write};
