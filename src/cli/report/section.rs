//! Tables of a report, printed as text, JSON or an HTML page that needs no other file.

use std::fmt;
use std::io::{self, Write};

use askama::Template;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use indicatif::{BinaryBytes, HumanCount};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::cli::output::clean;
use crate::summary::{Count, Rows};
use crate::suspicion::percent;

/// The maximum length of a cell, in characters.
const MAX_CELL: usize = 200;

/// The maximum width of a text column in a terminal, in characters.
const MAX_WIDTH: usize = 60;

/// A table with a heading.
#[derive(Clone, Debug)]
pub(super) struct Section {
    /// Name of the table in JSON, and its anchor in HTML.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// Sentence that explains the table.
    pub(super) about: String,
    pub(super) columns: Vec<&'static str>,
    pub(super) rows: Vec<Vec<Cell>>,
    /// The number of further rows.
    pub(super) more: usize,
    /// The table as JSON, if it contains more than the rows.
    pub(super) value: Option<Value>,
    /// Text instead of an empty table.
    pub(super) empty: &'static str,
}

/// A cell of a table.
#[derive(Clone, Debug)]
pub(super) enum Cell {
    Text(String),
    Number(u64),
    Bytes(u64),
    /// A share from 0 to 1.
    Share(f64),
    None,
}

impl Cell {
    /// Creates a cell for text from visitors, without control characters and cut to 200 characters.
    pub(super) fn text(text: &str) -> Self {
        Self::Text(cut(&clean(text), MAX_CELL))
    }

    pub(super) fn bytes(bytes: &[u8]) -> Self {
        // Only the first bytes can be in the cell.
        let bytes = bytes.get(..4 * MAX_CELL).unwrap_or(bytes);
        Self::text(&String::from_utf8_lossy(bytes))
    }

    /// Returns `true` for a cell that is aligned on the right.
    pub(super) fn is_number(&self) -> bool {
        !matches!(self, Self::Text(_) | Self::None)
    }

    /// Returns the length of the cell's bar, from 1 to 100, if the cell is a share.
    pub(super) fn bar(&self) -> Option<u8> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "casting a float saturates at the bounds of the integer"
        )]
        match self {
            Self::Share(share) if *share > 0.0 => Some((share * 100.0).clamp(1.0, 100.0) as u8),
            _ => None,
        }
    }

    fn value(&self) -> Value {
        match self {
            Self::Text(text) => json!(text),
            Self::Number(number) | Self::Bytes(number) => json!(number),
            Self::Share(share) => json!(share),
            Self::None => Value::Null,
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => HumanCount(*number).fmt(f),
            Self::Bytes(bytes) => BinaryBytes(*bytes).fmt(f),
            Self::Share(share) => f.write_str(&percent(*share)),
            Self::None => f.write_str("-"),
        }
    }
}

impl Section {
    pub(super) fn new(id: &'static str, title: &'static str, about: impl Into<String>) -> Self {
        Self {
            id,
            title,
            about: about.into(),
            columns: Vec::new(),
            rows: Vec::new(),
            more: 0,
            value: None,
            empty: "None.",
        }
    }

    /// Sets the text that is shown if something was not examined, unless it was.
    pub(super) fn unless(mut self, is_examined: bool, text: &'static str) -> Self {
        if !is_examined {
            self.empty = text;
        }
        self
    }

