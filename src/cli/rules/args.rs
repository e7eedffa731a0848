//! Arguments of the commands.

use clap::{Args, Subcommand, ValueEnum};

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
    /// Ends a live rule at once
    #[command(after_help = "Example: robot-detection rules remove 12")]
    Remove(RuleArgs),
    /// Brings back a live rule that was removed
    #[command(after_help = "Example: robot-detection rules restore 12")]
    Restore(RuleArgs),
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

/// Arguments of `rules remove` and `rules restore`.
#[derive(Args, Clone, Copy, Debug)]
pub(in crate::cli) struct RuleArgs {
    /// Number of the rule, as `rules list` tells it
    #[arg(value_name = "NUMBER")]
    pub(super) id: i64,
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
    /// What is done
    #[arg(value_enum)]
    pub(super) action: ActionWord,
    /// Id of a robot, or the host of an unlisted one that signs
    #[arg(long, value_name = "ID", group = "about")]
    pub(super) robot: Option<String>,
    /// All robots of an operator
    #[arg(long, value_name = "NAME", group = "about")]
    pub(super) operator: Option<String>,
    /// All robots of a purpose
    #[arg(long, value_name = "PURPOSE", group = "about")]
    pub(super) purpose: Option<String>,
    /// All unlisted robots, whoever sends no User-Agent (nameless), people, or all
    #[arg(long, value_name = "KIND", group = "about")]
    pub(super) visitors: Option<String>,
    /// Addresses and networks that they come from, with commas between
    #[arg(long, value_name = "NETWORKS")]
    pub(super) addresses: Option<String>,
    /// User-Agent that they send, as a glob
    #[arg(long, value_name = "GLOB")]
    pub(super) user_agent: Option<String>,
    /// Does to people too what it does; without it such a rule only notes it
    #[arg(long)]
    pub(super) people: bool,
    /// Paths, as a filter pattern spells them [default: every path]
    #[arg(long, value_name = "PATTERN")]
    pub(super) path: Option<String>,
    /// Site [default: every site]
    #[arg(long, value_name = "NAME")]
    pub(super) site: Option<String>,
    /// Status of a refusal [default: 403]
    #[arg(long)]
    pub(super) status: Option<u16>,
    /// Requests that a slow-down lets through [default: 10]
    #[arg(long, value_name = "N")]
    pub(super) requests: Option<u32>,
    /// In so many seconds [default: 60]
    #[arg(long, value_name = "S")]
    pub(super) per_seconds: Option<u32>,
    /// When it ends: 30m, 12h, 7d, 4w, a time in UTC such as 2026-12-01T08:00Z, or never
    #[arg(long, value_name = "WHEN", default_value = "7d")]
    pub(super) ends: String,
    /// Tells what it would have touched, and changes nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Prints JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Word for what a live rule does.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(in crate::cli) enum ActionWord {
    /// The robot gets what a person gets
    Pass,
    /// It is sent to the `redirect_url` of the site
    Redirect,
    /// It gets a status and nothing else
    Refuse,
    /// It gets 429 where it comes too fast
    Slow,
}
