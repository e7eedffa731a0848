//! Summaries of requests, printed as tables, CSV or JSON.

mod table;

pub(super) use table::{SummaryForm, write};
