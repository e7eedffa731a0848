//! Names and arguments of the commands.
//!
//! clap prints the docs of commands and arguments as their help.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use url::Url;

/// Words of `heaven.open_to`.
pub(super) const READERS: [&str; 3] = ["everybody", "robots", "verified"];

/// Arguments of `serve`.
#[derive(Args, Clone, Debug, Default)]
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
    /// Serves a demonstration site from memory: no configuration or database file, no network; with
    /// --config, the demonstration site with the settings of that file
    #[arg(long)]
    pub(super) demo: bool,
}

/// Arguments of `explain`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Examples: robot-detection explain --path /members-only-stuff/a --user-agent Googlebot/2.1\n          robot-detection explain --from-log access.log --json\n          robot-detection explain --request head.txt --address 192.0.2.7"
)]
pub(super) struct ExplainArgs {
    /// Path, as requested
    #[arg(long, required_unless_present_any = ["log_line", "from_log", "request"])]
    pub(super) path: Option<String>,
    /// User agent
    #[arg(long, value_name = "UA", required_unless_present_any = ["log_line", "from_log", "request"])]
    pub(super) user_agent: Option<String>,
    /// Head of a request as it was sent, in place of path, user agent, method and host; `-`: standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["path", "user_agent", "log_line", "from_log"])]
    pub(super) request: Option<PathBuf>,
    /// Says that the request came by HTTPS, where browsers send more headers
    #[arg(long, requires = "request")]
    pub(super) https: bool,
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
    /// Header of the request, may be repeated: rules ask for some; Signature-Agent, Signature-Input and Signature say who signs
    #[arg(long = "header", value_name = "NAME: VALUE", conflicts_with_all = ["log_line", "from_log"])]
    pub(super) headers: Vec<String>,
    /// File of a robots.txt to hold the robot to, in place of the one in force
    #[arg(long, value_name = "FILE")]
    pub(super) robots_txt: Option<PathBuf>,
    /// Address of the client, for rules and for the proof of the robot's claim
    #[arg(long, visible_alias = "address", value_name = "ADDRESS")]
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
    #[command(
        after_help = "Examples: robot-detection admin token monitoring --scope read\n          robot-detection admin token deploy --ends 90d"
    )]
    Token(TokenArgs),
    /// Lists the tokens: scope, when made, last used and ending
    #[command(after_help = "Example: robot-detection admin tokens")]
    Tokens {
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Lists who is logged in, or ends sessions
    #[command(
        after_help = "Examples: robot-detection admin sessions\n          robot-detection admin sessions --end-all"
    )]
    Sessions {
        /// Ends the session with this key, which the list shows
        #[arg(long, value_name = "KEY", conflicts_with_all = ["end_all", "json"])]
        end: Option<String>,
        /// Ends all sessions
        #[arg(long, conflicts_with = "json")]
        end_all: bool,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
}

/// Arguments of `admin token`.
#[derive(Args, Clone, Debug)]
pub(super) struct TokenArgs {
    /// Name of the token
    pub(super) name: String,
    /// What it may do: read changes nothing
    #[arg(long, value_enum, default_value_t, conflicts_with = "remove")]
    pub(super) scope: TokenScopeArg,
    /// Last day (2026-12-31), days from now (90d) or time at which it ends [default: lasting]
    #[arg(long, value_name = "WHEN", conflicts_with = "remove")]
    pub(super) ends: Option<String>,
    /// Ends it
    #[arg(long)]
    pub(super) remove: bool,
}

/// Scope of a token.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub(super) enum TokenScopeArg {
    /// Asks, and changes nothing
    Read,
    /// Asks and changes
    #[default]
    Write,
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
    /// Copies the whole database into a new file, while servers run
    #[command(
        after_help = "PostgreSQL is backed up by pg_dump, as the error shows.\n\nExample: robot-detection database backup robot-detection.backup"
    )]
    Backup {
        /// File to write, which must not exist
        file: PathBuf,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Puts a backup in the place of the database; stop the servers before
    #[command(
        after_help = "A backup is proven before it replaces anything. PostgreSQL is restored by pg_restore, as the error shows.\n\nExample: robot-detection database restore robot-detection.backup --force"
    )]
    Restore {
        /// File that `database backup` has made
        file: PathBuf,
        /// Replaces a database that is not empty; an SQLite file is kept beside
        #[arg(long)]
        force: bool,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
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
    /// Asks on the terminal what is to be done, tries each answer, and writes what they make
    #[arg(long, conflicts_with_all = ["preset", "stdout"])]
    pub(super) interactive: bool,
    /// Who may read the whole texts in robot heaven, in place of the question
    #[arg(long, value_name = "WHO", requires = "interactive", value_parser = READERS)]
    pub(super) open_to: Option<String>,
    /// A configuration for a purpose, in place of every setting with its default
    #[arg(long, value_name = "WHAT")]
    pub(super) preset: Option<PresetArg>,
    /// Name of the site that it is for
    #[arg(
        long,
        value_name = "HOST",
        default_value = "www.example.com",
        requires = "preset"
    )]
    pub(super) host: String,
}

/// What a configuration to begin with is for.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum PresetArg {
    /// Search engines read everything, training needs a licence
    Publisher,
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
    /// Asks the sites for what agents look for, and checks nothing else: robots.txt, sitemap, llms.txt,
    /// Markdown; of a URL, such as that of a server on another port, if one is given
    #[arg(
        long,
        value_name = "URL",
        num_args = 0..=1,
        default_missing_value = "",
        require_equals = true,
        conflicts_with = "offline"
    )]
    pub(super) agents: Option<String>,
    /// Asks a proxy in front of robot-detection as two robots and as a browser, and checks nothing else:
    /// whether it asks about each path, and applies the decisions; exit code 1 for a fault
    #[arg(long, value_name = "URL", conflicts_with_all = ["offline", "agents"])]
    pub(super) front: Option<Url>,
    /// Host header to send instead of the URL's host
    #[arg(long, requires = "front")]
    pub(super) host: Option<String>,
    /// Further path to ask for, may be repeated
    #[arg(long, value_name = "PATH", conflicts_with_all = ["offline", "agents"])]
    pub(super) path: Vec<String>,
    /// Page of the site that prints the headers that it receives, to check that none is forged
    #[arg(long, value_name = "PATH", requires = "front")]
    pub(super) echo: Option<String>,
    /// Leaves one request without an answer, to see what visitors get while robot-detection is away;
    /// other visitors may get the same for up to a second
    #[arg(long, requires = "front")]
    pub(super) failing: bool,
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
