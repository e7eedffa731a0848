//! Arguments of the commands.

use std::{path::PathBuf, sync::LazyLock};

use clap::{
    ArgGroup, Args, Subcommand, ValueEnum,
    builder::{PossibleValue, PossibleValuesParser},
};

use crate::cli::summary::SummaryForm;
use crate::registry::Purpose;
use crate::store::AddressNetwork;
use crate::traffic::{By, Moment, Times, TrafficFilter, VISITORS, decision_words, verdict_words};

/// Commands of `traffic`.
#[derive(Clone, Debug, Subcommand)]
pub(in crate::cli) enum TrafficCommand {
    /// Prints who came, what was done with them, and how many bytes they got
    #[command(
        after_help = "What is kept by the minute (48 hours), by the hour (35 days) and by the day (UTC) is added up;
where minutes are gone, whole hours or days are told.

Example: robot-detection traffic report --since 7d --by robot,verdict
Example: robot-detection traffic report --since 2026-11-01 --site shop --csv --by operator
Example: robot-detection traffic report --since 7d --by pattern --path '/docs/*'"
    )]
    Report(Box<ReportArgs>),
    /// Counts the requests of access logs, each once
    #[command(
        after_help = "A log is known again by its first lines: one that has grown, or was packed by gzip since, goes on where
it was counted last, and a second run changes nothing. Minutes in which a server has counted the site
are left out. Sites are told apart by host, as far as the lines name one. Before a log is counted for the
first time, the recognised fields are shown; a log of which no line can be read, or that has no User-Agent
field, is refused.

Exit code: 0 done, 1 a file could not be read or was refused

Example: robot-detection traffic import /var/log/nginx/access.log*
Example: robot-detection traffic import --undo 5f2b8c0d9e1a
Example: robot-detection traffic import --site shop --follow /var/log/nginx/shop.log"
    )]
    Import(ImportArgs),
    /// Forgets what is kept of visitors: requests one by one, and paths
    #[command(
        after_help = "What fits all that is named goes. An address is meant with the requests of which only its network
(/24 or /48) is kept, as nobody knows whose they are; --dry-run tells how many these are. Paths
go by robot and time, in whole hours and days, and stay where an address is named: they have none, nor have
the sums by minute, hour and day, which stay. The log of changes has an entry, without the address. A running
server writes what it has noted within 5 seconds, paths within a minute: repeat the command after that.

Example: robot-detection traffic forget --address 203.0.113.7 --dry-run
Example: robot-detection traffic forget --robot gptbot --before 7d"
    )]
    Forget(ForgetArgs),
}

/// Arguments of `traffic forget`.
#[derive(Args, Clone, Debug)]
#[command(group = ArgGroup::new("what").required(true).multiple(true))]
pub(in crate::cli) struct ForgetArgs {
    /// Requests from this address or network, such as `203.0.113.7` or `2001:db8::/48`
    #[arg(long, value_name = "ADDRESS", group = "what")]
    pub(super) address: Option<AddressNetwork>,
    /// Requests of this robot
    #[arg(long, value_name = "ID", group = "what")]
    pub(super) robot: Option<String>,
    /// Requests that came before: 7d ago, a day or a time in UTC such as 2026-11-01T08:00Z, or now
    #[arg(long, value_name = "WHEN", group = "what")]
    pub(super) before: Option<Moment>,
    /// Counts them, and forgets nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Prints JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of `traffic import`.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct ImportArgs {
    /// Logs in the common, combined or JSON form, gzip or not
    #[arg(value_name = "FILE", required_unless_present = "undo")]
    pub(super) files: Vec<PathBuf>,
    /// Subtract what the import with this id has added in the last week; paths stay
    #[arg(long, value_name = "ID", conflicts_with_all = ["files", "site", "follow", "json"])]
    pub(super) undo: Option<String>,
    /// Count a log that has no User-Agent field; all its visitors are nameless
    #[arg(long)]
    pub(super) without_user_agent: bool,
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
    pub(super) robot: Option<String>,
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
    /// What is added up by [default: robot, operator and purpose; csv: robot; json: all but paths]
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',')]
    by: Vec<Group>,
    /// Only this path, or what is below a pattern such as '/docs/*'; with --by path, pattern or form
    #[arg(long, value_name = "PATTERN")]
    pub(super) path: Option<String>,
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

/// What is added up by: counts, or paths.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Group {
    Count(By),
    Path(PathBy),
}

/// What paths are added up by; their numbers are about.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(in crate::cli) enum PathBy {
    /// Paths that robots asked for most, about; of people patterns
    Path,
    /// Patterns of two segments, such as /docs/guide/*, about
    Pattern,
    /// HTML, Markdown and feeds, as far as robots' paths tell, about
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

    /// Returns what paths are added up by; nothing where the report is about counts.
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

    /// Returns why the arguments cannot be used together.
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        if self.csv && self.by.len() > 1 {
            return Some("--csv prints one table; name one with --by, or use --json");
        }
        let (paths, all) = (self.path_groupings().len(), self.by.len());
        if paths > 0 && paths < all {
            return Some(
                "numbers of paths are about, others are exact: ask for them in two reports",
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
                "paths are known by --site and --robot only, where people are a robot too",
            );
        }
        let is_apart = self.path.is_some() && paths == 0;
        is_apart.then_some("--path goes with --by path, pattern or form")
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
