//! What can be printed.

use std::io::{self, Write};

use clap::ValueEnum;

use super::{Count, Rows, csv, json, table};

/// Form of a summary.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(in crate::cli) enum SummaryForm {
    /// Aligned columns, for people
    Table,
    /// One table, for spreadsheets
    Csv,
    /// One object, for programs
    Json,
}

/// Sums that can be printed.
pub(in crate::cli) trait Summary {
    /// What they can be added up by.
    type By: Grouping;

    /// Returns the count of each kind of visitor.
    fn totals(&self) -> Vec<(&'static str, Count)>;

    /// Returns the rows of a table.
    fn rows(&self, by: Self::By) -> Rows;

    /// Returns the count of all.
    fn all(&self) -> Count {
        let mut all = Count::default();
        for (_, count) in self.totals() {
            all.add(count);
        }
        all
    }
}

/// What a summary adds up by.
pub(in crate::cli) trait Grouping: Copy + PartialEq {
    /// Kinds of visitors.
    const TOTAL: Self;

    /// Returns the name of an array of them.
    fn plural(self) -> &'static str;
}

/// Writes a table for each grouping, of at most so many rows; 0 stands for all.
pub(in crate::cli) fn write<S: Summary>(
    summary: &S,
    form: SummaryForm,
    groupings: &[S::By],
    top: Option<usize>,
    out: &mut impl Write,
) -> io::Result<()> {
    match form {
        SummaryForm::Table => table::write(summary, groupings, top.unwrap_or(20), out),
        SummaryForm::Csv => csv::write(summary, groupings, top.unwrap_or(0), out),
        SummaryForm::Json => json::write(summary, groupings, top.unwrap_or(0), out),
    }
}
