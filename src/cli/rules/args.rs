//! Arguments of the `rules` command.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::live_rules::RuleFields;

/// Subcommands of the `rules` command.
#[derive(Clone, Debug, Subcommand)]
pub(in crate::cli) enum RulesCommand {
    /// List all rules in order of evaluation, live rules first
    #[command(after_help = "Example: robot-detection rules list --json")]
    List(JsonArgs),
    /// Add a live rule, which applies on every instance before the rules of the configuration
    #[command(
        after_help = "Before adding the rule, prints the requests that it would have affected in the last 24 hours.
A pass rule applies only to verified robots if a registry specifies how to verify them.

Exit codes: 0 done, 1 there are too many rules or live rules are turned off, 2 the rule is invalid

Example: robot-detection rules add slow --robot gptbot --requests 10 --per-seconds 60
Example: robot-detection rules add refuse --purpose seo --path '/shop/*' --status 429 --ends 4w
Example: robot-detection rules add pass --operator Google --ends never --dry-run
Example: robot-detection rules add slow --addresses 203.0.113.0/24 --people"
    )]
    Add(Box<AddArgs>),
    /// Apply live rules from a file: add new rules and replace changed rules
    #[command(
        after_help = "Running the command again with the same file changes nothing. A rule without `ends` does not expire.

Exit codes: 0 done, 1 there are too many rules or live rules are turned off, 2 a rule is invalid and nothing was changed

Example: robot-detection rules apply rules.toml --prune --dry-run"
    )]
    Apply(ApplyArgs),
    /// Remove a live rule immediately
    #[command(after_help = "Example: robot-detection rules remove 12")]
    Remove(RuleArgs),
    /// Restore a live rule that was removed
    #[command(after_help = "Example: robot-detection rules restore 12")]
    Restore(RestoreArgs),
    /// Export live rules as [[rule]] tables for the configuration file
    #[command(after_help = "Example: robot-detection rules export >> robot-detection.toml")]
    Export,
    /// Pause enforcement on every instance; decisions are logged but not enforced
    #[command(after_help = "Example: robot-detection rules pause --for 30m")]
    Pause(PauseArgs),
    /// Resume enforcement
    #[command(after_help = "Example: robot-detection rules resume")]
    Resume(JsonArgs),
}

/// Output options of a `rules` command.
#[derive(Args, Clone, Copy, Debug)]
pub(in crate::cli) struct JsonArgs {
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of the `rules remove` command.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct RuleArgs {
    /// Id or name of the rule, as shown by `rules list`
    #[arg(value_name = "RULE")]
    pub(super) rule: String,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of the `rules restore` command.
#[derive(Args, Clone, Copy, Debug)]
pub(in crate::cli) struct RestoreArgs {
    /// Id of the rule
    #[arg(value_name = "ID")]
    pub(super) id: i64,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of the `rules apply` command.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct ApplyArgs {
    /// TOML file with [[rule]] tables, each with a name and the `definition` fields of `rules list
    /// --json`
    pub(super) file: PathBuf,
    /// Remove live rules that have a name but are not in the file
    #[arg(long)]
    pub(super) prune: bool,
    /// Show the changes without applying them
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of the `rules pause` command.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct PauseArgs {
    /// Duration of the pause, such as 30m, 12h or 7d
    #[arg(long = "for", value_name = "TIME", default_value = "1h")]
    pub(super) length: String,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of the `rules add` command.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct AddArgs {
    #[command(flatten)]
    pub(super) rule: RuleFields,
    /// Show the requests that the rule would have affected, without adding the rule
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}
