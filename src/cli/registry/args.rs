//! Arguments of the `registry` command.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::operations::robots::{ListRobots, NewRobot};
use crate::registry::{ExportFormat, Format};

/// Subcommands of the `registry` command.
#[derive(Clone, Debug, Subcommand)]
pub(in crate::cli) enum RegistryCommand {
    /// Download and parse the sources now
    #[command(
        after_help = "Example: robot-detection registry refresh --from all.txt --format web-robots-db"
    )]
    Refresh(RefreshArgs),
    /// List robots
    #[command(after_help = "Example: robot-detection registry list --status quarantined")]
    List(ListArgs),
    /// Show one robot
    #[command(after_help = "Example: robot-detection registry show googlebot")]
    Show {
        /// Robot id
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Add a robot manually; refreshes do not remove it
    #[command(
        after_help = "Example: robot-detection registry add housebot --useragent HouseBot/1.0
Example: robot-detection registry add housebot --useragent HouseBot/1.0 --host-suffix crawl.example.com --ranges-url https://example.com/ips.json"
    )]
    Add(Box<NewRobot>),
    /// Remove a robot that was added manually
    #[command(after_help = "Example: robot-detection registry remove housebot")]
    Remove {
        /// Robot id
        id: String,
    },
    /// Export robots for other programs as a registry, an nginx or HAProxy map, or a robots.txt
    /// file
    #[command(
        after_help = "Example: robot-detection registry export --format nginx --output /etc/nginx/robots.conf"
    )]
    Export(ExportArgs),
}

/// Arguments of the `registry refresh` command.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct RefreshArgs {
    /// URL or file to read instead of the configured source
    #[arg(long, value_name = "URL|FILE")]
    pub(super) from: Option<String>,
    #[arg(long, value_name = "FORMAT", requires = "from", help = formats_read())]
    pub(super) format: Option<String>,
    /// Source to refresh; with --from, the source to import into [default: all; with --from, by
    /// format]
    #[arg(long, value_name = "NAME")]
    pub(super) source: Option<String>,
    /// Apply documents even if they would be held for review
    #[arg(long)]
    pub(super) force: bool,
    /// Apply the documents that the most recent refresh held for review, unless they have changed
    /// since
    #[arg(long, conflicts_with = "force")]
    pub(super) accept: bool,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of the `registry list` command.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct ListArgs {
    #[command(flatten)]
    pub(super) select: SelectArgs,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of the `registry export` command.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct ExportArgs {
    #[command(flatten)]
    pub(super) select: SelectArgs,
    #[arg(long, value_name = "FORMAT", help = formats_written())]
    pub(super) format: Option<String>,
    /// Output file, replaced atomically [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Print JSON (same as --format json)
    #[arg(long, conflicts_with = "format")]
    pub(super) json: bool,
}

/// Arguments that select robots in the robots table.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct SelectArgs {
    /// Words to search for in the robot's id, name, User-Agent or operator
    search: Vec<String>,
    #[command(flatten)]
    of: ListRobots,
    /// Use the bundled registry; no database is required
    #[arg(long)]
    pub(super) bundled: bool,
}

impl SelectArgs {
    /// Returns the query for robots that these arguments specify.
    pub(super) fn request(&self) -> ListRobots {
        ListRobots {
            q: self.search.join(" "),
            ..self.of.clone()
        }
    }
}

/// Returns the help text about input formats.
fn formats_read() -> String {
    let words: Vec<_> = Format::ALL.iter().map(|format| format.as_str()).collect();
    format!("Format: {}", words.join(", "))
}

/// Returns the help text about output formats.
fn formats_written() -> String {
    let words = ExportFormat::ALL.iter().map(|format| format.as_str());
    let words: Vec<_> = words.collect();
    let default = ExportFormat::WebRobotsDb;
    format!(
        "Format: {}, json [default: {}]",
        words.join(", "),
        default.as_str()
    )
}
