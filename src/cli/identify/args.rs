//! Arguments of the command.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::access_log::FieldPath;
use crate::cli::summary::SummaryForm;
use crate::summary::Grouping;

/// Arguments of `identify`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: robot-detection identify --format combined --summary --input access.log access.log.*.gz
Example: robot-detection identify --format json --summary=csv --by operator < access.json
Example: robot-detection identify --format combined --verify --summary --input access.log
Example: robot-detection identify --suspects --input access.log access.log.*.gz
Example: tail -f access.log | robot-detection identify --format combined"
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(in crate::cli) struct IdentifyArgs {
    /// User agents; without any, lines are read
    #[arg(value_name = "UA", conflicts_with_all = ["input", "format", "summary"])]
    pub(super) user_agents: Vec<String>,
    /// Form of the lines
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub(super) format: LogFormat,
    /// Files to read, gzip or not; `-` is standard input [default: standard input]
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(super) input: Vec<PathBuf>,
    /// User-Agent's field in JSON lines, such as `request.headers.User-Agent` [default: the usual names]
    #[arg(long, value_name = "NAME")]
    pub(super) field: Option<FieldPath>,
    /// Field of the bytes sent in JSON lines [default: the usual names]
    #[arg(long, value_name = "NAME")]
    pub(super) bytes_field: Option<FieldPath>,
    /// Prints hits, bytes and shares instead of a line for each line; table where no form is named
    #[arg(long, value_enum, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "table")]
    pub(super) summary: Option<SummaryForm>,
    /// What the summary adds up by [default: robot, operator and purpose; csv: robot; json: all]
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        value_delimiter = ',',
        requires = "summary"
    )]
    pub(super) by: Vec<By>,
    /// Rows of each table, 0 for all [default: 20; csv and json: 0]
    #[arg(long, value_name = "N", requires = "summary")]
    pub(super) top: Option<usize>,
    /// Prints one JSON object a line: id, name, purpose, pattern, where it matched; or the summary as JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Proves by the addresses of the log that robots are who they say; adds the verdict
    #[arg(long, conflicts_with = "user_agents")]
    pub(super) verify: bool,
    /// Judges the people of a log: fleets of robots that say they are browsers, and who behaves like none
    #[arg(long, conflicts_with_all = ["user_agents", "format", "summary", "verify", "field", "bytes_field"])]
    pub(super) suspects: bool,
    /// File of the robots.txt that was in force, for those who ask for what it closes
    #[arg(long, value_name = "FILE", requires = "suspects")]
    pub(super) robots_txt: Option<PathBuf>,
    /// Uses the registry that comes with the program, not the database's
    #[arg(long)]
    pub(super) bundled: bool,
}

/// Form of the lines that `identify` reads.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub(in crate::cli) enum LogFormat {
    /// A User-Agent a line
    #[default]
    UserAgents,
    /// Common and combined logs of Apache and nginx, with a virtual host or without
    Combined,
    /// A JSON object a line, as of nginx, Caddy and Traefik
    Json,
}

impl LogFormat {
    /// Returns the word for it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::UserAgents => "user-agents",
            Self::Combined => "combined",
            Self::Json => "json",
        }
    }
}

/// What the summary adds up by.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(in crate::cli) enum By {
    /// Robots
    Robot,
    /// Companies and projects that run them
    Operator,
    /// What they are for
    Purpose,
    /// Registries that they are known from
    Source,
    /// User-Agents of unlisted robots, the first 10,000
    Unlisted,
    /// Robots and the verdicts on their claims, with --verify
    Verdict,
    /// People, robots, unlisted robots, lines without User-Agent, unreadable lines
    Total,
}

impl Grouping for By {
    const TOTAL: Self = Self::Total;

    fn plural(self) -> &'static str {
        match self {
            Self::Robot => "robots",
            Self::Operator => "operators",
            Self::Purpose => "purposes",
            Self::Source => "sources",
            Self::Unlisted => "unlisted",
            Self::Verdict => "verdicts",
            Self::Total => "totals",
        }
    }
}
