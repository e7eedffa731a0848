//! Command-line arguments of the subcommands.
//!
//! clap prints the doc comments of commands and arguments as their help.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use url::Url;

use super::log_input::LogArgs;

/// Valid values of `heaven.open_to`.
pub(super) const READERS: [&str; 3] = ["all", "robots", "verified"];

/// Arguments of the `serve` command.
#[derive(Args, Clone, Debug, Default)]
#[command(
    after_help = "Example: robot-detection serve --listen 0.0.0.0:80 --upstream http://127.0.0.1:3000"
)]
pub(super) struct ServeArgs {
    /// Addresses to listen on: IP:PORT or unix:PATH [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS")]
    pub(super) listen: Option<String>,
    /// Upstream server to proxy requests to; may be repeated [default: a demonstration site]
    #[arg(long, value_name = "URL", conflicts_with = "demo")]
    pub(super) upstream: Vec<String>,
    /// Serve a demonstration site from memory, without a configuration file, database file or
    /// network access; with --config, the demonstration site uses the settings from that file
    #[arg(long)]
    pub(super) demo: bool,
}

/// Arguments of the `explain` command.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Examples: robot-detection explain --path /members-only-stuff/a --user-agent Googlebot/2.1\n          robot-detection explain --from-log access.log --json\n          robot-detection explain --request head.txt --address 192.0.2.7"
)]
pub(super) struct ExplainArgs {
    /// Request path
    #[arg(long, required_unless_present_any = ["log_line", "from_log", "request"])]
    pub(super) path: Option<String>,
    /// User-Agent of the request
    #[arg(long, value_name = "UA", required_unless_present_any = ["log_line", "from_log", "request"])]
    pub(super) user_agent: Option<String>,
    /// File that contains a raw request head, instead of separate options; `-` reads standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["path", "user_agent", "log_line", "from_log"])]
    pub(super) request: Option<PathBuf>,
    /// Treat the request as sent over HTTPS, over which browsers send more headers
    #[arg(long, requires = "request")]
    pub(super) https: bool,
    /// Access log line in common, combined or JSON format, instead of --path and --user-agent
    #[arg(long, value_name = "LINE", conflicts_with_all = ["path", "user_agent", "from_log"])]
    pub(super) log_line: Option<String>,
    /// Access log file to explain line by line; `-` reads standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["path", "user_agent"])]
    pub(super) from_log: Option<PathBuf>,
    /// Request method; for logs, the method to assume for lines that do not contain a method
    #[arg(long, default_value = "GET")]
    pub(super) method: String,
    /// Request host; for logs, the host to assume for lines that do not contain a host
    #[arg(long)]
    pub(super) host: Option<String>,
    /// Request header, such as Signature-Agent, Signature-Input or Signature; may be repeated
    #[arg(long = "header", value_name = "NAME: VALUE", conflicts_with_all = ["log_line", "from_log"])]
    pub(super) headers: Vec<String>,
    /// robots.txt file to apply instead of the current file
    #[arg(long, value_name = "FILE")]
    pub(super) robots_txt: Option<PathBuf>,
    /// Client address; used in rules and to verify the robot's claim
    #[arg(long, visible_alias = "address", value_name = "ADDRESS")]
    pub(super) ip: Option<std::net::IpAddr>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) log: LogArgs,
}

/// Arguments of the `verify` command.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Exit code: 0 the claim is verified, 1 it is not\n\nExamples: robot-detection verify --ip 66.249.66.1 --user-agent Googlebot/2.1\n          robot-detection verify --ranges --refresh"
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each field is a command-line flag"
)]
pub(super) struct VerifyArgs {
    /// Client address of the request
    #[arg(long, value_name = "ADDRESS", required_unless_present = "ranges")]
    pub(super) ip: Option<std::net::IpAddr>,
    /// User-Agent of the request
    #[arg(long, value_name = "UA", required_unless_present = "ranges")]
    pub(super) user_agent: Option<String>,
    /// List the address ranges that robot operators publish
    #[arg(long, conflicts_with_all = ["ip", "user_agent"])]
    pub(super) ranges: bool,
    /// Download all published address lists now
    #[arg(long, requires = "ranges", conflicts_with = "offline")]
    pub(super) refresh: bool,
    /// Do not use the network: neither query DNS nor download address lists
    #[arg(long)]
    pub(super) offline: bool,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Subcommands of the `admin` command.
#[derive(Clone, Debug, Subcommand)]
pub(super) enum AdminCommand {
    /// Read a new administrator password from standard input, and end all sessions
    #[command(after_help = "Example: robot-detection admin password < password.txt")]
    Password {
        /// Generate an administrator password and print it
        #[arg(long)]
        generate: bool,
    },
    /// Create an API token for scripts and print it; it cannot be shown again
    #[command(
        after_help = "Examples: robot-detection admin token monitoring --scope read\n          robot-detection admin token deploy --ends 90d"
    )]
    Token(TokenArgs),
    /// List API tokens with their scope, creation time, time of last use, and expiry
    #[command(after_help = "Example: robot-detection admin tokens")]
    Tokens {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List administrator sessions, or end them
    #[command(
        after_help = "Examples: robot-detection admin sessions\n          robot-detection admin sessions --end-all"
    )]
    Sessions {
        /// End the session with this key; the list of sessions shows the keys
        #[arg(long, value_name = "KEY", conflicts_with_all = ["end_all", "json"])]
        end: Option<String>,
        /// End all sessions
        #[arg(long, conflicts_with = "json")]
        end_all: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Arguments of the `admin token` command.
#[derive(Args, Clone, Debug)]
pub(super) struct TokenArgs {
    /// Name of the token
    pub(super) name: String,
    /// Permissions of the token: read or write
    #[arg(long, value_enum, default_value_t, conflicts_with = "remove")]
    pub(super) scope: TokenScopeArg,
    /// Expiry of the token: the last valid day (2026-12-31), days from now (90d) or a time
    /// [default: never]
    #[arg(long, value_name = "WHEN", conflicts_with = "remove")]
    pub(super) ends: Option<String>,
    /// Revoke the token
    #[arg(long)]
    pub(super) remove: bool,
}

/// The permissions of an API token.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub(super) enum TokenScopeArg {
    /// Read only
    Read,
    /// Read and write
    #[default]
    Write,
}

