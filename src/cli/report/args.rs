//! Arguments of the `report` command.

use std::{path::PathBuf, sync::LazyLock};

use clap::{
    Args, ValueEnum,
    builder::{PossibleValue, PossibleValuesParser},
};

use crate::cli::log_input::LogArgs;
use crate::registry::Purpose;
use crate::traffic::{
    By, Class, Moment, TimeRange, TrafficFilter, VISITORS, decision_words, verdict_words,
};

/// Arguments of the `report` command.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "With FILE, reports the requests in access logs; a request that several files contain is counted once.
Without FILE, reports the requests that servers have counted in the database: by minute (for 48 hours), by
hour (for 35 days) and by day (UTC). If the minutes of a period are no longer stored, whole hours or days are
reported.

Exit code: 0 done, 1 a file could not be read or was rejected

Examples: robot-detection report /var/log/nginx/access.log*
          robot-detection report --html report.html --robots-txt robots.txt access.log
          robot-detection report --people access.log
          robot-detection report --since 7d --by robot,verdict
          robot-detection report --since 7d --by pattern --path '/docs/*'"
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each field is a command-line flag"
)]
pub(in crate::cli) struct ReportArgs {
    /// Access logs, uncompressed or compressed (gzip, zstd, xz, bzip2); `-` reads standard input
    /// [default: the database]
    #[arg(value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    /// Start of the period: an age (30m, 24h, 7d, 4w), a UTC day or time such as 2026-11-01T08:00Z,
    /// or all [default: 24h; logs: all]
    #[arg(long, value_name = "WHEN")]
    since: Option<Moment>,
    /// End of the period, as for --since [default: now]
    #[arg(long, value_name = "WHEN")]
    until: Option<Moment>,
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
    /// Report only requests of this class
    #[arg(long, value_name = "WORD", value_parser = PossibleValuesParser::new(classes()))]
    class: Option<String>,
    /// Print only tables with these groupings, instead of the whole report [default: csv: robot]
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
    /// Write the report to this file as an HTML page that needs no other file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "csv", "by"])]
    pub(super) html: Option<PathBuf>,
    /// Verify the robots' claims using the client addresses in the logs
    #[arg(long, requires = "files")]
    pub(super) verify: bool,
    /// robots.txt file that was in use at the time of the logs
    #[arg(long, value_name = "FILE", requires = "files")]
    pub(super) robots_txt: Option<PathBuf>,
    /// Count the page requests of people as COUNTER does for libraries: without robots, suspects and
    /// double clicks
    #[arg(long, requires = "files", conflicts_with_all = ["by", "csv", "follow"])]
    pub(super) people: bool,
    /// Include queries of pages and whole addresses, which are personal data
    #[arg(long, requires = "files")]
    pub(super) full: bool,
    /// Keep running, and report again whenever a file has grown
    #[arg(long, requires = "files")]
    pub(super) follow: bool,
    /// Use the bundled registry instead of the database's
    #[arg(long, requires = "files")]
    pub(super) bundled: bool,
    #[command(flatten)]
    pub(super) log: LogArgs,
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

fn classes() -> Vec<&'static str> {
    Class::ALL.iter().map(|class| class.as_str()).collect()
}

fn visitors() -> Vec<&'static str> {
    VISITORS.iter().map(|(word, _)| *word).collect()
}

impl ReportArgs {
    pub(super) fn times(&self) -> TimeRange {
        TimeRange {
            since: self.since.unwrap_or_else(|| self.default_since()),
            until: self.until,
        }
    }

    /// Returns the start of the period if none is given: logs are read from their start.
    fn default_since(&self) -> Moment {
        if self.files.is_empty() {
            Moment::Ago(24 * 60)
        } else {
            Moment::All
        }
    }

    pub(super) fn filter(&self) -> TrafficFilter {
        TrafficFilter {
            visitors: self.visitors.clone(),
            class: self.class.clone(),
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

    /// Returns the groupings of counts; empty for the whole report.
    pub(super) fn groupings(&self) -> Vec<By> {
        let counts = self.by.iter().filter_map(|group| match group {
            Group::Count(by) => Some(*by),
            Group::Path(_) => None,
        });
        if self.by.is_empty() && self.csv {
            return vec![By::Robot];
        }
        counts.collect()
    }

    /// Returns `true` if only some tables are printed instead of the whole report.
    pub(super) fn selects_tables(&self) -> bool {
        !self.by.is_empty() || self.csv
    }

    /// Returns `true` if suspects or verdicts must be known before requests are counted.
    pub(super) fn needs_findings(&self) -> bool {
        let needs = |group: &Group| match group {
            Group::Path(_) => false,
            Group::Count(by) => !matches!(by, By::Robot | By::Operator | By::Purpose | By::Status),
        };
        let has_tables = self.selects_tables() && !self.people;
        !has_tables || self.verify || self.class.is_some() || self.by.iter().any(needs)
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
        if paths > 0 && !self.files.is_empty() {
            return Some(
                "--path and --by path, pattern or form report the paths that servers have stored; omit FILE",
            );
        }
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
