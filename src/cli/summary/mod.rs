//! Sums of requests, printed for people, spreadsheets and programs.

mod table;

pub(super) use table::{SummaryForm, write};
