//! The summary for spreadsheets: CSV (RFC 4180) without anything that a spreadsheet would run.

use std::io::{self, Write};

use crate::cli::output;

use super::Summary;

/// Writes one table, a header first; shares are fractions of all lines and bytes.
pub(super) fn write<S: Summary>(
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
                write!(out, "{},", quoted(cell.as_deref().unwrap_or_default()))?;
            }
            let (hits_share, bytes_share) = row.count.shares_of(all);
            let (hits, bytes) = (row.count.hits, row.count.bytes);
            writeln!(out, "{hits},{hits_share:.6},{bytes},{bytes_share:.6}")?;
        }
    }
    Ok(())
}

/// Returns a cell that is text to every reader.
///
/// Visitors choose the User-Agents in it, and spreadsheets run text that begins like a formula,
/// also with full-width signs; an apostrophe before it stops that (OWASP, CSV injection).
fn quoted(cell: &str) -> String {
    let clean = output::clean(cell);
    let is_formula = clean.trim_start().starts_with([
        '=', '+', '-', '@', '\u{fffd}', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
    ]);
    let safe = if is_formula {
        format!("'{clean}")
    } else {
        clean
    };
    // Semicolons separate cells in many of Excel's locales, apostrophes quote in some programs.
    if safe.contains([',', '"', '\'', ';']) || safe.trim() != safe {
        return format!("\"{}\"", safe.replace('"', "\"\""));
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::identify::{By, Tally, sample};

    fn written(by: By, top: usize) -> String {
        let detector = sample::detector();
        let mut tally = Tally::new(&detector);
        sample::fill(&mut tally);
        let mut out = Vec::new();
        write(&tally, &[by], top, &mut out).unwrap();
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
        assert_eq!(written(By::Robot, 0), expected);
        let two = expected.lines().take(3).collect::<Vec<_>>().join("\n");
        assert_eq!(written(By::Robot, 2).trim_end(), two);
        assert!(written(By::Total, 0).ends_with("\nall,20,1.000000,10715,1.000000\n"));
    }

    #[test]
    fn no_cell_is_a_formula_or_leaves_its_column() {
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
            assert_eq!(quoted(cell), expected, "{cell:?}");
        }
    }
}
