//! Arguments of the `traffic` command.

use std::{path::PathBuf, sync::LazyLock};

use clap::{
    ArgGroup, Args, Subcommand, ValueEnum,
    builder::{PossibleValue, PossibleValuesParser},
};

use crate::cli::summary::SummaryForm;
use crate::registry::Purpose;
use crate::store::AddressNetwork;
use crate::traffic::{
    By, Moment, TimeRange, TrafficFilter, VISITORS, decision_words, verdict_words,
};

/// Subcommands of the `traffic` command.
#[derive(Clone, Debug, Subcommand)]
pub(in crate::cli) enum TrafficCommand {
    /// Report visitors, decisions and bytes
    #[command(
        after_help = "Adds up the counters stored by minute (for 48 hours), by hour (for 35 days) and by day (UTC). If the
minutes of a period are no longer stored, whole hours or days are reported.

Example: robot-detection traffic report --since 7d --by robot,verdict
Example: robot-detection traffic report --since 2026-11-01 --site shop --csv --by operator
Example: robot-detection traffic report --since 7d --by pattern --path '/docs/*'"
    )]
    Report(Box<ReportArgs>),
    /// Import requests from access logs; no request is imported twice
    #[command(
        after_help = "A log is recognised by its first lines: if a log has grown or was compressed with gzip, the import continues
where the last import ended; a second import of the same log changes nothing. Minutes in which a server has
counted requests to the site are skipped. Sites are distinguished by host if the log contains hosts. Before
the first import of a log, the recognised fields are shown; a log without a readable line or without a
User-Agent field is rejected.

Exit code: 0 done, 1 a file could not be read or was rejected

Example: robot-detection traffic import /var/log/nginx/access.log*
Example: robot-detection traffic import --undo 5f2b8c0d9e1a
Example: robot-detection traffic import --site shop --follow /var/log/nginx/shop.log"
    )]
    Import(ImportArgs),
    /// Delete stored visitor data: individual requests, and paths
    #[command(
        after_help = "Deletes the data that matches all options. --address also matches requests stored only with their network
(/24 or /48), because their exact address is unknown; --dry-run shows the number of these requests. Paths are
deleted by robot and time, in whole hours and days, but not by address, because they are stored without
addresses. The counters by minute, hour and day are kept; they contain no addresses. An entry without the
address is added to the audit log. A running server stores new requests within 5 seconds and paths within a
minute: repeat the command after that.

Example: robot-detection traffic forget --address 203.0.113.7 --dry-run
Example: robot-detection traffic forget --robot gptbot --before 7d"
    )]
    Forget(ForgetArgs),
}

/// Arguments of the `traffic forget` command.
#[derive(Args, Clone, Debug)]
#[command(group = ArgGroup::new("what").required(true).multiple(true))]
pub(in crate::cli) struct ForgetArgs {
    /// Delete requests from this address or network, such as `203.0.113.7` or `2001:db8::/48`
    #[arg(long, value_name = "ADDRESS", group = "what")]
    pub(super) address: Option<AddressNetwork>,
    /// Delete requests from this robot
    #[arg(long, value_name = "ID", group = "what")]
    pub(super) robot: Option<String>,
    /// Delete requests made before this time: an age (7d), a UTC day or time such as
    /// 2026-11-01T08:00Z, or now
    #[arg(long, value_name = "WHEN", group = "what")]
    pub(super) before: Option<Moment>,
    /// Count the matching data without deleting it
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of the `traffic import` command.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct ImportArgs {
    /// Logs in the common, combined or JSON format, uncompressed or gzip
    #[arg(value_name = "FILE", required_unless_present = "undo")]
    pub(super) files: Vec<PathBuf>,
    /// Subtract the counts added by the import with this id in the last week; paths are kept
    #[arg(long, value_name = "ID", conflicts_with_all = ["files", "site", "follow", "json"])]
    pub(super) undo: Option<String>,
    /// Import a log without a User-Agent field; all of its visitors are counted as nameless
    #[arg(long)]
    pub(super) without_user_agent: bool,
    /// Site to assign all lines to [default: determined by host]
    #[arg(long, value_name = "NAME")]
    pub(super) site: Option<String>,
    /// After the import, keep running and import lines that are appended to the last FILE
    #[arg(long)]
    pub(super) follow: bool,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of the `traffic report` command.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct ReportArgs {
    /// Start of the period: an age (30m, 24h, 7d, 4w), a UTC day or time such as 2026-11-01T08:00Z,
    /// or all
    #[arg(long, value_name = "WHEN", default_value = "24h")]
    pub(super) since: Moment,
    /// End of the period, as for --since [default: now]
    #[arg(long, value_name = "WHEN")]
    pub(super) until: Option<Moment>,
    /// Report only this site
    #[arg(long, value_name = "NAME")]
    pub(super) site: Option<String>,
    /// Report only the robot with this id; unlisted: robots that are not in any registry
    #[arg(long, value_name = "ID")]
    pub(super) robot: Option<String>,
    /// Report only robots from this operator; -: robots without a known operator
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    operator: Option<String>,
    /// Report only robots with this purpose
    #[arg(long, value_name = "WORD", value_parser = PossibleValuesParser::new(purposes()))]
    purpose: Option<String>,
    /// Report only requests with this verdict
    #[arg(long, value_name = "WORD", value_parser = PossibleValuesParser::new(verdict_words()))]
    verdict: Option<String>,
    /// Report only requests with this decision
    #[arg(long, value_name = "WORD", value_parser = PossibleValuesParser::new(decision_words()))]
    decision: Option<String>,
    /// Report only visitors of this kind
    #[arg(long, value_name = "WORD", value_parser = PossibleValuesParser::new(visitors()))]
    visitors: Option<String>,
    /// Grouping of the report [default: robot, operator and purpose; csv: robot; json: all but
    /// paths]
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',')]
    by: Vec<Group>,
    /// Report only this path, or paths that match a pattern such as '/docs/*'; requires --by path,
    /// pattern or form
    #[arg(long, value_name = "PATTERN")]
    pub(super) path: Option<String>,
    /// Maximum number of rows in each table, 0 for all rows [default: 20; csv and json: 0]
    #[arg(long, value_name = "N")]
    pub(super) top: Option<usize>,
    /// Print JSON
    #[arg(long, conflicts_with = "csv")]
    pub(super) json: bool,
    /// Print one table as CSV
    #[arg(long)]
    pub(super) csv: bool,
}

