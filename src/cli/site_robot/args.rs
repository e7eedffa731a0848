//! Arguments of the commands.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Commands of `site-robot`.
#[derive(Clone, Debug, Subcommand)]
pub(in crate::cli) enum SiteRobotCommand {
    /// Visits a site and describes its pages; a run that was cut off is resumed
    #[command(
        after_help = "Without a URL it begins at site_robot.starting_points. Descriptions go to the database;
pages that are as they were are not fetched again. What the run brings is in force when it
has ended: pages that say so (noindex, robots.txt, 410) are hidden, those seen to be gone are
withdrawn, those that do not answer stay. Where more than ten pages and a fifth of heaven would
go, a login answers, or a starting point has moved, the results are held back: --accept puts
them in force. Ctrl-C stops, a second one at once; the same command resumes.
A server that runs on the same database does the visits, unless files are named here; robot
heaven is in force there as soon as the run has ended.

Exit code: 0 finished, 1 held back, stopped or failed, 2 wrong usage

Example: robot-detection site-robot run http://127.0.0.1:3000/docs/ --depth 5 --publish heaven"
    )]
    Run(Box<VisitArgs>),
    /// Asks for single pages again, as soon as they have changed; all others stay as they are
    #[command(
        after_help = "URLs lie within site_robot.starting_points; links are not followed. A server that runs on the
same database does it, as with `run`.

Exit code: 0 finished, 1 held back, stopped or failed, 2 wrong usage

Example: robot-detection site-robot refresh https://www.example.com/members-only-stuff/a"
    )]
    Refresh(RefreshPagesArgs),
    /// Tells what the last run of each site does or did
    Status(StatusArgs),
    /// Has a run begin no more visits until it is resumed, in whatever process it goes on
    Pause(SiteArgs),
    /// Has a run go on that was paused
    Resume(SiteArgs),
    /// Has a run finish what it has begun and end; the next one resumes it
    Stop(SiteArgs),
    /// Takes a page out of heaven, its lists and exports, at once
    #[command(after_help = "The next run brings it back, unless --for-good.

Exit code: 0 done, 1 there was no such page

Example: robot-detection site-robot withdraw https://www.example.com/members/a --for-good")]
    Withdraw(WithdrawArgs),
    /// Forgets descriptions, URLs and runs of a site
    Clear(ClearArgs),
    /// Tells step by step whether a URL would be visited, and what became of it
    #[command(after_help = "Exit code: 0 it would be visited, 1 it would not

Example: robot-detection site-robot explain https://www.example.com/members-only-stuff/a")]
    Explain(ExplainUrlArgs),
    /// Compares the pages of heaven with the human pages as they are now
    #[command(
        after_help = "Exit code: 0 each sentence of heaven stands on the human page, 1 one does not

Example: robot-detection site-robot parity --sample 100"
    )]
    Parity(ParityArgs),
    /// Prints the descriptions as SOIF or JSON lines
    Export(ExportDescriptionsArgs),
    /// Reads descriptions, SOIF or JSON lines, into the database
    Import(ImportArgs),
    /// Tells what is in filter.conf, robot.conf and their like, and what is wrong with them
    #[command(
        after_help = "Files: filter.conf, robot.conf, filterrules.conf, classification.conf, mime.types;
which of them a file is, its name or else its content says.

Exit code: 0 all can be used, 1 one cannot, 2 wrong usage or unreadable file

Example: robot-detection site-robot check config/filter.conf config/robot.conf"
    )]
    Check(CheckArgs),
    /// Writes a file in its normal form: all that `check` repairs is put right
    #[command(
        after_help = "Exit code: 0 done, 1 the file has errors or, with --check, another form; 2 wrong usage or
unreadable file

Example: robot-detection site-robot fmt filter.conf --write"
    )]
    Fmt(FmtArgs),
}

impl SiteRobotCommand {
    /// Returns the robot.conf that a command names.
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
    /// Starting points; without any, those of the configuration
    #[arg(value_name = "URL")]
    pub(super) urls: Vec<String>,
    /// Links that are followed from a starting point, -1 for any number
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(super) depth: Option<i64>,
    /// Seconds between two visits of a host; a longer Crawl-delay counts
    #[arg(long, value_name = "SECONDS")]
    pub(super) delay: Option<f64>,
    /// Visits only paths that begin so, may be repeated
    #[arg(long, value_name = "PATH")]
    pub(super) only_below: Vec<String>,
    /// Name of the site: of a [[site]], or under which descriptions are kept
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(super) site: String,
    /// robot.conf with all other settings
    #[arg(long, value_name = "FILE", alias = "conf")]
    pub(super) robot_conf: Option<String>,
    /// filter.conf; without it, the configured one or the filters that ship
    #[arg(long, value_name = "FILE")]
    pub(super) filter_conf: Option<String>,
    /// Directory that heaven is published into at the end
    #[arg(long, value_name = "DIRECTORY")]
    pub(super) publish: Option<PathBuf>,
    /// Puts the results in force that the last run held back, without another one; else those of
    /// this run, whatever they are
    #[arg(long, conflicts_with = "fresh")]
    pub(super) accept: bool,
    /// Gives up a run that was cut off, and begins another one
    #[arg(long)]
    pub(super) fresh: bool,
    /// Prints the summary as JSON
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
    /// Prints the summary as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of `site-robot status`.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct StatusArgs {
    /// Name of the site [default: all]
    #[arg(long, value_name = "NAME")]
    pub(super) site: Option<String>,
    /// Prints JSON
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
    /// URL of the page that heaven's is made from
    #[arg(value_name = "URL")]
    pub(super) url: String,
    /// Keeps the next runs from bringing it back
    #[arg(long)]
    pub(super) for_good: bool,
    /// Takes the withdrawal back
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
    /// Does not ask first
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
    /// Prints JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of `site-robot parity`.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct ParityArgs {
    /// Compares only so many pages, evenly chosen
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) sample: Option<u64>,
    /// Name of the site
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(super) site: String,
    /// Prints JSON
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
    /// File to write in place of printing
    #[arg(long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

/// Arguments of `site-robot import`.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct ImportArgs {
    /// File; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    /// Name of the site
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(super) site: String,
}

/// Format of descriptions.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(in crate::cli) enum DescriptionFormat {
    /// Summary Object Interchange Format
    Soif,
    /// A JSON object a line
    Jsonl,
}

/// Arguments of `site-robot check`.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct CheckArgs {
    /// Files; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(super) files: Vec<PathBuf>,
    /// Prints JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of `site-robot fmt`.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct FmtArgs {
    /// File; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    /// Writes the file in place of printing it
    #[arg(long, conflicts_with = "check")]
    pub(super) write: bool,
    /// Prints nothing; tells by the exit code whether the file has its normal form
    #[arg(long)]
    pub(super) check: bool,
}
