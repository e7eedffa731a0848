//! Summaries as CSV (RFC 4180), protected against formula injection in spreadsheets.

use std::io::{self, Write};

use super::Summary;

/// Writes a table with a header row for each grouping; shares are fractions of the totals.
///
/// # Errors
///
/// Returns an error if writing to `out` fails.
pub fn write<S: Summary>(
    summary: &S,
    groupings: &[S::By],
    top: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let all = summary.all();
    for by in groupings {
        let mut rows = summary.rows(*by);
        rows.truncate(top);
        let columns = rows.columns.join(",");
        writeln!(out, "{columns},hits,hits_share,bytes,bytes_share")?;
        for row in &rows.rows {
            for cell in &row.cells {
                write!(out, "{},", csv_cell(cell.as_deref().unwrap_or_default()))?;
            }
            let (hits_share, bytes_share) = row.count.shares_in(all);
            let (hits, bytes) = (row.count.hits, row.count.bytes);
            writeln!(out, "{hits},{hits_share:.6},{bytes},{bytes_share:.6}")?;
        }
    }
    Ok(())
}

/// Returns a CSV row whose cells all programs treat as text.
pub fn row(cells: impl IntoIterator<Item = String>) -> String {
    let cells: Vec<_> = cells.into_iter().map(|cell| csv_cell(&cell)).collect();
    cells.join(",") + "\n"
}

/// Returns a CSV cell that all programs treat as text.
///
/// Cells contain User-Agents, which visitors choose freely, and spreadsheets execute text that
/// starts like a formula, even with full-width signs. A leading apostrophe prevents this (OWASP,
/// CSV injection).
pub fn csv_cell(cell: &str) -> String {
    let clean = clean(cell);
    let is_formula = clean.trim_start().starts_with([
        '=', '+', '-', '@', '\u{fffd}', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
    ]);
    let safe = if is_formula {
        format!("'{clean}")
    } else {
        clean
    };
    // Semicolons separate cells in many Excel locales; apostrophes are quotes in some programs.
    if safe.contains([',', '"', '\'', ';']) || safe.trim() != safe {
        return format!("\"{}\"", safe.replace('"', "\"\""));
    }
    safe
}

/// Replaces each control character in a text with U+FFFD.
fn clean(text: &str) -> String {
    let clean = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.chars().map(clean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_never_formulas_and_stay_in_their_column() {
        for (cell, expected) in [
            ("plain", "plain"),
            ("", ""),
            ("a-b=c", "a-b=c"),
            ("=1+1", "\"'=1+1\""),
            ("+1", "\"'+1\""),
            ("-1", "\"'-1\""),
            ("@SUM(A1)", "\"'@SUM(A1)\""),
            (" =1", "\"' =1\""),
            ("\t=1", "\"'\u{fffd}=1\""),
            ("\u{ff1d}1", "\"'\u{ff1d}1\""),
            ("a,b", "\"a,b\""),
            ("a;b", "\"a;b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("a\r\nb", "a\u{fffd}\u{fffd}b"),
        ] {
            assert_eq!(csv_cell(cell), expected, "{cell:?}");
        }
    }
}
