//! The forms in which a summary is printed.

use std::io::{self, Write};

use clap::ValueEnum;
use serde_json::Value;

use crate::summary::{Summary, json_object, write_csv};

use super::table;

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
        SummaryForm::Csv => write_csv(summary, groupings, top.unwrap_or(0), out),
        SummaryForm::Json => {
            let object = json_object(summary, groupings, top.unwrap_or(0));
            writeln!(out, "{:#}", Value::Object(object))
        }
    }
}

#[cfg(test)]
mod tests {
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
