//! Arguments of the command.

use clap::Subcommand;

use crate::traffic::Moment;

/// Commands of `suspects`.
#[derive(Clone, Debug, Subcommand)]
pub(in crate::cli) enum SuspectsCommand {
    /// Prints what became of suspects, and the fleets, addresses and networks that running servers
    /// have flagged now
    #[command(
        after_help = "Each server on this database is asked for itself. Logs of the past are judged by
robot-detection identify --suspects.

Example: robot-detection suspects report --since 30d"
    )]
    Report {
        /// From when it is told what became of suspects: 24h, 7d or 4w ago, a day or a time in UTC, or
        /// all
        #[arg(long, value_name = "WHEN", default_value = "7d")]
        since: Moment,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
}
