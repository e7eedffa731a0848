//! `bans`: lists clients that are refused often enough to block at the firewall.

use std::{collections::HashMap, process::ExitCode, time::Duration};

use clap::{Args, Subcommand};
use tokio::time;

use crate::bans::{self, BanFormat, BanViews, format_addition, format_list, format_removal};
use crate::clock::Clock;
use crate::config::Loaded;
use crate::store::{Ban, Store};

use super::{
    Cli, context,
    output::{self, WrongUsage},
};

/// The interval between two queries for new bans.
const EVERY: Duration = Duration::from_secs(1);

/// Arguments of the `bans` command.
#[derive(Args, Clone, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Prints the networks banned by the [[ban]] tables of the configuration, one per line:
an IPv4 address or an IPv6 /64. --json adds the cause, the start and the end of each ban.

Examples: robot-detection bans --format nftables | nft -f -
          robot-detection bans --format nginx > /etc/nginx/bans.conf && nginx -s reload
          robot-detection bans --format nftables --follow | while IFS= read -r line; do nft \"$line\"; done  # after the first command
          robot-detection bans remove 203.0.113.5"
)]
pub(super) struct BansArgs {
    #[command(subcommand)]
    command: Option<BansCommand>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: BanFormat,
    /// Keep running and print changes: `+ NETWORK` and `- NETWORK`, or nft commands
    #[arg(long)]
    follow: bool,
    /// Print JSON
    #[arg(long, conflicts_with_all = ["format", "follow"])]
    json: bool,
}

/// Subcommands of the `bans` command.
#[derive(Clone, Debug, Subcommand)]
enum BansCommand {
    /// Remove a ban from the list; a firewall that has loaded the list must be updated separately
    #[command(after_help = "Exit codes: 0 done, 1 no such ban, 2 not a network

Example: robot-detection bans remove 203.0.113.5")]
    Remove {
        /// IPv4 address or IPv6 /64
        network: String,
    },
}

pub(super) async fn run(cli: &Cli, args: &BansArgs) -> anyhow::Result<ExitCode> {
    let loaded = context::load(cli)?;
    if let Some(BansCommand::Remove { network }) = &args.command {
        return remove(&loaded, network).await;
    }
    if args.follow && args.format == BanFormat::Nginx {
        let text = "nginx reads the list only on reload: omit --follow, and write the file periodically, for example from a timer";
        return Err(WrongUsage(text.to_owned()).into());
    }
    let store = context::store(&loaded).await?;
    if loaded.settings().tables.bans.is_empty() {
        output::note("no clients are banned: the configuration contains no [[ban]] table");
    }
    let clock = Clock::system();
    let bans = store.bans().list(clock.now_ms()).await?;
    if args.json {
        output::json(&BanViews::new(bans, clock.now_ms()))?;
    } else if args.follow {
        return follow(&store, &clock, args.format, bans).await;
    } else {
        output::text(&format_list(args.format, &bans, clock.now_ms()))?;
    }
    store.close().await;
    Ok(ExitCode::SUCCESS)
}

async fn remove(loaded: &Loaded, network: &str) -> anyhow::Result<ExitCode> {
    let store = context::store(loaded).await?;
    let removed = bans::remove(&context::caller(&store), network).await;
    store.close().await;
    output::line(&format!("{} is no longer banned", removed?))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints each ban that begins or ends, until standard output is closed.
async fn follow(
    store: &Store,
    clock: &Clock,
    format: BanFormat,
    bans: Vec<Ban>,
) -> anyhow::Result<ExitCode> {
    let mut known: HashMap<String, Ban> = HashMap::new();
    let mut bans = Some(bans);
    let mut is_failing = false;
    loop {
        if let Some(bans) = bans.take() {
            output::text(&changes(&mut known, bans, format, clock.now_ms()))?;
        }
        time::sleep(EVERY).await;
        match store.bans().list(clock.now_ms()).await {
            Ok(read) => bans = Some(read),
            Err(error) if is_failing => drop(error),
            Err(error) => output::note(&format!("{error}; retrying")),
        }
        is_failing = bans.is_none();
    }
}

/// Returns the bans that began or ended since the previous query.
fn changes(
    known: &mut HashMap<String, Ban>,
    bans: Vec<Ban>,
    format: BanFormat,
    now_ms: i64,
) -> String {
    let mut text = String::new();
    let now: HashMap<_, _> = bans
        .into_iter()
        .map(|ban| (ban.network.clone(), ban))
        .collect();
    for ban in known.values() {
        if !now.contains_key(&ban.network) {
            text.extend(format_removal(format, ban));
        }
    }
    for ban in now.values() {
        let before = known.get(&ban.network);
        if before.is_none_or(|before| before.until_ms < ban.until_ms) {
            text.extend(format_addition(format, ban, now_ms));
        }
    }
    *known = now;
    text
}