/// The grouping of the counts or paths in a report.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Group {
    Count(By),
    Path(PathBy),
}

/// A grouping of paths, for which counts are approximate.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(in crate::cli) enum PathBy {
    /// Group by most requested path (approximate); for human visitors, only patterns
    Path,
    /// Group by pattern of two segments, such as /docs/guide/* (approximate)
    Pattern,
    /// Group by format (HTML, Markdown or feed), based on the paths that robots request
    /// (approximate)
    Form,
}

fn purposes() -> Vec<&'static str> {
    let words = Purpose::ROBOTS.iter().map(|purpose| purpose.as_str());
    words.collect()
}

fn visitors() -> Vec<&'static str> {
    VISITORS.iter().map(|(word, _)| *word).collect()
}

impl ReportArgs {
    pub(super) fn times(&self) -> TimeRange {
        TimeRange {
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
        let counts = self.by.iter().filter_map(|group| match group {
            Group::Count(by) => Some(*by),
            Group::Path(_) => None,
        });
        if !self.by.is_empty() {
            return counts.collect();
        }
        match self.form() {
            SummaryForm::Table => vec![By::Robot, By::Operator, By::Purpose],
            SummaryForm::Csv => vec![By::Robot],
            SummaryForm::Json => By::ALL.to_vec(),
        }
    }

    /// Returns the groupings of paths; empty if the report contains other counts.
    pub(super) fn path_groupings(&self) -> Vec<PathBy> {
        if self.by.is_empty() && self.path.is_some() {
            return vec![PathBy::Path];
        }
        let paths = self.by.iter().filter_map(|group| match group {
            Group::Path(by) => Some(*by),
            Group::Count(_) => None,
        });
        paths.collect()
    }

    /// Returns the reason why the arguments cannot be combined.
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        if self.csv && self.by.len() > 1 {
            return Some("--csv prints one table; select it with --by, or use --json");
        }
        let (paths, all) = (self.path_groupings().len(), self.by.len());
        if paths > 0 && paths < all {
            return Some(
                "counts of paths are approximate and other counts are exact: use two reports",
            );
        }
        let others = [
            &self.operator,
            &self.purpose,
            &self.verdict,
            &self.decision,
            &self.visitors,
        ];
        if paths > 0 && others.into_iter().any(Option::is_some) {
            return Some(
                "paths can be filtered only by --site and --robot; the paths of human visitors are included",
            );
        }
        let is_apart = self.path.is_some() && paths == 0;
        is_apart.then_some("--path requires --by path, pattern or form")
    }
}

impl ValueEnum for Group {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<Group>> = LazyLock::new(|| {
            let counts = By::ALL.iter().copied().map(Group::Count);
            let paths = PathBy::value_variants().iter().copied();
            counts.chain(paths.map(Group::Path)).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Count(by) => by.to_possible_value(),
            Self::Path(by) => by.to_possible_value(),
        }
    }
}
