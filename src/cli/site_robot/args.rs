//! Arguments of `site-robot`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Commands of `site-robot`.
#[derive(Clone, Debug, Subcommand)]
pub(in crate::cli) enum SiteRobotCommand {
    /// Visit a site and describe its pages; resumes an interrupted run
    #[command(
        after_help = "Without a URL, the run starts at site_robot.starting_points. Descriptions are stored in the database;
unchanged pages are not downloaded again. The results are published when the run has ended: pages
that forbid it (noindex, robots.txt, 410) are hidden, deleted pages are withdrawn, and pages that
do not respond stay. If more than ten pages and a fifth of heaven would be removed, a page leads to
a login, or a starting point has moved, the results are held for review: --accept publishes them.
Ctrl-C stops the run, a second one immediately; the same command resumes it.
A server that uses the same database makes the visits, unless files are named here, and serves
the new heaven as soon as the run has ended.

Exit code: 0 finished, 1 held for review, stopped or failed, 2 wrong usage

Example: robot-detection site-robot run http://127.0.0.1:3000/docs/ --depth 5 --publish heaven"
    )]
    Run(Box<VisitArgs>),
    /// Visit changed pages again immediately, without a run over the whole site
    #[command(
        after_help = "URLs must be below site_robot.starting_points; links are not followed. A server that uses the
same database makes the visits, as with `run`.

Exit code: 0 finished, 1 held for review, stopped or failed, 2 wrong usage

Example: robot-detection site-robot refresh https://www.example.com/members-only-stuff/a"
    )]
    Refresh(RefreshPagesArgs),
    /// Show the current or last run of each site
    Status(StatusArgs),
    /// Pause a run in any process until it is resumed
    Pause(SiteArgs),
    /// Resume a paused run
    Resume(SiteArgs),
    /// Stop a run after its current visits; the next run resumes it
    Stop(SiteArgs),
    /// Remove a page from heaven, its lists and exports immediately
    #[command(
        after_help = "The next run adds the page again, unless --for-good is given.

Exit code: 0 done, 1 no such page

Example: robot-detection site-robot withdraw https://www.example.com/members/a --for-good"
    )]
    Withdraw(WithdrawArgs),
    /// Delete the descriptions, URLs and runs of a site
    Clear(ClearArgs),
    /// Explain step by step whether a URL would be visited, and the result of its last visit
    #[command(after_help = "Exit code: 0 the URL would be visited, 1 it would not

Example: robot-detection site-robot explain https://www.example.com/members-only-stuff/a")]
    Explain(ExplainUrlArgs),
    /// Compare heaven pages with the current original pages
    #[command(
        after_help = "Exit code: 0 each sentence of the heaven pages is on the original page, 1 a sentence is not

Example: robot-detection site-robot parity --sample 100"
    )]
    Parity(ParityArgs),
    /// Export descriptions as SOIF or JSON Lines
    Export(ExportDescriptionsArgs),
    /// Import descriptions from SOIF or JSON Lines
    Import(ImportArgs),
    /// Check filter.conf, robot.conf and similar files, and show their contents and errors
    #[command(
        after_help = "Files: filter.conf, robot.conf, filterrules.conf, classification.conf, mime.types;
the kind of a file is determined by its name or else by its content.

Exit code: 0 all files are valid, 1 a file is invalid, 2 wrong usage or unreadable file

Example: robot-detection site-robot check config/filter.conf config/robot.conf"
    )]
    Check(CheckArgs),
    /// Format a configuration file and repair errors that `check` can repair
    #[command(
        after_help = "Exit code: 0 done, 1 the file has errors or, with --check, is not formatted; 2 wrong usage or
unreadable file

Example: robot-detection site-robot fmt filter.conf --write"
    )]
    Fmt(FmtArgs),
}

impl SiteRobotCommand {
    /// Returns the robot.conf that the command names.
    pub(in crate::cli) fn robot_conf(&self) -> Option<&str> {
        match self {
            Self::Run(args) => args.robot_conf.as_deref(),
            _ => None,
        }
    }
}

