//! Request totals as rows, CSV and JSON.
//!
//! Commands, console pages and JSON responses all use this module, so that their tables match.

mod csv;
mod json;
mod rows;

pub use csv::{csv_cell, row as csv_row, write as write_csv};
pub use json::object as json_object;
pub use rows::{Count, Row, Rows};
pub use rows::{Grouping, Summary};
