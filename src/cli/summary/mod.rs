//! Sums of requests, printed for people, spreadsheets and programs.

mod form;
mod table;

pub(super) use form::{SummaryForm, write};
