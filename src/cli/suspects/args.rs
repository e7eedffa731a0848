//! Arguments of the command.

use clap::Subcommand;

/// Commands of `suspects`.
#[derive(Clone, Debug, Subcommand)]
pub(in crate::cli) enum SuspectsCommand {
    /// Prints the fleets, addresses and networks that running servers have flagged now
    #[command(
        after_help = "Each server on this database is asked for itself. Logs of the past are judged by
robot-detection identify --suspects.

Example: robot-detection suspects report"
    )]
    Report {
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
}
