//! Summaries as tables with aligned columns.

use std::io::{self, Write};

use clap::ValueEnum;
use indicatif::{BinaryBytes, HumanCount};
use serde_json::Value;

use crate::cli::output;
use crate::summary::{Count, Grouping, Row, Summary, json_object, write_csv};

/// Columns of a summary that are omitted from the table.
const LEFT_OUT: [&str; 2] = ["name", "source"];

/// The maximum width of a text column in a table with several text columns, in characters.
const MAX_WIDTH: usize = 40;

/// The maximum width of a text column in a table with only one text column, in characters.
const MAX_WIDTH_ALONE: usize = 120;

/// Writes the totals, and a table of at most `top` rows for each grouping.
fn write_tables<S: Summary>(
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
    // Omitted rows are combined into one row, so that the numbers add up to the total.
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
    let (hits_share, bytes_share) = row.count.shares_in(all);
    let cells = row.cells.iter().zip(shown).filter(|(_, shown)| **shown);
    let width = match row.cells.len() {
        // User-Agents are the only text column, and would be useless if truncated to the usual
        // width.
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

/// Returns text without control characters, truncated to the column width.
fn text(cell: &str, width: usize) -> String {
    let clean = output::clean(cell);
    if clean.chars().count() <= width {
        return clean;
    }
    let kept: String = clean.chars().take(width - 1).collect();
    format!("{kept}\u{2026}")
}

/// Writes aligned rows of equal length; text is left-aligned, and numbers are right-aligned.
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

/// The output format of a summary.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(in crate::cli) enum SummaryForm {
    /// Table with aligned columns
    Table,
    /// One CSV table
    Csv,
    /// One JSON object
    Json,
}

/// Writes a table of at most `top` rows for each grouping; 0 means no limit.
pub(in crate::cli) fn write<S: Summary>(
    summary: &S,
    form: SummaryForm,
    groupings: &[S::By],
    top: Option<usize>,
    out: &mut impl Write,
) -> io::Result<()> {
    match form {
        SummaryForm::Table => write_tables(summary, groupings, top.unwrap_or(20), out),
        SummaryForm::Csv => write_csv(summary, groupings, top.unwrap_or(0), out),
        SummaryForm::Json => {
            let object = json_object(summary, groupings, top.unwrap_or(0));
            writeln!(out, "{:#}", Value::Object(object))
        }
    }
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
        write_tables(&tally, groupings, top, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_are_aligned_with_figures_on_the_right() {
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
    fn untrusted_text_is_cleaned_and_cut() {
        assert_eq!(text("a\x1b[2J\n", 9), "a\u{fffd}[2J\u{fffd}");
        assert_eq!(text(&"x".repeat(100), 40).chars().count(), 40);
        assert_eq!(text(&"x".repeat(40), 40), "x".repeat(40));
    }
}

#[cfg(test)]
mod form_tests {
    use serde_json::json;

    use super::*;
    use crate::cli::identify::{By, Tally, sample};

    fn written(by: &[By], form: SummaryForm, top: usize) -> String {
        let detector = sample::detector();
        let mut tally = Tally::new(&detector);
        sample::fill(&mut tally);
        let mut out = Vec::new();
        write(&tally, form, by, Some(top), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn rows_have_names_figures_and_fractions() {
        let expected = "\
robot,name,operator,purpose,source,hits,hits_share,bytes,bytes_share
alphabot,alphabot,Alpha,search,bundled,4,0.200000,400,0.037331
gammabot,gammabot,,search,bundled,2,0.100000,0,0.000000
betabot,betabot,\"'=Beta, \"\"B\"\"\",search,bundled,1,0.050000,300,0.027998
alphapreview,alphapreview,Alpha,preview,bundled,1,0.050000,10,0.000933
";
        assert_eq!(written(&[By::Robot], SummaryForm::Csv, 0), expected);
        let two = expected.lines().take(3).collect::<Vec<_>>().join("\n");
        assert_eq!(written(&[By::Robot], SummaryForm::Csv, 2).trim_end(), two);
        assert!(
            written(&[By::Total], SummaryForm::Csv, 0)
                .ends_with("\nall,20,1.000000,10715,1.000000\n")
        );
    }

    #[test]
    fn object_has_totals_and_an_array_for_each_grouping() {
        let written = written(&[By::Robot, By::Operator], SummaryForm::Json, 0);
        let value: Value = serde_json::from_str(&written).unwrap();
        assert_eq!(
            value["totals"]["people"],
            json!({"hits": 10, "hits_share": 0.5, "bytes": 10_000, "bytes_share": 10_000.0 / 10_715.0})
        );
        assert_eq!(value["totals"]["all"]["hits"], 20);
        assert_eq!(value["totals"]["no_user_agent"]["bytes"], 5);
        assert_eq!(value["robots"].as_array().unwrap().len(), 4);
        assert_eq!(value["robots"][1]["robot"], "gammabot");
        assert_eq!(value["robots"][1]["operator"], Value::Null);
        assert_eq!(value["robots"][2]["operator"], "=Beta, \"B\"");
        assert_eq!(value["operators"][0]["operator"], "Alpha");
        assert_eq!(value["operators"][0]["hits"], 5);
        assert_eq!(value.get("purposes"), None);
    }
}
