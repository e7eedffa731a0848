//! Arguments of the commands.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::live_rules::RuleFields;

/// Commands of `rules`.
#[derive(Clone, Debug, Subcommand)]
pub(in crate::cli) enum RulesCommand {
    /// Lists the rules in the order in which they are asked, live ones first
    #[command(after_help = "Example: robot-detection rules list --json")]
    List(JsonArgs),
    /// Puts a rule in force on every instance, before those of the configuration
    #[command(
        after_help = "First it is told what the rule would have touched in the last 24 hours.
A rule that lets pass is about verified robots alone, where a registry says how they are proven.

Exit codes: 0 done, 1 there are too many rules, or they are turned off, 2 the rule is wrong

Example: robot-detection rules add slow --robot gptbot --requests 10 --per-seconds 60
Example: robot-detection rules add refuse --purpose seo --path '/shop/*' --status 429 --ends 4w
Example: robot-detection rules add pass --operator Google --ends never --dry-run
Example: robot-detection rules add slow --addresses 203.0.113.0/24 --people"
    )]
    Add(Box<AddArgs>),
    /// Adds, replaces and keeps live rules so that those of a file are in force
    #[command(
        after_help = "Running it again changes nothing. A rule without `ends` does not expire.

Exit codes: 0 done, 1 there are too many rules, or they are turned off, 2 a rule is wrong and nothing was changed

Example: robot-detection rules apply rules.toml --prune --dry-run"
    )]
    Apply(ApplyArgs),
    /// Removes a live rule at once
    #[command(after_help = "Example: robot-detection rules remove 12")]
    Remove(RuleArgs),
    /// Restores a live rule that was removed
    #[command(after_help = "Example: robot-detection rules restore 12")]
    Restore(RestoreArgs),
    /// Prints the live rules as [[rule]] tables of the configuration
    #[command(after_help = "Example: robot-detection rules export >> robot-detection.toml")]
    Export,
    /// Pauses all enforcement on every instance; what would be done is noted
    #[command(after_help = "Example: robot-detection rules pause --for 30m")]
    Pause(PauseArgs),
    /// Ends the pause
    #[command(after_help = "Example: robot-detection rules resume")]
    Resume(JsonArgs),
}

/// Form of the output.
#[derive(Args, Clone, Copy, Debug)]
pub(in crate::cli) struct JsonArgs {
    /// Prints JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of `rules remove`.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct RuleArgs {
    /// ID or name of the rule, as in `rules list`
    #[arg(value_name = "RULE")]
    pub(super) rule: String,
    /// Prints JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of `rules restore`.
#[derive(Args, Clone, Copy, Debug)]
pub(in crate::cli) struct RestoreArgs {
    /// ID of the rule
    #[arg(value_name = "ID")]
    pub(super) id: i64,
    /// Prints JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of `rules apply`.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct ApplyArgs {
    /// TOML file with a [[rule]] table for each rule: name, and the fields that `rules list --json` shows as `definition`
    pub(super) file: PathBuf,
    /// Removes live rules that have a name and are not in the file
    #[arg(long)]
    pub(super) prune: bool,
    /// Shows what would be done, and changes nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Prints JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of `rules pause`.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct PauseArgs {
    /// How long: 30m, 12h, 7d
    #[arg(long = "for", value_name = "TIME", default_value = "1h")]
    pub(super) length: String,
    /// Prints JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Arguments of `rules add`.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct AddArgs {
    #[command(flatten)]
    pub(super) rule: RuleFields,
    /// Shows what the rule would have touched, and changes nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Prints JSON
    #[arg(long)]
    pub(super) json: bool,
}
