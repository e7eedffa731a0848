//! Arguments of the `identify` command.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::access_log::FieldPath;
use crate::cli::summary::SummaryForm;
use crate::summary::Grouping;

/// Arguments of the `identify` command.
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
    reason = "each field is a command-line flag"
)]
pub(in crate::cli) struct IdentifyArgs {
    /// User-Agents to identify; if none are given, reads lines from --input
    #[arg(value_name = "UA", conflicts_with_all = ["input", "format", "summary"])]
    pub(super) user_agents: Vec<String>,
    /// Input format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub(super) format: LogFormat,
    /// Files to read, uncompressed or gzip; `-` reads standard input [default: standard input]
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(super) input: Vec<PathBuf>,
    /// User-Agent field in JSON lines, such as `request.headers.User-Agent` [default: common names]
    #[arg(long, value_name = "NAME")]
    pub(super) field: Option<FieldPath>,
    /// Response size field in JSON lines [default: common names]
    #[arg(long, value_name = "NAME")]
    pub(super) bytes_field: Option<FieldPath>,
    /// Print a summary of hits, bytes and shares instead of a result for each line [default format:
    /// table]
    #[arg(long, value_enum, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "table")]
    pub(super) summary: Option<SummaryForm>,
    /// Grouping of the summary [default: robot, operator and purpose; csv: robot; json: all]
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        value_delimiter = ',',
        requires = "summary"
    )]
    pub(super) by: Vec<By>,
    /// Maximum number of rows in each table, 0 for all rows [default: 20; csv and json: 0]
    #[arg(long, value_name = "N", requires = "summary")]
    pub(super) top: Option<usize>,
    /// Print a JSON object for each line (id, name, purpose, pattern, position), or a JSON summary
    #[arg(long)]
    pub(super) json: bool,
    /// Verify the robots' claims using the client addresses in the log, and add the verdicts
    #[arg(long, conflicts_with = "user_agents")]
    pub(super) verify: bool,
    /// List suspects found in the log: fleets of robots that claim to be browsers, and automated
    /// clients
    #[arg(long, conflicts_with_all = ["user_agents", "format", "summary", "verify", "field", "bytes_field"])]
    pub(super) suspects: bool,
    /// robots.txt file that was in use at the time of the log, to detect clients that requested
    /// disallowed paths
    #[arg(long, value_name = "FILE", requires = "suspects")]
    pub(super) robots_txt: Option<PathBuf>,
    /// Use the bundled registry instead of the database
    #[arg(long)]
    pub(super) bundled: bool,
}

/// The input format for the `identify` command.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub(in crate::cli) enum LogFormat {
    /// One User-Agent per line
    #[default]
    UserAgents,
    /// Common and combined log formats of Apache and nginx, with or without a virtual host
    Combined,
    /// One JSON object per line, as written by nginx, Caddy and Traefik
    Json,
}

impl LogFormat {
    /// Returns the name of the input format.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::UserAgents => "user-agents",
            Self::Combined => "combined",
            Self::Json => "json",
        }
    }
}

/// The grouping of the summary that `identify` prints.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(in crate::cli) enum By {
    /// Group by robot
    Robot,
    /// Group by the company or project that operates the robot
    Operator,
    /// Group by purpose of the robot
    Purpose,
    /// Group by registry that lists the robot
    Source,
    /// Group by User-Agent of unlisted robots (the first 10,000)
    Unlisted,
    /// Group by robot and verdict; requires --verify
    Verdict,
    /// Group by kind: human visitors, robots, unlisted robots, lines without a User-Agent,
    /// unreadable lines
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