    pub(super) fn with_columns(mut self, columns: &[&'static str]) -> Self {
        self.columns = columns.to_vec();
        self
    }

    pub(super) fn with_rows(mut self, rows: impl IntoIterator<Item = Vec<Cell>>) -> Self {
        self.rows = rows.into_iter().collect();
        self
    }

    /// Fills the table with at most `top` rows of JSON values; 0 means all.
    pub(super) fn with_values(
        mut self,
        values: Vec<Value>,
        top: usize,
        row: impl Fn(&Value) -> Vec<Cell>,
    ) -> Self {
        let top = if top == 0 { usize::MAX } else { top };
        self.rows = values.iter().take(top).map(row).collect();
        self.more = values.len().saturating_sub(top);
        self.value = Some(values.into());
        self
    }

    /// Fills the table with at most `top` rows of counts, and their shares in all requests.
    pub(super) fn with_counts(mut self, mut counts: Rows, all: Count, top: usize) -> Self {
        (self.more, _) = counts.truncate(top);
        // A log without sizes would have a column of zeros.
        let has_bytes = all.bytes > 0;
        let figures = ["requests", "share", "bytes", "share of bytes"];
        let figures = figures.iter().take(if has_bytes { 4 } else { 2 });
        self.columns = counts.columns.iter().chain(figures).copied().collect();
        self.rows = (counts.rows.into_iter())
            .map(|row| {
                let (share, bytes_share) = row.count.shares_in(all);
                let cell = |cell: Option<String>| cell.map_or(Cell::None, |text| Cell::text(&text));
                let mut cells: Vec<_> = row.cells.into_iter().map(cell).collect();
                cells.extend([Cell::Number(row.count.hits), Cell::Share(share)]);
                if has_bytes {
                    cells.extend([Cell::Bytes(row.count.bytes), Cell::Share(bytes_share)]);
                }
                cells
            })
            .collect();
        self
    }

    /// Removes columns.
    pub(super) fn without(mut self, names: &[&str]) -> Self {
        for name in names {
            if let Some(at) = self.columns.iter().position(|column| column == name) {
                self.columns.remove(at);
                for row in &mut self.rows {
                    row.remove(at);
                }
            }
        }
        self
    }

    /// Returns the rows as an array of JSON objects.
    pub(super) fn to_json(&self) -> Value {
        if let Some(value) = &self.value {
            return value.clone();
        }
        let object = |row: &Vec<Cell>| {
            let cells = self.columns.iter().zip(row);
            let named = cells.map(|(name, cell)| (name.replace([' ', '.'], "_"), cell.value()));
            Value::Object(named.collect::<Map<_, _>>())
        };
        self.rows.iter().map(object).collect()
    }

    /// Writes the table as text; numbers are aligned on the right.
    pub(super) fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "\n{}", self.title)?;
        if !self.about.is_empty() {
            writeln!(out, "{}", self.about)?;
        }
        if self.rows.is_empty() {
            return writeln!(out, "  {}", self.empty);
        }
        let header = self.columns.iter().map(|column| column.to_uppercase());
        let mut lines = vec![header.collect::<Vec<_>>()];
        let shown = |cell: &Cell| match cell {
            // A single column may be as long as a User-Agent.
            Cell::Text(text) if self.columns.len() > 3 => cut(text, MAX_WIDTH),
            cell => cell.to_string(),
        };
        lines.extend(self.rows.iter().map(|row| row.iter().map(shown).collect()));
        let widths: Vec<_> = (0..self.columns.len())
            .map(|column| {
                let cells = lines.iter().filter_map(|line| line.get(column));
                cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
            })
            .collect();
        let first = self.rows.first();
        for line in &lines {
            let cells = line.iter().zip(&widths).enumerate();
            let cells: Vec<_> = cells
                .map(|(column, (cell, width))| {
                    let is_number = first.and_then(|row| row.get(column));
                    if is_number.is_some_and(Cell::is_number) {
                        format!("{cell:>width$}")
                    } else {
                        format!("{cell:<width$}")
                    }
                })
                .collect();
            writeln!(out, "  {}", cells.join("  ").trim_end())?;
        }
        if self.more > 0 {
            writeln!(out, "  ({} more; use --top 0 to print all)", self.more)?;
        }
        Ok(())
    }
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most - 1).collect();
    format!("{kept}\u{2026}")
}

/// The style sheet, which the page contains.
const STYLE: &str = include_str!("../../../templates/report.css");

/// A report, to be printed in any form.
#[derive(Debug, Template)]
#[template(path = "report.html")]
pub(super) struct Report {
    pub(super) title: &'static str,
    /// Sentences about the period, the input and the limits of the report.
    pub(super) facts: Vec<String>,
    pub(super) sections: Vec<Section>,
    /// Numbers of the lines that were read, with their names in JSON.
    pub(super) numbers: Vec<(&'static str, u64)>,
    /// Limits of the report, one sentence each.
    pub(super) limits: Vec<String>,
}

impl Report {
    fn style() -> &'static str {
        STYLE
    }

    /// Returns the hash by which the page's policy permits the style sheet.
    fn style_hash() -> String {
        BASE64_STANDARD.encode(Sha256::digest(STYLE))
    }
}
