//! Arguments of the `traffic` command.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};

use crate::cli::log_input::LogArgs;
use crate::store::AddressNetwork;
use crate::traffic::Moment;

/// Subcommands of the `traffic` command.
#[derive(Clone, Debug, Subcommand)]
pub(in crate::cli) enum TrafficCommand {
    /// Import requests from access logs; no request is imported twice
    #[command(
        after_help = "A log is recognised by its first lines: if a log has grown or was compressed, the import continues
where the last import ended; a second import of the same log changes nothing. Minutes in which a server has
counted requests to the site are skipped. Sites are distinguished by host if the log contains hosts. Before
the first import of a log, the recognised fields are shown; a log without a readable line or without a
User-Agent field is rejected.

Exit code: 0 done, 1 a file could not be read or was rejected

Example: robot-detection traffic import /var/log/nginx/access.log*
Example: robot-detection traffic import --undo 5f2b8c0d9e1a
Example: robot-detection traffic import --site shop --follow /var/log/nginx/shop.log"
    )]
    Import(ImportArgs),
    /// Delete stored visitor data: individual requests, and paths
    #[command(
        after_help = "Deletes the data that matches all options. --address also matches requests stored only with their network
(/24 or /48), because their exact address is unknown; --dry-run shows the number of these requests. Paths are
deleted by robot and time, in whole hours and days, but not by address, because they are stored without
addresses. The counters by minute, hour and day are kept; they contain no addresses. An entry without the
address is added to the audit log. A running server stores new requests within 5 seconds and paths within a
minute: repeat the command after that.

Example: robot-detection traffic forget --address 203.0.113.7 --dry-run
Example: robot-detection traffic forget --robot gptbot --before 7d"
    )]
    Forget(ForgetArgs),
}

/// Arguments of the `traffic forget` command.
#[derive(Args, Clone, Debug)]
#[command(group = ArgGroup::new("what").required(true).multiple(true))]
pub(in crate::cli) struct ForgetArgs {
    /// Delete requests from this address or network, such as `203.0.113.7` or `2001:db8::/48`
    #[arg(long, value_name = "ADDRESS", group = "what")]
    pub(super) address: Option<AddressNetwork>,
    /// Delete requests from this robot
    #[arg(long, value_name = "ID", group = "what")]
    pub(super) robot: Option<String>,
    /// Delete requests made before this time: an age (7d), a UTC day or time such as
    /// 2026-11-01T08:00Z, or now
    #[arg(long, value_name = "WHEN", group = "what")]
    pub(super) before: Option<Moment>,
    /// Count the matching data without deleting it
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of the `traffic import` command.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct ImportArgs {
    /// Logs in a known format, uncompressed or compressed (gzip, zstd, xz, bzip2)
    #[arg(value_name = "FILE", required_unless_present = "undo")]
    pub(super) files: Vec<PathBuf>,
    /// Subtract the counts added by the import with this id in the last week; paths are kept
    #[arg(long, value_name = "ID", conflicts_with_all = ["files", "site", "follow", "json"])]
    pub(super) undo: Option<String>,
    /// Import a log without a User-Agent field; all of its visitors are counted as nameless
    #[arg(long)]
    pub(super) without_user_agent: bool,
    #[command(flatten)]
    pub(super) log: LogArgs,
    /// Site to assign all lines to [default: determined by host]
    #[arg(long, value_name = "NAME")]
    pub(super) site: Option<String>,
    /// After the import, keep running and import lines that are appended to the last FILE
    #[arg(long)]
    pub(super) follow: bool,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}
