//! The summary for people: aligned columns.

use std::io::{self, Write};

use indicatif::{BinaryBytes, HumanCount};

use crate::cli::output;
use crate::summary::{Count, Grouping, Row, Summary};

/// Columns that the table for people leaves out.
const LEFT_OUT: [&str; 2] = ["name", "source"];

/// Widest column of text beside others, in characters.
const MAX_WIDTH: usize = 40;

/// Widest column of text that stands alone.
const MAX_WIDTH_ALONE: usize = 120;

/// Writes the totals and a table for each grouping, of at most `top` rows.
pub(super) fn write<S: Summary>(
    summary: &S,
    groupings: &[S::By],
    top: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let all = summary.all();
    grid(summary, S::By::TOTAL, 0, all, out)?;
    for by in groupings.iter().filter(|by| **by != S::By::TOTAL) {
        writeln!(out)?;
        grid(summary, *by, top, all, out)?;
    }
    Ok(())
}

fn grid<S: Summary>(
    summary: &S,
    by: S::By,
    top: usize,
    all: Count,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut rows = summary.rows(by);
    // What is cut off is still told in sum, so that the figures add up to all.
    let (gone, rest) = rows.truncate(top);
    let shown: Vec<bool> = rows
        .columns
        .iter()
        .map(|name| rows.columns.len() == 1 || !LEFT_OUT.contains(name))
        .collect();
    let texts = shown.iter().filter(|shown| **shown).count();
    let has_bytes = all.bytes > 0;
    let mut lines = vec![header(rows.columns, &shown, has_bytes)];
    if gone > 0 {
        let mut cells = vec![Some(String::new()); rows.columns.len()];
        cells.splice(..1, [Some(format!("({gone} more)"))]);
        rows.rows.push(Row { cells, count: rest });
    }
    for row in &rows.rows {
        lines.push(line(row, &shown, all, has_bytes));
    }
    aligned(&lines, texts, out)
}

fn header(columns: &[&str], shown: &[bool], has_bytes: bool) -> Vec<String> {
    let figures = ["hits", "share", "bytes", "share"];
    let figures = figures.into_iter().take(if has_bytes { 4 } else { 2 });
    let columns = columns.iter().zip(shown);
    let columns = columns.filter_map(|(name, shown)| shown.then_some(*name));
    columns.chain(figures).map(str::to_uppercase).collect()
}

fn line(row: &Row, shown: &[bool], all: Count, has_bytes: bool) -> Vec<String> {
    let (hits_share, bytes_share) = row.count.shares_of(all);
    let cells = row.cells.iter().zip(shown).filter(|(_, shown)| **shown);
    let width = match row.cells.len() {
        // User-Agents stand alone, and are of no use when cut short.
        1 => MAX_WIDTH_ALONE,
        _ => MAX_WIDTH,
    };
    let mut line: Vec<_> = cells
        .map(|(cell, _)| text(cell.as_deref().unwrap_or("-"), width))
        .collect();
    line.push(HumanCount(row.count.hits).to_string());
    line.push(percent(hits_share));
    if has_bytes {
        line.push(BinaryBytes(row.count.bytes).to_string());
        line.push(percent(bytes_share));
    }
    line
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Returns text without control characters and no wider than a column.
fn text(cell: &str, width: usize) -> String {
    let clean = output::clean(cell);
    if clean.chars().count() <= width {
        return clean;
    }
    let kept: String = clean.chars().take(width - 1).collect();
    format!("{kept}\u{2026}")
}

/// Writes lines of equally many cells, texts to the left and figures to the right.
fn aligned(lines: &[Vec<String>], texts: usize, out: &mut impl Write) -> io::Result<()> {
    let columns = lines.first().map_or(0, Vec::len);
    let widths: Vec<_> = (0..columns)
        .map(|column| {
            let cells = lines.iter().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    for line in lines {
        let cells = line.iter().zip(&widths).enumerate();
        let cells: Vec<_> = cells
            .map(|(column, (cell, width))| {
                if column < texts {
                    format!("{cell:<width$}")
                } else {
                    format!("{cell:>width$}")
                }
            })
            .collect();
        writeln!(out, "{}", cells.join("  ").trim_end())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::identify::{By, Tally, sample};

    fn written(groupings: &[By], top: usize) -> String {
        let detector = sample::detector();
        let mut tally = Tally::new(&detector);
        sample::fill(&mut tally);
        let mut out = Vec::new();
        write(&tally, groupings, top, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_are_aligned_and_figures_stand_to_the_right() {
        let expected = "\
TOTAL          HITS    SHARE      BYTES    SHARE
people           10   50.0 %   9.77 KiB   93.3 %
shared            0    0.0 %        0 B    0.0 %
robots            8   40.0 %      710 B    6.6 %
unlisted          0    0.0 %        0 B    0.0 %
no-user-agent     1    5.0 %        5 B    0.0 %
unreadable        1    5.0 %        0 B    0.0 %
all              20  100.0 %  10.46 KiB  100.0 %

ROBOT     OPERATOR  PURPOSE  HITS   SHARE  BYTES  SHARE
alphabot  Alpha     search      4  20.0 %  400 B  3.7 %
gammabot  -         search      2  10.0 %    0 B  0.0 %
(2 more)                        2  10.0 %  310 B  2.9 %

PURPOSE  HITS   SHARE  BYTES  SHARE
search      7  35.0 %  700 B  6.5 %
preview     1   5.0 %   10 B  0.1 %
";
        let text = written(&[By::Robot, By::Purpose], 2);
        assert_eq!(text, expected);
    }

    #[test]
    fn text_from_outside_is_clean_and_short() {
        assert_eq!(text("a\x1b[2J\n", 9), "a\u{fffd}[2J\u{fffd}");
        assert_eq!(text(&"x".repeat(100), 40).chars().count(), 40);
        assert_eq!(text(&"x".repeat(40), 40), "x".repeat(40));
    }
}
