//! Arguments of the commands.

use std::path::PathBuf;

use clap::{Args, Subcommand, builder::PossibleValuesParser};

use crate::cli::summary::SummaryForm;
use crate::registry::Purpose;
use crate::traffic::{By, Moment, Times, TrafficFilter, VISITORS, decision_words, verdict_words};

/// Commands of `traffic`.
#[derive(Clone, Debug, Subcommand)]
pub(in crate::cli) enum TrafficCommand {
    /// Prints who came, what was done with them, and how many bytes they got
    #[command(
        after_help = "What is kept by the minute (48 hours), by the hour (35 days) and by the day (UTC) is added up;
where minutes are gone, whole hours or days are told.

Example: robot-detection traffic report --since 7d --by robot,verdict
Example: robot-detection traffic report --since 2026-11-01 --site shop --csv --by operator"
    )]
    Report(ReportArgs),
    /// Counts the requests of access logs, each once
    #[command(
        after_help = "A log is known again by its first lines: one that has grown, or was packed by gzip since, goes on where
it was counted last, and a second run changes nothing. Minutes in which a server has counted the site
are left out. Sites are told apart by host, as far as the lines name one.

Exit code: 0 done, 1 a file could not be read

Example: robot-detection traffic import /var/log/nginx/access.log*
Example: robot-detection traffic import --site shop --follow /var/log/nginx/shop.log"
    )]
    Import(ImportArgs),
}

/// Arguments of `traffic import`.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct ImportArgs {
    /// Logs in the common, combined or JSON form, gzip or not
    #[arg(value_name = "FILE", required = true)]
    pub(super) files: Vec<PathBuf>,
    /// Site that all lines are of [default: by host]
    #[arg(long, value_name = "NAME")]
    pub(super) site: Option<String>,
    /// Goes on counting what is written to the last of the files
    #[arg(long)]
    pub(super) follow: bool,
    /// Prints JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of `traffic report`.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct ReportArgs {
    /// From when: 30m, 24h, 7d or 4w ago, a day or a time in UTC such as 2026-11-01T08:00Z, or all
    #[arg(long, value_name = "WHEN", default_value = "24h")]
    pub(super) since: Moment,
    /// Until when [default: now]
    #[arg(long, value_name = "WHEN")]
    pub(super) until: Option<Moment>,
    /// Only this site
    #[arg(long, value_name = "NAME")]
    pub(super) site: Option<String>,
    /// Only the robot with this id; unlisted: those that no list knows
    #[arg(long, value_name = "ID")]
    robot: Option<String>,
    /// Only robots of this operator; -: of none that is known
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    operator: Option<String>,
    /// Only robots of this purpose
    #[arg(long, value_name = "WORD", value_parser = PossibleValuesParser::new(purposes()))]
    purpose: Option<String>,
    /// Only requests with this verdict
    #[arg(long, value_name = "WORD", value_parser = PossibleValuesParser::new(verdict_words()))]
    verdict: Option<String>,
    /// Only requests with which this was done
    #[arg(long, value_name = "WORD", value_parser = PossibleValuesParser::new(decision_words()))]
    decision: Option<String>,
    /// Only these visitors
    #[arg(long, value_name = "WORD", value_parser = PossibleValuesParser::new(visitors()))]
    visitors: Option<String>,
    /// What is added up by [default: robot, operator and purpose; csv: robot; json: all]
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',')]
    pub(super) by: Vec<By>,
    /// Rows of each table, 0 for all [default: 20; csv and json: 0]
    #[arg(long, value_name = "N")]
    pub(super) top: Option<usize>,
    /// Prints JSON
    #[arg(long, conflicts_with = "csv")]
    pub(super) json: bool,
    /// Prints one table as CSV
    #[arg(long)]
    pub(super) csv: bool,
}

fn purposes() -> Vec<&'static str> {
    let words = Purpose::ROBOTS.iter().map(|purpose| purpose.as_str());
    words.collect()
}

fn visitors() -> Vec<&'static str> {
    VISITORS.iter().map(|(word, _)| *word).collect()
}

impl ReportArgs {
    pub(super) fn times(&self) -> Times {
        Times {
            since: self.since,
            until: self.until,
        }
    }

    pub(super) fn filter(&self) -> TrafficFilter {
        TrafficFilter {
            visitors: self.visitors.clone(),
            site: self.site.clone(),
            robot: self.robot.clone(),
            operator: self.operator.clone(),
            purpose: self.purpose.clone(),
            verdict: self.verdict.clone(),
            decision: self.decision.clone(),
            cause: None,
            status: None,
        }
    }

    pub(super) fn form(&self) -> SummaryForm {
        match (self.json, self.csv) {
            (true, _) => SummaryForm::Json,
            (_, true) => SummaryForm::Csv,
            _ => SummaryForm::Table,
        }
    }

    pub(super) fn groupings(&self) -> Vec<By> {
        if !self.by.is_empty() {
            return self.by.clone();
        }
        match self.form() {
            SummaryForm::Table => vec![By::Robot, By::Operator, By::Purpose],
            SummaryForm::Csv => vec![By::Robot],
            SummaryForm::Json => By::ALL.to_vec(),
        }
    }
}
