//! Arguments of the commands.

use std::path::PathBuf;

use clap::{Args, Subcommand};

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
    Add(AddArgs),
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
    /// Only robots in whose place one of a better source is named
    #[arg(long)]
    pub(super) duplicates: bool,
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
    /// Words that id, name, useragent or operator contain
    pub(super) search: Vec<String>,
    /// Robots of one source only
    #[arg(long, value_name = "NAME")]
    pub(super) source: Option<String>,
    /// Robots of one status only: active, quarantined, unusable
    #[arg(long, value_name = "STATUS", value_parser = ["active", "quarantined", "unusable"])]
    pub(super) status: Option<String>,
    /// Robots of these purposes only, such as ai-training,ai-search
    #[arg(long, value_name = "PURPOSE", value_delimiter = ',')]
    pub(super) purpose: Vec<String>,
    /// Robots of one operator only, ignoring case
    #[arg(long, value_name = "NAME")]
    pub(super) operator: Option<String>,
    /// The robots that come with the program; needs no database
    #[arg(long)]
    pub(super) bundled: bool,
}

/// Arguments of `registry add`.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct AddArgs {
    /// The robot's id
    pub(super) id: String,
    /// User agent, as the robot sends it
    #[arg(long, value_name = "UA")]
    pub(super) useragent: String,
    /// Name for people [default: the id]
    #[arg(long, value_name = "NAME")]
    pub(super) name: Option<String>,
    /// Page about the robot, http or https
    #[arg(long, value_name = "URL")]
    pub(super) details_url: Option<String>,
    /// Purpose, such as search, ai-training or monitoring
    #[arg(long, value_name = "PURPOSE")]
    pub(super) purpose: Option<String>,
    /// Company or project that runs it
    #[arg(long, value_name = "NAME")]
    pub(super) operator: Option<String>,
    /// Name that it has in robots.txt
    #[arg(long, value_name = "TOKEN")]
    pub(super) product_token: Option<String>,
    /// End of the host names of its addresses, such as crawl.example.com; may be repeated
    #[arg(long, value_name = "HOST")]
    pub(super) host_suffix: Vec<String>,
    /// Published list of its addresses, http or https; after `#` the member that counts
    #[arg(long, value_name = "URL")]
    pub(super) ranges_url: Option<String>,
    /// Host whose keys sign its requests, such as bot.example.com, or URL of a key set; may be repeated
    #[arg(long, value_name = "HOST")]
    pub(super) signature_agent: Vec<String>,
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
