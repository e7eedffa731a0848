//! What the commands are called and what they take.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::access_log::FieldPath;
use crate::registry::{ExportFormat, Format};

use super::heaven::HeavenCommand;
use super::robots_txt::RobotsTxtCommand;
use super::site_robot::SiteRobotCommand;

/// Tells robots from people on the way into a web site.
#[derive(Clone, Debug, Parser)]
#[command(name = "robot-detection", version, about, max_term_width = 100)]
pub(super) struct Cli {
    /// Configuration file [default: robot-detection.toml, if it is there]
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Database: `sqlite://FILE` or `postgres://USER@HOST/NAME`
    #[arg(long, global = true, value_name = "URL")]
    pub(super) database: Option<String>,
    #[command(subcommand)]
    pub(super) command: Command,
}

/// Commands.
#[derive(Clone, Debug, Subcommand)]
pub(super) enum Command {
    /// Serves: proxy, detection, robot heaven and admin page
    Serve(ServeArgs),
    /// Shows and changes the robots table
    #[command(subcommand)]
    Registry(RegistryCommand),
    /// Names the robot of each User-Agent or line of a log, or sums logs up
    Identify(IdentifyArgs),
    /// Tells what would be done with a request, and why
    Explain(ExplainArgs),
    /// Proves that a robot is who it says, or shows the lists of addresses that prove it
    Verify(VerifyArgs),
    /// Asks and checks robots.txt files
    #[command(subcommand)]
    RobotsTxt(RobotsTxtCommand),
    /// Runs and controls the site robot, checks its files
    #[command(subcommand)]
    SiteRobot(SiteRobotCommand),
    /// Puts the last publication of robot heaven back
    #[command(subcommand)]
    Heaven(HeavenCommand),
    /// Sets the administrator's password, makes tokens for scripts
    #[command(subcommand)]
    Admin(AdminCommand),
    /// Saves what a damaged SQLite file holds, or makes a new one
    #[command(subcommand)]
    Database(DatabaseCommand),
    /// Writes a commented configuration file
    Init(InitArgs),
    /// Checks configuration, database, sources, upstream, robot heaven and site robot
    Doctor(DoctorArgs),
    /// Prints completions for a shell
    Completions(CompletionsArgs),
}

/// Arguments of `serve`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: robot-detection serve --listen 0.0.0.0:80 --upstream http://127.0.0.1:3000"
)]
pub(super) struct ServeArgs {
    /// Where visitors reach the server: addresses with ports, unix:PATH, systemd [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS")]
    pub(super) listen: Option<String>,
    /// Server behind the proxy, may be repeated; without it a demonstration site is served
    #[arg(long, value_name = "URL", conflicts_with = "demo")]
    pub(super) upstream: Vec<String>,
    /// Serves a demonstration site from memory: no configuration or database file, no network
    #[arg(long)]
    pub(super) demo: bool,
}

