//! Arguments of the commands.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::operations::robots::{ListRobots, NewRobot};
use crate::registry::{ExportFormat, Format};

/// Commands of `registry`.
#[derive(Clone, Debug, Subcommand)]
pub(in crate::cli) enum RegistryCommand {
    /// Downloads and reparses the sources now
    #[command(
        after_help = "Example: robot-detection registry refresh --from all.txt --format web-robots-db"
    )]
    Refresh(RefreshArgs),
    /// Lists robots
    #[command(after_help = "Example: robot-detection registry list --status quarantined")]
    List(ListArgs),
    /// Shows one robot
    #[command(after_help = "Example: robot-detection registry show googlebot")]
    Show {
        /// The robot's id
        id: String,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Adds a robot by hand; it survives every refresh
    #[command(
        after_help = "Example: robot-detection registry add housebot --useragent HouseBot/1.0
Example: robot-detection registry add housebot --useragent HouseBot/1.0 --host-suffix crawl.example.com --ranges-url https://example.com/ips.json"
    )]
    Add(Box<NewRobot>),
    /// Removes a robot that was added by hand
    #[command(after_help = "Example: robot-detection registry remove housebot")]
    Remove {
        /// The robot's id
        id: String,
    },
    /// Prints robots for other programs: a registry, an nginx or HAProxy map, a robots.txt
    #[command(
        after_help = "Example: robot-detection registry export --format nginx --output /etc/nginx/robots.conf"
    )]
    Export(ExportArgs),
}

/// Arguments of `registry refresh`.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct RefreshArgs {
    /// URL or file to read in place of the configured one
    #[arg(long, value_name = "URL|FILE")]
    pub(super) from: Option<String>,
    #[arg(long, value_name = "FORMAT", requires = "from", help = formats_read())]
    pub(super) format: Option<String>,
    /// Source: the one to refresh, or the one to fill with --from [default: all; with --from by its format]
    #[arg(long, value_name = "NAME")]
    pub(super) source: Option<String>,
    /// Accepts what would be held back, whatever it is
    #[arg(long)]
    pub(super) force: bool,
    /// Puts in force what the last refresh held back, unless it has changed since
    #[arg(long, conflicts_with = "force")]
    pub(super) accept: bool,
    /// Prints JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of `registry list`.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct ListArgs {
    #[command(flatten)]
    pub(super) select: SelectArgs,
    /// Prints JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of `registry export`.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct ExportArgs {
    #[command(flatten)]
    pub(super) select: SelectArgs,
    #[arg(long, value_name = "FORMAT", help = formats_written())]
    pub(super) format: Option<String>,
    /// File to write, replaced as a whole [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Prints JSON, as --format json
    #[arg(long, conflicts_with = "format")]
    pub(super) json: bool,
}

/// Arguments that say which robots of the table are meant.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct SelectArgs {
    /// Words that ID, name, User-Agent or operator contain
    search: Vec<String>,
    #[command(flatten)]
    of: ListRobots,
    /// The robots that come with the program; needs no database
    #[arg(long)]
    pub(super) bundled: bool,
}

impl SelectArgs {
    /// Returns the robots that are asked for.
    pub(super) fn request(&self) -> ListRobots {
        ListRobots {
            q: self.search.join(" "),
            ..self.of.clone()
        }
    }
}

/// Returns the help of a format that is read.
fn formats_read() -> String {
    let words: Vec<_> = Format::ALL.iter().map(|format| format.as_str()).collect();
    format!("Format: {}", words.join(", "))
}

/// Returns the help of a format that is written.
fn formats_written() -> String {
    let words = ExportFormat::ALL.iter().map(|format| format.as_str());
    let words: Vec<_> = words.collect();
    let default = Format::WebRobotsDb;
    format!(
        "Format: {}, json [default: {}]",
        words.join(", "),
        default.as_str()
    )
}