/// Arguments of `site-robot run`.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct VisitArgs {
    /// Starting points [default: `site_robot.starting_points`]
    #[arg(value_name = "URL")]
    pub(super) urls: Vec<String>,
    /// Maximum number of links to follow from a starting point, -1 for no limit
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(super) depth: Option<i64>,
    /// Minimum seconds between two visits of a host; a longer Crawl-delay takes precedence
    #[arg(long, value_name = "SECONDS")]
    pub(super) delay: Option<f64>,
    /// Visit only paths with this prefix, may be repeated
    #[arg(long, value_name = "PATH")]
    pub(super) only_below: Vec<String>,
    /// Name of the [[site]], or name under which descriptions are stored
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(super) site: String,
    /// robot.conf with all other settings
    #[arg(long, value_name = "FILE", alias = "conf")]
    pub(super) robot_conf: Option<String>,
    /// filter.conf [default: the configured file, or the bundled filters]
    #[arg(long, value_name = "FILE")]
    pub(super) filter_conf: Option<String>,
    /// Directory to publish heaven to at the end of the run
    #[arg(long, value_name = "DIRECTORY")]
    pub(super) publish: Option<PathBuf>,
    /// Publish the results that the last run held for review, without a new run; if there are none,
    /// the results of this run
    #[arg(long, conflicts_with = "fresh")]
    pub(super) accept: bool,
    /// Discard an interrupted run and start a new one
    #[arg(long)]
    pub(super) fresh: bool,
    /// Print the summary as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of `site-robot refresh`.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct RefreshPagesArgs {
    /// Pages
    #[arg(value_name = "URL", required = true)]
    pub(super) urls: Vec<String>,
    /// Name of the site
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(super) site: String,
    /// Print the summary as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of `site-robot status`.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct StatusArgs {
    /// Name of the site [default: all]
    #[arg(long, value_name = "NAME")]
    pub(super) site: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of commands about the run of a site.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct SiteArgs {
    /// Name of the site
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(super) site: String,
}

/// Arguments of `site-robot withdraw`.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct WithdrawArgs {
    /// URL of the original page
    #[arg(value_name = "URL")]
    pub(super) url: String,
    /// Keep the next runs from adding the page again
    #[arg(long)]
    pub(super) for_good: bool,
    /// Undo a withdrawal
    #[arg(long, conflicts_with = "for_good")]
    pub(super) again: bool,
    /// Name of the site
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(super) site: String,
}

/// Arguments of `site-robot clear`.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct ClearArgs {
    /// Name of the site
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(super) site: String,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(super) yes: bool,
}

/// Arguments of `site-robot explain`.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct ExplainUrlArgs {
    /// URL
    #[arg(value_name = "URL")]
    pub(super) url: String,
    /// Name of the site
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(super) site: String,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of `site-robot parity`.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct ParityArgs {
    /// Compare only this many pages, evenly chosen
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) sample: Option<u64>,
    /// Name of the site
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(super) site: String,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of `site-robot export`.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct ExportDescriptionsArgs {
    /// Format
    #[arg(long, value_enum, default_value_t = DescriptionFormat::Soif)]
    pub(super) format: DescriptionFormat,
    /// Name of the site
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(super) site: String,
    /// Output file [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

/// Arguments of `site-robot import`.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct ImportArgs {
    /// File; `-` reads standard input
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    /// Name of the site
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(super) site: String,
}

/// File format of descriptions.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(in crate::cli) enum DescriptionFormat {
    /// Summary Object Interchange Format
    Soif,
    /// One JSON object per line
    Jsonl,
}

/// Arguments of `site-robot check`.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct CheckArgs {
    /// Files; `-` reads standard input
    #[arg(value_name = "FILE", required = true)]
    pub(super) files: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of `site-robot fmt`.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct FmtArgs {
    /// File; `-` reads standard input
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    /// Write the file instead of printing it
    #[arg(long, conflicts_with = "check")]
    pub(super) write: bool,
    /// Print nothing; the exit code shows whether the file is formatted
    #[arg(long)]
    pub(super) check: bool,
}