/// Subcommands of the `database` command.
#[derive(Clone, Debug, Subcommand)]
pub(super) enum DatabaseCommand {
    /// Create a new, empty database file and keep the existing file under another name
    #[command(
        after_help = "A running server switches to the new file and prints a new administrator password.\n\nExample: robot-detection database new --yes"
    )]
    New(NewDatabaseArgs),
    /// Back up the whole database to a new file; servers can keep running
    #[command(
        after_help = "For PostgreSQL, use pg_dump as shown in the error message.\n\nExample: robot-detection database backup robot-detection.backup"
    )]
    Backup {
        /// File to write; must not exist yet
        file: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Restore the database from a backup; stop the servers first
    #[command(
        after_help = "The backup is checked before the database is replaced. For PostgreSQL, use pg_restore as shown in the error message.\n\nExample: robot-detection database restore robot-detection.backup --force"
    )]
    Restore {
        /// File written by `database backup`
        file: PathBuf,
        /// Replace the database even if it is not empty; an existing SQLite file is kept under
        /// another name
        #[arg(long)]
        force: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Arguments of the `database new` command.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct NewDatabaseArgs {
    /// Do not ask for confirmation
    #[arg(long)]
    pub(super) yes: bool,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of the `init` command.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: robot-detection init && $EDITOR robot-detection.toml")]
pub(super) struct InitArgs {
    /// File to write
    #[arg(default_value = "robot-detection.toml")]
    pub(super) file: PathBuf,
    /// Print the configuration to standard output
    #[arg(long)]
    pub(super) stdout: bool,
    /// Overwrite an existing file
    #[arg(long)]
    pub(super) force: bool,
    /// Ask for the settings on the terminal, test each answer, and write the configuration
    #[arg(long, conflicts_with_all = ["preset", "stdout"])]
    pub(super) interactive: bool,
    /// Visitors that may read full texts in robot heaven; skips the question about these visitors
    #[arg(long, value_name = "WHO", requires = "interactive", value_parser = READERS)]
    pub(super) open_to: Option<String>,
    /// Preset to write, instead of all settings with their defaults
    #[arg(long, value_name = "WHAT")]
    pub(super) preset: Option<PresetArg>,
    /// Site name for the preset
    #[arg(
        long,
        value_name = "HOST",
        default_value = "www.example.com",
        requires = "preset"
    )]
    pub(super) host: String,
}

/// A preset for a generated configuration.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum PresetArg {
    /// Search engines may read everything; AI training requires a licence
    Publisher,
}

/// Arguments of the `doctor` command.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: robot-detection doctor --listen 0.0.0.0:80 --upstream http://127.0.0.1:3000"
)]
pub(super) struct DoctorArgs {
    /// Addresses to check, as for `serve --listen`
    #[arg(long, value_name = "ADDRESS")]
    pub(super) listen: Option<String>,
    /// Upstream server to check, as for `serve --upstream`; may be repeated
    #[arg(long, value_name = "URL")]
    pub(super) upstream: Vec<String>,
    /// Skip checks that use the network, such as sources, resolvers and the site robot's starting
    /// points
    #[arg(long)]
    pub(super) offline: bool,
    /// Check only the files that AI agents look for on the sites: robots.txt, sitemap, llms.txt and
    /// Markdown; specify a URL to check another address, such as a server on another port
    #[arg(
        long,
        value_name = "URL",
        num_args = 0..=1,
        default_missing_value = "",
        require_equals = true,
        conflicts_with = "offline"
    )]
    pub(super) agents: Option<String>,
    /// Check only a front proxy: send requests as two robots and as a browser, and check that the
    /// proxy queries the decision endpoint and applies the decisions; exit code 1 if a check fails
    #[arg(long, value_name = "URL", conflicts_with_all = ["offline", "agents"])]
    pub(super) front: Option<Url>,
    /// Host header to send instead of the URL's host
    #[arg(long, requires = "front")]
    pub(super) host: Option<String>,
    /// Additional path to request; may be repeated
    #[arg(long, value_name = "PATH", conflicts_with_all = ["offline", "agents"])]
    pub(super) path: Vec<String>,
    /// Path of a page that prints the request headers, to check that visitors cannot forge headers
    #[arg(long, value_name = "PATH", requires = "front")]
    pub(super) echo: Option<String>,
    /// Leave one decision query unanswered, to check how the proxy responds while robot-detection
    /// is down; other visitors may be affected for up to a second
    #[arg(long, requires = "front")]
    pub(super) failing: bool,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of the `completions` command.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: robot-detection completions bash > /etc/bash_completion.d/robot-detection"
)]
pub(super) struct CompletionsArgs {
    /// Shell for which to print completions
    pub(super) shell: clap_complete::Shell,
}