/// Commands of `registry`.
#[derive(Clone, Debug, Subcommand)]
pub(super) enum RegistryCommand {
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
pub(super) struct RefreshArgs {
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
pub(super) struct ListArgs {
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
pub(super) struct ExportArgs {
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
pub(super) struct SelectArgs {
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
pub(super) struct AddArgs {
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

/// Arguments of `identify`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: robot-detection identify --format combined --summary --input access.log access.log.*.gz
Example: robot-detection identify --format json --summary=csv --by operator < access.json
Example: robot-detection identify --format combined --verify --summary --input access.log
Example: tail -f access.log | robot-detection identify --format combined"
)]
pub(super) struct IdentifyArgs {
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
    /// Uses the registry that comes with the program, not the database's
    #[arg(long)]
    pub(super) bundled: bool,
}

/// Form of the lines that `identify` reads.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub(super) enum LogFormat {
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

/// Form of the summary that `identify` prints.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum SummaryForm {
    /// Aligned columns, for people
    Table,
    /// One table, for spreadsheets
    Csv,
    /// One object, for programs
    Json,
}

/// What the summary adds up by.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum By {
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

impl By {
    /// Returns the name of an array of them.
    pub(super) fn plural(self) -> &'static str {
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

/// Arguments of `explain`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Examples: robot-detection explain --path /members-only-stuff/a --user-agent Googlebot/2.1\n          robot-detection explain --from-log access.log --json"
)]
pub(super) struct ExplainArgs {
    /// Path, as requested
    #[arg(long, required_unless_present_any = ["log_line", "from_log"])]
    pub(super) path: Option<String>,
    /// User agent
    #[arg(long, value_name = "UA", required_unless_present_any = ["log_line", "from_log"])]
    pub(super) user_agent: Option<String>,
    /// Line of an access log in place of path and user agent: common, combined or JSON
    #[arg(long, value_name = "LINE", conflicts_with_all = ["path", "user_agent", "from_log"])]
    pub(super) log_line: Option<String>,
    /// Access log, each line of which is explained; `-`: standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["path", "user_agent"])]
    pub(super) from_log: Option<PathBuf>,
    /// Method; of a log, where a line says none
    #[arg(long, default_value = "GET")]
    pub(super) method: String,
    /// Host; of a log, where a line says none
    #[arg(long)]
    pub(super) host: Option<String>,
    /// Header of the request, may be repeated: Signature-Agent, Signature-Input and Signature say who signs
    #[arg(long = "header", value_name = "NAME: VALUE", conflicts_with_all = ["log_line", "from_log"])]
    pub(super) headers: Vec<String>,
    /// File of a robots.txt to hold the robot to, in place of the one in force
    #[arg(long, value_name = "FILE")]
    pub(super) robots_txt: Option<PathBuf>,
    /// Address of the client, by which the robot's claim is proven
    #[arg(long, value_name = "ADDRESS")]
    pub(super) ip: Option<std::net::IpAddr>,
    /// Prints JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of `verify`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Ends with 0 where the claim is verified, with 1 where it is not.\n\nExamples: robot-detection verify --ip 66.249.66.1 --user-agent Googlebot/2.1\n          robot-detection verify --ranges --refresh"
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(super) struct VerifyArgs {
    /// Address that the request came from
    #[arg(long, value_name = "ADDRESS", required_unless_present = "ranges")]
    pub(super) ip: Option<std::net::IpAddr>,
    /// User agent that the request came with
    #[arg(long, value_name = "UA", required_unless_present = "ranges")]
    pub(super) user_agent: Option<String>,
    /// Shows the lists of addresses that operators publish
    #[arg(long, conflicts_with_all = ["ip", "user_agent"])]
    pub(super) ranges: bool,
    /// Downloads all of these lists now
    #[arg(long, requires = "ranges", conflicts_with = "offline")]
    pub(super) refresh: bool,
    /// Asks nobody: neither the DNS nor servers that publish lists
    #[arg(long)]
    pub(super) offline: bool,
    /// Prints JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Commands of `admin`.
#[derive(Clone, Debug, Subcommand)]
pub(super) enum AdminCommand {
    /// Sets the password, read from standard input; ends all sessions
    #[command(after_help = "Example: robot-detection admin password < password.txt")]
    Password {
        /// Makes a password and prints it
        #[arg(long)]
        generate: bool,
    },
    /// Makes a token for scripts and prints it once
    #[command(after_help = "Example: robot-detection admin token monitoring")]
    Token {
        /// Name of the token
        name: String,
        /// Removes it
        #[arg(long)]
        remove: bool,
    },
}

/// Commands of `database`.
#[derive(Clone, Debug, Subcommand)]
pub(super) enum DatabaseCommand {
    /// Saves what can be read of a damaged file in a new one; keeps the damaged one beside it
    #[command(
        after_help = "Ends with 0 where nothing is damaged, or all that can be read is saved. A server takes the new file over.\n\nExample: robot-detection --database sqlite:///var/lib/robot-detection/robot-detection.db database repair"
    )]
    Repair(DatabaseArgs),
    /// Makes a new, empty file; keeps the one that is there beside it
    #[command(
        after_help = "A server takes the new file over, and prints a new administrator's password.\n\nExample: robot-detection database new --yes"
    )]
    New(DatabaseArgs),
}

/// Arguments of `database repair` and `database new`.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct DatabaseArgs {
    /// Does it without asking
    #[arg(long)]
    pub(super) yes: bool,
    /// Prints JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of `init`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: robot-detection init && $EDITOR robot-detection.toml")]
pub(super) struct InitArgs {
    /// File to write
    #[arg(default_value = "robot-detection.toml")]
    pub(super) file: PathBuf,
    /// Prints it on standard output
    #[arg(long)]
    pub(super) stdout: bool,
    /// Writes over a file that is there
    #[arg(long)]
    pub(super) force: bool,
}

/// Arguments of `doctor`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: robot-detection doctor --listen 0.0.0.0:80 --upstream http://127.0.0.1:3000"
)]
pub(super) struct DoctorArgs {
    /// Where visitors are to reach the server, as `serve --listen` has it
    #[arg(long, value_name = "ADDRESS")]
    pub(super) listen: Option<String>,
    /// Server behind the proxy, as `serve --upstream` has it; may be repeated
    #[arg(long, value_name = "URL")]
    pub(super) upstream: Vec<String>,
    /// Leaves out what needs the network: sources, resolvers, the site robot's starting points
    #[arg(long)]
    pub(super) offline: bool,
    /// Prints JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of `completions`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: robot-detection completions bash > /etc/bash_completion.d/robot-detection"
)]
pub(super) struct CompletionsArgs {
    /// Shell
    pub(super) shell: clap_complete::Shell,
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
