//! Arguments of the `site-robot` command.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Subcommands of the `site-robot` command.
#[derive(Clone, Debug, Subcommand)]
pub(in crate::cli) enum SiteRobotCommand {
    /// Visit a site and describe its pages; resumes an interrupted run
    #[command(
        after_help = "Without a URL, the run starts at site_robot.starting_points. Descriptions are stored in the database;
unchanged pages are not downloaded again. The results are published when the run has ended: pages
that must not be indexed (noindex, robots.txt, 410) are hidden, deleted pages are withdrawn, and pages
that do not respond are kept. The results are held for review if more than ten pages and a fifth of
heaven would be removed, if a page redirects to a login, or if a starting point has moved; --accept
publishes them. Ctrl-C stops the run; press it again to stop immediately. The same command resumes
the run. If a server uses the same database and no files are specified, the server visits the pages,
and serves the new heaven as soon as the run has ended.

Exit code: 0 finished, 1 held for review, stopped or failed, 2 wrong usage

Example: robot-detection site-robot run http://127.0.0.1:3000/docs/ --depth 5 --publish heaven"
    )]
    Run(Box<VisitArgs>),
    /// Revisit changed pages immediately, without a run over the whole site
    #[command(
        after_help = "URLs must be below site_robot.starting_points; links are not followed. If a server uses
the same database, the server visits the pages, as with `run`.

Exit code: 0 finished, 1 held for review, stopped or failed, 2 wrong usage

Example: robot-detection site-robot refresh https://www.example.com/members-only-stuff/a"
    )]
    Refresh(RefreshPagesArgs),
    /// Show the current or most recent run of each site
    Status(StatusArgs),
    /// Pause a run until it is resumed; the run may be in any process
    Pause(SiteArgs),
    /// Resume a paused run
    Resume(SiteArgs),
    /// Stop a run after its current visits; the next run resumes where this run stopped
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
    /// Explain step by step whether a URL would be visited, and show the result of its last visit
    #[command(after_help = "Exit code: 0 the URL would be visited, 1 it would not

Example: robot-detection site-robot explain https://www.example.com/members-only-stuff/a")]
    Explain(ExplainUrlArgs),
    /// Compare heaven pages with the current original pages
    #[command(
        after_help = "Exit code: 0 each sentence of the heaven pages is on the original pages, 1 a sentence is missing

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
the kind of a file is determined by its name, or by its content if the name is not known.

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
    /// Returns the robot.conf file specified on the command line.
    pub(in crate::cli) fn robot_conf(&self) -> Option<&str> {
        match self {
            Self::Run(args) => args.robot_conf.as_deref(),
            _ => None,
        }
    }
}

/// Arguments of the `site-robot run` command.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct VisitArgs {
    /// URLs at which to start [default: `site_robot.starting_points`]
    #[arg(value_name = "URL")]
    pub(super) urls: Vec<String>,
    /// Maximum number of links to follow from a starting point, -1 for no limit
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(super) depth: Option<i64>,
    /// Minimum number of seconds between visits to a host; a longer Crawl-delay takes precedence
    #[arg(long, value_name = "SECONDS")]
    pub(super) delay: Option<f64>,
    /// Visit only paths with this prefix; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(super) only_below: Vec<String>,
    /// Name of the [[site]], or another name under which to store descriptions
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(super) site: String,
    /// robot.conf file that contains all other settings
    #[arg(long, value_name = "FILE", alias = "conf")]
    pub(super) robot_conf: Option<String>,
    /// filter.conf file [default: the configured file, or the bundled filters]
    #[arg(long, value_name = "FILE")]
    pub(super) filter_conf: Option<String>,
    /// Directory in which to publish heaven at the end of the run
    #[arg(long, value_name = "DIRECTORY")]
    pub(super) publish: Option<PathBuf>,
    /// Publish the results that the most recent run held for review, without a new run; if no
    /// results are held, start a run and publish its results without review
    #[arg(long, conflicts_with = "fresh")]
    pub(super) accept: bool,
    /// Discard an interrupted run and start a new run
    #[arg(long)]
    pub(super) fresh: bool,
    /// Print the summary as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of the `site-robot refresh` command.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct RefreshPagesArgs {
    /// URLs of the pages to visit
    #[arg(value_name = "URL", required = true)]
    pub(super) urls: Vec<String>,
    /// Name of the site
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(super) site: String,
    /// Print the summary as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of the `site-robot status` command.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct StatusArgs {
    /// Name of the site [default: all]
    #[arg(long, value_name = "NAME")]
    pub(super) site: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of commands that control the run of a site.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct SiteArgs {
    /// Name of the site
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(super) site: String,
}

/// Arguments of the `site-robot withdraw` command.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct WithdrawArgs {
    /// URL of the original page
    #[arg(value_name = "URL")]
    pub(super) url: String,
    /// Prevent future runs from adding the page again
    #[arg(long)]
    pub(super) for_good: bool,
    /// Undo an earlier withdrawal of the page
    #[arg(long, conflicts_with = "for_good")]
    pub(super) again: bool,
    /// Name of the site
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(super) site: String,
}

/// Arguments of the `site-robot clear` command.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct ClearArgs {
    /// Name of the site
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(super) site: String,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(super) yes: bool,
}

/// Arguments of the `site-robot explain` command.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct ExplainUrlArgs {
    /// URL to explain
    #[arg(value_name = "URL")]
    pub(super) url: String,
    /// Name of the site
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(super) site: String,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of the `site-robot parity` command.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct ParityArgs {
    /// Compare only this many pages, evenly spaced across all pages
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) sample: Option<u64>,
    /// Name of the site
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(super) site: String,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of the `site-robot export` command.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct ExportDescriptionsArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = DescriptionFormat::Soif)]
    pub(super) format: DescriptionFormat,
    /// Name of the site
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(super) site: String,
    /// Output file [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

/// Arguments of the `site-robot import` command.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct ImportArgs {
    /// File to import; `-` reads standard input
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    /// Name of the site
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(super) site: String,
}

/// A file format for page descriptions.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(in crate::cli) enum DescriptionFormat {
    /// Summary Object Interchange Format
    Soif,
    /// One JSON object per line
    Jsonl,
}

/// Arguments of the `site-robot check` command.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct CheckArgs {
    /// Files to check; `-` reads standard input
    #[arg(value_name = "FILE", required = true)]
    pub(super) files: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of the `site-robot fmt` command.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct FmtArgs {
    /// File; `-` reads standard input
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    /// Overwrite the file instead of printing the result
    #[arg(long, conflicts_with = "check")]
    pub(super) write: bool,
    /// Print nothing; the exit code indicates whether the file is formatted
    #[arg(long)]
    pub(super) check: bool,
}
